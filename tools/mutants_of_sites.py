"""Defences by the order of checks at a site, and by what surrounds the sums."""

from tools.mutant import DISCLOSURE, QUESTIONS, SECURE, Edit, Mutant, off

ORDER = "tests/attacks/test_order_attacks.py"
SAME_DATA = "tests/attacks/test_same_data_attacks.py"
CANDIDATES = "tests/attacks/test_candidate_attacks.py"
PARTNERS = "tests/attacks/test_partners.py"
KITS = "tests/transports/test_site_kits.py"

SITES = (
    off(
        "a site computes before boxes, rules and ledger are checked",
        f"{SECURE}secure_site.py",
        '        sites = going.party.receive(payload["boxes"])\n',
        "        asked = going.question\n"
        "        self._addable(asked, asked.compute(self._rows))\n"
        '        sites = going.party.receive(payload["boxes"])\n',
        ORDER,
    ),
    off(
        "a site computes as soon as it is asked",
        f"{SECURE}secure_site.py",
        "        asked = self._model.settle(self._outcomes.settle(asked))\n"
        "        party",
        "        asked = self._model.settle(self._outcomes.settle(asked))\n"
        "        self._addable(asked, asked.compute(self._rows))\n        party",
        "tests/attacks/test_question_fuzz.py",
    ),
    off(
        "values for gaps do not follow from a sum",
        f"{QUESTIONS}outcomes.py",
        "    if not np.allclose(sent, own, rtol=CLOSE, atol=CLOSE * scale):\n",
        "    if False:\n",
        ORDER,
    ),
    off(
        "a mean may lie outside of its range",
        f"{SECURE}agreed_study.py",
        "            if not low <= value <= high:\n",
        "            if False:\n",
        ORDER,
    ),
    off(
        "failures are not limited",
        f"{DISCLOSURE}release_rules.py",
        "    if limit is None or len(vain) < limit:\n",
        "    if True:\n",
        ORDER,
    ),
    off(
        "columns are recognised by their names in the study",
        "src/fedsdr/study/site_data.py",
        "return profile, reader.origin(), ",
        "return profile, None, ",
        SAME_DATA,
    ),
    off(
        "one row may have most of a column's scatter",
        f"{DISCLOSURE}release_rules.py",
        "        heavy_rows(facts, policy),\n",
        "",
        "tests/disclosure/test_level_rules.py",
    ),
    off(
        "gaps are not counted",
        f"{DISCLOSURE}facts.py",
        "            **_gap_counts(columns, gaps, parts),\n",
        "",
        SAME_DATA,
    ),
    Mutant(
        "any number of candidates",
        (
            Edit(
                f"{DISCLOSURE}release_rules.py",
                "if limit is None or facts.n_candidates <= limit * facts.n_held:",
                "if True:",
            ),
            Edit(
                f"{DISCLOSURE}differencing.py",
                "if total <= limit * facts.n_rows:",
                "if True:",
            ),
        ),
        (CANDIDATES,),
    ),
    off(
        "results: of sums that the site has not signed",
        f"{SECURE}secure_site.py",
        "self.took_part = bool(released)",
        "self.took_part = True",
        SAME_DATA,
    ),
    off(
        "results: of other sites",
        f"{SECURE}secure_site.py",
        "if released and (named, payload",
        "if False and (named, payload",
        SAME_DATA,
    ),
    off(
        "messages of any number of values are read",
        "src/fedsdr/protocols/wire.py",
        "        _check_nodes(packed)\n",
        "        pass\n",
        "tests/attacks/test_memory_attacks.py",
    ),
)

SURROUNDINGS = (
    off(
        "the steward's partners are not consulted",
        f"{DISCLOSURE}release_gate.py",
        "        if self.peers is not None:\n            found.append(",
        "        if False:\n            found.append(",
        PARTNERS,
    ),
    off(
        "partners are compared by name only",
        f"{DISCLOSURE}releases.py",
        '(site, keys.get(site, "")) for site in sites',
        '(site, "") for site in sites',
        PARTNERS,
    ),
    off(
        "heads of ledgers are not remembered",
        f"{DISCLOSURE}release_gate.py",
        '            heads=self._heads if stage == "offered" else {},\n',
        "",
        PARTNERS,
    ),
    off(
        "heads of ledgers are not compared",
        f"{DISCLOSURE}release_gate.py",
        "known is None or known.allows(n_entries, head):",
        "True:",
        PARTNERS,
    ),
    off(
        "seals of entries are not verified",
        f"{DISCLOSURE}seals.py",
        "        if not is_sealed(entry.key, entry.hash, entry.seal):\n",
        "        if False:\n",
        "tests/disclosure/test_seals.py",
    ),
    off(
        "a lost ledger is replaced by a new one",
        "src/fedsdr/study/stewardship.py",
        "    if not path.exists():\n        raise InputError(\n",
        "    if False:\n        raise InputError(\n",
        PARTNERS,
    ),
    off(
        "a kit may hold other things",
        "src/fedsdr/transports/nvflare/site_kit.py",
        "    foreign = sorted(set(content) - NAMES)\n",
        "    foreign = []\n",
        KITS,
    ),
)
