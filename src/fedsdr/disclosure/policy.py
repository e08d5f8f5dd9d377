"""The policy of a site: limits that its steward sets."""

import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import Any, Self

from fedsdr.exceptions import InputError

#: Stands for None, no limit, in a file that has no None.
UNLIMITED = "unlimited"

#: Limits that are quotients.
RATIOS = (
    "max_columns_per_row",
    "max_candidates_per_row",
    "max_row_share",
    "yearly_epsilon",
    "yearly_delta",
)

#: Those that cannot exceed 1: a larger one would be no limit at all.
SHARES = ("max_row_share", "yearly_delta")


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The limits of one site.

    Parameters
    ----------
    min_rows : int, default=50
        Fewest rows whose sums may be released, also of a fold or of rows held out.
    min_slice_rows : int, default=3
        Fewest rows in a slice or class.
    min_level_rows : int, default=3
        Fewest rows in which a column may differ from its most frequent value, unless it
        is constant; for a binary column these are the rows of its rarer level.
    max_columns_per_row : float or None, default=0.33
        Most columns for each row; None allows more columns than rows.
    max_candidates_per_row : float or None, default=0.5
        Most candidate directions for each row that is held out, and in all studies of
        the same columns for each row; None for any number.
    max_row_share : float or None, default=0.5
        Largest share that one row may have of the scatter of a column; None for any.
    allowed_columns : collection of str or None, default=None
        Columns that may be used; None for any.
    allowed_studies : collection of str or None, default=None
        Digests, in hexadecimal, of the studies that may be answered; None for any.
    max_studies : int or None, default=20
        Most studies that may ever be answered; None for any number.
    max_failures : int or None, default=10
        Most requests of a study that may be refused by rules or ledger, or fail, before
        the study gets no more answers; None for any number.
    same_sites_only : bool, default=True
        Whether a statistic goes into sums over one and the same set of sites only.
    same_rows_only : bool, default=True
        Whether a statistic is released again only if no row has changed since; rows may
        have been added, see `min_increment_rows`.
    min_increment_rows : int, default=50
        Fewest rows that may have been added, at the end, since an earlier study of the
        same columns; where `min_rows` is larger, as many as that.
    seen_alone : bool, default=False
        Whether the site may join others whose sums of the same columns are known: the
        difference of both sums is its part alone.
    join_counts : bool, default=True
        Whether the site adds to counts of sites that do not agree with a result. If
        not, only its own steward is told.
    yearly_epsilon, yearly_delta : float or None, default=None
        Most that all releases with noise may spend in 365 days, by addition. With a
        budget, sums without noise are refused. None for no budget.
    max_pictures : int or None, default=1
        Most studies that may have pictures of one and the same response; None for any
        number.
    max_models : int or None, default=1
        Most models of one and the same response, in all studies together; None for any
        number, 0 for none. A study that scores its model in five folds fits six.
    min_known_peers : int or None, default=None
        Fewest partners in a sum that the steward has accepted; None for all of them.
        Whatever it is, a partner with another key than the accepted one is refused.

    Notes
    -----
    3, for rows of a level, and 0.33 are DataSHIELD's defaults (``nfilter.tab``,
    ``nfilter.glm``). A site releases ``d (d + 1)`` sums of the ``n d`` numbers that it
    holds, so that `max_columns_per_row` bounds the number of released sums per number
    held.

    DataSHIELD shows statistics of subsets of 3 rows and more (``nfilter.subset``). That
    avoids showing a single row, but a covariance is not one number: we require 50 rows.
    With slices of 20 a smaller site fills at most two of them, adds very little to the
    sum, and has the most to lose if all other parties collude against it. 50 is a
    convention without proof; a steward may set what fits the data.

    Half of a column's scatter is a dominance rule as statistical offices have them: of
    a level with 3 rows, the fewest that may be released, each has a third.
    """

    min_rows: int = 50
    min_slice_rows: int = 3
    min_level_rows: int = 3
    max_columns_per_row: float | None = 0.33
    max_candidates_per_row: float | None = 0.5
    max_row_share: float | None = 0.5
    allowed_columns: Collection[str] | None = None
    allowed_studies: Collection[str] | None = None
    max_studies: int | None = 20
    max_failures: int | None = 10
    same_sites_only: bool = True
    same_rows_only: bool = True
    min_increment_rows: int = 50
    seen_alone: bool = False
    join_counts: bool = True
    yearly_epsilon: float | None = None
    yearly_delta: float | None = None
    max_pictures: int | None = 1
    max_models: int | None = 1
    min_known_peers: int | None = None

    def __post_init__(self) -> None:
        fewest = ("min_rows", "min_slice_rows", "min_level_rows", "min_increment_rows")
        for name in fewest:
            _check_count(name, getattr(self, name))
        for name in ("max_studies", "max_failures", "max_pictures", "min_known_peers"):
            if getattr(self, name) is not None:
                _check_count(name, getattr(self, name))
        if self.max_models is not None and self.max_models != 0:
            _check_count("max_models", self.max_models)
        flags = ("same_sites_only", "same_rows_only", "seen_alone", "join_counts")
        for name in flags:
            if not isinstance(getattr(self, name), bool):
                raise InputError(f"{name} must be true or false")
        for name in RATIOS:
            _check_ratio(name, getattr(self, name))
        for name in ("allowed_columns", "allowed_studies"):
            # Copied: a caller cannot change the collection afterwards.
            object.__setattr__(self, name, _as_names(name, getattr(self, name)))

    @classmethod
    def from_mapping(cls, table: Mapping[str, Any]) -> Self:
        """Read a policy from a table, such as one of a TOML file.

        Parameters
        ----------
        table : mapping of str
            Any of the parameters above; "unlimited" stands for None.

        Returns
        -------
        Policy
            An `InputError` names a key that is not known, and the one that it
            resembles.
        """
        known = {field.name: field.default for field in fields(cls)}
        for key in table:
            if key not in known:
                close = get_close_matches(str(key), known, n=1)
                hint = f"did you mean '{close[0]}'?" if close else _list(known)
                raise InputError(f"a policy has no '{key}'; {hint}")
        limits = (*RATIOS, "max_studies", "max_failures", "max_pictures", "max_models")
        optional = {*limits, *(k for k, v in known.items() if v is None)}
        values: dict[str, Any] = {
            key: None if key in optional and value == UNLIMITED else value
            for key, value in table.items()
        }
        return cls(**values)


def _check_count(name: str, value: object) -> None:
    if type(value) is not int or value < 1:
        raise InputError(f"{name} must be a whole number from 1 on, got {value!r}")


def _check_ratio(name: str, value: object) -> None:
    if value is None:
        return
    number = isinstance(value, int | float) and not isinstance(value, bool)
    # The comparison is also false for nan.
    largest = 1.0 if name in SHARES else sys.float_info.max
    if not number or not 0 < value <= largest:  # type: ignore[operator]
        most = " of at most 1" if name in SHARES else ""
        raise InputError(
            f"{name} must be a positive number{most}, got {value!r}: for no limit use "
            f"None, in a file '{UNLIMITED}'"
        )


def _as_names(name: str, value: Any) -> frozenset[str] | None:
    if value is None:
        return None
    # A single text is a collection too, of letters.
    listed = not isinstance(value, str) and isinstance(value, Collection)
    if not listed or not all(isinstance(item, str) for item in value):
        raise InputError(f"{name} must be a list of names")
    return frozenset(value)


def _list(known: Mapping[str, object]) -> str:
    return f"it has {', '.join(known)}"
