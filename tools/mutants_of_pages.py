"""Defences of pages that follow a study, and of pictures under masks."""

from tools.mutant import DISCLOSURE, QUESTIONS, Edit, Mutant, off

WATCHING = "src/fedsdr/watching/"
SUMMARIES = "src/fedsdr/summaries/"

SERVER = "tests/watching/test_page_server.py"
BOARDS = "tests/watching/test_boards.py"
PICTURED = "tests/study/test_pictured_study.py"
BINS = "tests/summaries/test_safe_bins.py"
CELLS = "tests/summaries/test_picture_sums.py"

OF_PAGES: tuple[Mutant, ...] = (
    off(
        "a page answers without its random word",
        f"{WATCHING}page_server.py",
        "        return pieces[2] if known else None\n",
        "        return pieces[2]\n",
        SERVER,
    ),
    off(
        "a page listens to other machines",
        f"{WATCHING}page_server.py",
        "        super().__init__((HOST, port), _Handler)\n",
        '        super().__init__(("0.0.0.0", port), _Handler)\n',
        SERVER,
    ),
    off(
        "a page answers under any name of the machine",
        f"{WATCHING}page_server.py",
        '        if self.headers.get_all("Host") not in',
        '        if self.headers.get_all("Host") is None and [] not in',
        SERVER,
    ),
    off(
        "a page takes requests that could change something",
        f"{WATCHING}page_server.py",
        "    def send_error(\n",
        "    do_POST = do_GET\n\n    def send_error(\n",
        SERVER,
    ),
    off(
        "a page may load from elsewhere",
        f"{WATCHING}page_server.py",
        "_NOTHING = \"default-src 'none';",
        '_NOTHING = "default-src *;',
        SERVER,
    ),
    off(
        "names of other parties are HTML on a page",
        "src/fedsdr/html_text.py",
        "    return text if isinstance(text, Html) else escape(text, quote=True)\n",
        "    return text\n",
        SERVER,
    ),
    off(
        "an error of a page shows its text",
        f"{WATCHING}page_server.py",
        "        except Exception:\n",
        "        except Exception as error:\n"
        '            self._send(HTTPStatus.OK, str(error), "text/plain", _NOTHING)\n',
        SERVER,
    ),
    off(
        "the address of a page is an argument of a process",
        "src/fedsdr/cli/watch_loop.py",
        "    webbrowser.open(file.as_uri())\n",
        "    webbrowser.open(address)\n",
        BOARDS,
    ),
    Mutant(
        "a site's page says what its rule says, with counts",
        (
            Edit(
                f"{WATCHING}site_board.py",
                "        for line in redact_site_log(text.splitlines()):\n",
                "        for line in text.splitlines():\n",
            ),
            Edit(
                f"{WATCHING}site_board.py",
                "filter(None, (rules, word[:-1]))",
                "filter(None, (rules, word[:-1], rest))",
            ),
        ),
        (BOARDS,),
    ),
)

OF_PICTURES: tuple[Mutant, ...] = (
    off(
        "a site adds its small cells to a picture",
        f"{SUMMARIES}picture_sums.py",
        "        found[k, ~suppress_small(counts, minimum)] = 0.0\n",
        "        suppress_small(counts, minimum)\n",
        CELLS,
        PICTURED,
    ),
    off(
        "only small cells are hidden, which the total then shows",
        f"{SUMMARIES}safe_bins.py",
        "    others = np.flatnonzero(~hidden)\n",
        "    others = np.flatnonzero(~hidden)[:0]\n",
        BINS,
    ),
    off(
        "hidden cells together may be few rows",
        f"{SUMMARIES}safe_bins.py",
        "        if hidden.sum() > small.size and enough:\n",
        "        if hidden.sum() > small.size:\n",
        BINS,
    ),
    off(
        "a bin with one small class shows the others",
        f"{SUMMARIES}safe_bins.py",
        "np.asarray((table < minimum).any(axis=1))",
        "np.asarray((table < minimum).all(axis=1))",
        BINS,
    ),
    off(
        "one row is a group",
        f"{SUMMARIES}safe_bins.py",
        "    if minimum < 2:\n",
        "    if False:\n",
        BINS,
    ),
    off(
        "a row is in the pictures of all directions",
        f"{SUMMARIES}picture_sums.py",
        "        own = dealt == k\n",
        "        own = dealt <= n_axes\n",
        CELLS,
    ),
    off(
        "all rows are in some picture",
        f"{QUESTIONS}pictures_of.py",
        "rows.deal(self.basis.shape[1] + 1, self.name)",
        "rows.deal(self.basis.shape[1], self.name)",
        PICTURED,
    ),
    off(
        "a site's own least cell does not hold for pictures",
        f"{DISCLOSURE}later_rules.py",
        "    if facts.picture_rows < policy.min_slice_rows:\n",
        "    if False:\n",
        PICTURED,
    ),
    off(
        "pictures of one response are given to any number of studies",
        f"{DISCLOSURE}later_rules.py",
        "policy.max_pictures\n    if limit is None or len(earlier) < limit:\n",
        "policy.max_pictures\n    if True:\n",
        PICTURED,
    ),
)
