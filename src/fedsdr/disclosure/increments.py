"""Rows that were added since an earlier release: enough of them, and nothing else."""

from collections.abc import Collection, Iterable, Mapping

from fedsdr.disclosure.chain import Entry
from fedsdr.disclosure.facts import Increment
from fedsdr.disclosure.level_rules import Violation, heavy_rows, rare_levels
from fedsdr.disclosure.policy import Policy
from fedsdr.disclosure.release_rules import small_slices, wide_rows
from fedsdr.disclosure.releases import LEFT


def known_lengths(
    entries: Iterable[Entry], columns: Collection[str]
) -> tuple[int, ...]:
    """List how many rows were read for earlier releases of some columns.

    Parameters
    ----------
    entries : iterable of Entry
        All entries of the ledger.
    columns : collection of str
        Names of columns in the site's data.

    Returns
    -------
    tuple of int
        Sorted; ledgers of earlier versions do not know it.
    """
    found = {
        entry.rows
        for entry in entries
        if entry.stage in LEFT
        and not {*entry.columns, *entry.target}.isdisjoint(columns)
    }
    return tuple(sorted(found - {0}))


def risky_increment(
    increment: Increment, policy: Policy, entry: Entry
) -> Violation | None:
    """Require that the sum over the rows that were added could be released by itself.

    Parameters
    ----------
    increment : Increment
        What was added since a release; no other change was made.
    policy : Policy
        Policy of the site.
    entry : Entry
        The release.

    Returns
    -------
    Violation or None
        INCREMENTS.

    Notes
    -----
    The sum of today minus the earlier one is the sum over the new rows alone. So they
    have to be as many as any rows of which sums are released, and the rules about
    slices, levels, single rows and columns hold for them as well.
    """
    since = f"since {entry.statistic} was released (entry {entry.index})"
    least = max(policy.min_rows, policy.min_increment_rows)
    if increment.n_new < least:
        return Violation(
            "INCREMENTS",
            f"{since} {increment.n_new} rows were added, whose sum the difference "
            f"shows, and at least {least} are needed: wait until there are more, or "
            f"let the site read the first {entry.rows} rows only",
        )
    rules = (small_slices, rare_levels, heavy_rows, wide_rows)
    if increment.new is not None:
        for rule in rules:
            if (found := rule(increment.new, policy)) is not None:
                return Violation(
                    "INCREMENTS",
                    f"{since} {increment.n_new} rows were added, whose sum the "
                    f"difference shows, and among them {found.explanation} "
                    f"({found.rule})",
                )
    return None


def describe_increments(
    increments: Mapping[int, Increment], entries: Iterable[Entry]
) -> list[str]:
    """Say what can be computed as the difference of sums, for the steward.

    Parameters
    ----------
    increments : mapping of int to Increment
        By the number of rows that were read for an earlier release.
    entries : iterable of Entry
        All entries of the ledger.

    Returns
    -------
    list of str
        One line for each number of rows.
    """
    last = {entry.rows: entry for entry in entries if entry.stage in LEFT}
    return [
        f"{found.n_new} rows came after those of study {last[length].study[:8]} (entry "
        f"{last[length].index}): the difference of both sums is the sum over them"
        for length, found in sorted(increments.items())
        if found.n_new and length in last
    ]
