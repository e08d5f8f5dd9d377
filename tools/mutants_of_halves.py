"""Defences of halves of the rows, and of tests on them."""

from tools.mutant import DISCLOSURE, QUESTIONS, Mutant, off

HALVES = "tests/attacks/test_half_attacks.py"
TESTED = "tests/protocols/test_tested_sums.py"
READING = f"{QUESTIONS}reading_tests.py"

OF_HALVES: tuple[Mutant, ...] = (
    off(
        "halves: what follows from several of them is not counted",
        "src/fedsdr/rows/dealt_rows.py",
        "halves = self._deal(terms, deal_smallest)",
        "halves = self._deal(terms, deal_halves)",
        HALVES,
    ),
    off(
        "halves: every study has its own",
        "src/fedsdr/study/study_site.py",
        "    rows.keep_halves(seed_of_halves(ledger))\n",
        "",
        HALVES,
    ),
    off(
        "tests: of one half any number of times",
        READING,
        "    if len({test.half for test in tests}) < len(tests):\n",
        "    if False:\n",
        HALVES,
    ),
    off(
        "tests: of halves that were not agreed on",
        READING,
        "not 0 <= half < 2 * terms.n_splits:",
        "False:",
        HALVES,
    ),
    off(
        "tests: in any number of directions",
        READING,
        "    if basis.shape[1] > (terms.most_directions or MOST_DIRECTIONS):\n",
        "    if False:\n",
        HALVES,
    ),
    off(
        "tests: with another sum and alone",
        f"{DISCLOSURE}differencing.py",
        'JOINED = {"tested_spread": ("split_tests", "spread")}',
        "JOINED: dict[str, tuple[str, ...]] = {}",
        HALVES,
    ),
    off(
        "tests: zeros where numbers are too large",
        "src/fedsdr/protocols/secure/secure_site.py",
        "        if not (np.abs(values) < limit).all():\n            # Zeros",
        "        if not (np.abs(values) < limit).all():\n"
        "            return np.zeros_like(values)\n            # Zeros",
        HALVES,
    ),
    off(
        "counts: of a site whose steward has refused",
        "src/fedsdr/protocols/secure/secure_site.py",
        "                question = replace(question, abstains=True)\n",
        "                pass\n",
        HALVES,
    ),
    off(
        "sums: halves that do not have all rows together",
        f"{QUESTIONS}possible_sums.py",
        "        if one[0] + other[0] != vector[0]:\n",
        "        if False:\n",
        TESTED,
    ),
)
