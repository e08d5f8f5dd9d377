"""What a study does at a site, in lines for its steward.

Nothing here is sent. Lines say what has left, what was refused with which code, and
that a result has come; reasons, which have counts in them, stay in the site's log.
"""

from pathlib import Path

from fedsdr.disclosure import Entry, Ledger, LedgerError
from fedsdr.exceptions import InputError
from fedsdr.result import Result
from fedsdr.spoken import escaped, one_line
from fedsdr.study.accepted_studies import STUDIES, for_study
from fedsdr.study.site_file import SiteFile

#: What an entry of the ledger means, by its stage.
_STAGES = {
    "offered": "{n} masked numbers of {what} leave, to be added over {sites}",
    "released": "this site agrees to open the sum of {what} over {sites}",
    "opened": "this site has opened the sum of {what}, to compute with what follows",
    "refused": "a rule forbids {what}; nothing has left",
    "failed": "{what} could not be computed; nothing has left",
}


class SiteNews:
    """Notices what has happened at a site since the last look.

    Parameters
    ----------
    site : SiteFile
        Site file.
    """

    def __init__(self, site: SiteFile) -> None:
        self._site = site
        self._ledger = Ledger(site.at(site.ledger))
        self._names: dict[str, str] = {}
        self._sizes: dict[Path, int] = {}
        self._n_entries = self._n_logged = 0
        self._results = self._find_results()
        self.look()

    def look(self) -> list[str]:
        """Look at ledger, log and results.

        Returns
        -------
        list of str
            Lines about what is new, the oldest first; none about what was there when
            the news began.
        """
        return [*self._entries(), *self._failures(), *self._new_results()]

    def _grew(self, path: Path) -> bool:
        """Look at a file's size, so that files are read only when they have changed."""
        size = path.stat().st_size if path.exists() else 0
        grew = size != self._sizes.get(path, 0)
        self._sizes[path] = size
        return grew

    def _entries(self) -> list[str]:
        if not self._grew(self._site.at(self._site.ledger)):
            return []
        try:
            entries = self._ledger.entries()
        except (LedgerError, InputError):
            # Somebody is writing, or the next request is refused, and the log says so.
            del self._sizes[self._site.at(self._site.ledger)]
            return []
        new = entries[self._n_entries :]
        self._n_entries = len(entries)
        return [self._describe(one) for one in new if one.stage in _STAGES]

    def _describe(self, entry: Entry) -> str:
        words = _STAGES[entry.stage].format(
            n=entry.n_values, what=entry.statistic, sites=", ".join(entry.sites)
        )
        return escaped(f"{self._study(entry.study)}, round {entry.round}: {words}")

    def _study(self, digest: str) -> str:
        """Return the name of a study, or the beginning of its digest."""
        if digest not in self._names:
            try:
                study = for_study(self._site, digest).read_study()
                known = study.digest == digest
            except InputError:
                known = False
            self._names[digest] = study.name if known else f"study {digest[:8]}"
        return self._names[digest]

    def _failures(self) -> list[str]:
        path = self._site.at(self._site.log)
        if not self._grew(path):
            return []
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        new = lines[self._n_logged :]
        self._n_logged = len(lines)
        heads = [line.split() for line in new if line[:1].strip()]
        return [
            one_line(
                f"{words[-2]} was answered with the code {words[-1]}: see {path.name}"
            )
            for words in heads
            if len(words) > 2
        ]

    def _find_results(self) -> dict[Path, int]:
        paths = [self._site.at(self._site.result)]
        paths += sorted((self._site.folder / STUDIES).glob("*.result.json"))
        return {path: path.stat().st_mtime_ns for path in paths if path.exists()}

    def _new_results(self) -> list[str]:
        found = self._find_results()
        new = [path for path, time in found.items() if time != self._results.get(path)]
        self._results = found
        return [line for path in new if (line := _describe_result(path))]


def _describe_result(path: Path) -> str:
    try:
        result = Result.from_json(path)
    except InputError:
        return ""
    name = result.settings.get("study", {}).get("name", "")
    return one_line(
        f"{name}: the result has come, {result.n_directions} direction(s) of "
        f"{len(result.selected)} variables from {result.n_rows} rows: {path}"
    )
