"""Defences by checks of sums, rules and ledgers, switched off."""

from tools.mutant import (
    BROKEN,
    DIFFERENCING,
    DISCLOSURE,
    FUZZ,
    NUMBERS,
    QUESTIONS,
    SECURE,
    Edit,
    Mutant,
    off,
)

SUMS, COLUMNS = f"{QUESTIONS}possible_sums.py", f"{QUESTIONS}possible_columns.py"
NEGATIVE = (
    "if (squares < 0.0).any():\n"
    '        raise impossible("the variance of a column is negative")\n    # Roots'
)
WRONG_COLUMNS = "tests/attacks/test_wrong_columns.py"

NUMBERS_SENT = tuple(
    off(f"opened sums: {what}", file, old, new, NUMBERS)
    for what, file, old, new in (
        (
            "not checked at all",
            SUMS,
            "if not np.isfinite(vector).all():",
            "return\n    if 0:",
        ),
        (
            "kernels larger than covariances",
            COLUMNS,
            "if not is_definite(scatter - between):",
            "if False:",
        ),
        (
            "kernels that are not semi-definite",
            COLUMNS,
            "if definite and not is_definite(between):",
            "if False:",
        ),
        (
            "covariances that are not semi-definite",
            COLUMNS,
            "if not is_definite(scatter):",
            "if False:",
        ),
        (
            "negative variances",
            COLUMNS,
            NEGATIVE,
            "# Roots",
        ),
        (
            "variances beyond declared ranges",
            COLUMNS,
            "if (np.sqrt(squares) > largest).any():",
            "if False:",
        ),
        (
            "linear sums larger than kernels",
            SUMS,
            "if not is_definite(scaled.between - common):",
            "if False:",
        ),
        (
            "degrees of freedom beyond the rows",
            SUMS,
            "if not (-ROUNDING <= freedom <= rows and squared >= -ROUNDING):",
            "if False:",
        ),
    )
) + tuple(
    off(
        f"opened sums of many columns: {what}", COLUMNS, old, "if False:", WRONG_COLUMNS
    )
    for what, old in (
        (
            "kernels larger than variances",
            "if (between > 1.0 + ROUNDING).any():",
        ),
        (
            "negative kernels",
            "if definite and (between < -ROUNDING).any():",
        ),
        (
            "linear sums larger than kernels",
            "if (common > between + ROUNDING).any():",
        ),
        (
            "blocks larger than diagonals",
            "if (squares > known * (1 + ROUNDING))[varies].any():",
        ),
        (
            "columns beyond Cauchy-Schwarz",
            "if (np.abs(values) > limit)[varies].any():",
        ),
        (
            "columns that contradict each other",
            "if (np.abs(one - one.T) > ROUNDING * np.abs(one).max()).any():",
        ),
    )
)

LEDGER = (
    off(
        "rules are not consulted",
        f"{DISCLOSURE}release_gate.py",
        "        _refuse([*self._review_sites(release), *alone])\n",
        "",
        DIFFERENCING,
    ),
    off(
        "the ledger is not consulted",
        f"{DISCLOSURE}release_gate.py",
        "*review_history(release, facts, self.policy, entries, fingerprint),",
        "",
        DIFFERENCING,
    ),
    off(
        "the ledger: nothing is recorded",
        f"{DISCLOSURE}release_gate.py",
        "        self.ledger.append(\n",
        "        (lambda *_, **__: None)(\n",
        DIFFERENCING,
    ),
    # Of columns and of the response: either notices rows that have changed.
    Mutant(
        "the ledger: no fingerprints of columns",
        (
            Edit(
                f"{DISCLOSURE}release_gate.py",
                "columns=facts.prints or dict.fromkeys",
                "columns=dict.fromkeys",
            ),
            Edit(
                f"{DISCLOSURE}release_gate.py",
                "            target=facts.target,\n",
                '            target=dict.fromkeys(facts.target, ""),\n',
            ),
        ),
        (DIFFERENCING,),
    ),
    off(
        "the ledger: other sites are allowed",
        f"{DISCLOSURE}differencing.py",
        "        other_sites(release, policy, comparable(release, facts, counted)),\n",
        "",
        DIFFERENCING,
    ),
    off(
        "the ledger: offers without a release do not count",
        f"{DISCLOSURE}differencing.py",
        'if entry.stage == "released" or entry.round_key not in closed:',
        'if entry.stage == "released":',
        BROKEN,
        "tests/disclosure/test_differencing.py",
    ),
    off(
        "the ledger: any number of questions",
        f"{DISCLOSURE}differencing.py",
        "        other_question(release, asked),\n",
        "",
        DIFFERENCING,
    ),
    off(
        "the ledger: changed rows are allowed",
        f"{DISCLOSURE}differencing.py",
        "        changed_rows(facts, release, policy, related, fingerprint),\n",
        "",
        DIFFERENCING,
    ),
    off(
        "a voided round goes on",
        f"{DISCLOSURE}differencing.py",
        "        going_on(release, voided),\n",
        "",
        BROKEN,
    ),
    off(
        "voiding one round voids all",
        f"{DISCLOSURE}differencing.py",
        "in related if entry.round_key not in voided]",
        "in related if not voided]",
        BROKEN,
    ),
    off(
        "messages are not compared with their schema at sites",
        f"{SECURE}secure_site.py",
        '        SECURE.check(name, "request", payload, self._study.sizes)\n',
        "",
        FUZZ,
    ),
)
