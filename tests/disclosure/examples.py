"""Releases and facts that pass every rule, to be changed one at a time."""

from typing import Any

from fedsdr.disclosure import Facts, Ledger, Release

STUDY = "5d" * 32
N_ENTRIES = 4
SITES = ("east", "north", "south", "west")


def release(**changes: Any) -> Release:
    fields = {
        "study": STUDY,
        "statistic": "moments",
        "subject": "ab" * 32,
        "sites": SITES,
        "n_values": 10,
    }
    return Release(**{**fields, **changes})


def facts(**changes: Any) -> Facts:
    fields = {
        "n_rows": 100,
        "smallest_part": 100,
        "smallest_slice": 20,
        "slices": "slice",
        "minorities": {"age": 99, "sex": 48},
        "prints": {"age": "a1", "sex": "b2"},
        "target": {"y": "c3"},
    }
    return Facts(**{**fields, **changes})


def write(ledger: Ledger, n_entries: int = N_ENTRIES) -> Ledger:
    """Add entries that differ in their number of values."""
    for number in range(n_entries):
        ledger.append(
            release(n_values=number, round=f"r{number}"),
            "f0",
            columns=facts().prints,
            target=facts().target,
        )
    return ledger
