"""Where the columns of a study come from in the data of a site."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Computes a keyed fingerprint of an array, see `fedsdr.disclosure.Ledger.fingerprint`.
Fingerprint = Callable[[NDArray[Any]], str]

#: Hexadecimal digits that are kept of a fingerprint: enough to notice that rows have
#: changed, but not to resist somebody who knows the key.
PRINT_DIGITS = 16

#: Stands between the fingerprint of a column's values and that of the rows kept.
MARK = "."


@dataclass(frozen=True, slots=True)
class EarlierRows:
    """The first rows of a site's data: those that an earlier release was made of.

    Parameters
    ----------
    values : mapping of str to bytes
        SHA-256 of the values that each column has in them.
    kept : bytes
        SHA-256 of which of them are kept.
    n_new : int
        Number of rows after them that are kept.
    """

    values: Mapping[str, bytes]
    kept: bytes
    n_new: int


@dataclass(frozen=True, slots=True)
class ColumnOrigin:
    """Columns of a site's data, and which of its rows a study keeps.

    Two studies may give one column other names, levels, ranges and rules for missing
    values. What they compute from is the same if it comes from the same column.

    Parameters
    ----------
    sources : mapping of str to tuple of str
        For each column of X, and for the response, the names of the columns that it
        comes from in the data: one, or all that its expression reads.
    values : mapping of str to bytes
        SHA-256 of all values of each of these columns, also in rows that are left out.
        It never leaves the process: a ledger holds fingerprints of it under a key.
    kept : bytes
        SHA-256 of which rows are kept.
    indicators : frozenset of str, default=frozenset()
        Columns of X that are indicators of levels.
    n_rows : int, default=0
        Number of rows of the data, also of those that are left out.
    earlier : mapping of int to EarlierRows, default={}
        By their number, the first rows.
    """

    sources: Mapping[str, tuple[str, ...]]
    values: Mapping[str, bytes]
    kept: bytes
    indicators: frozenset[str] = frozenset()
    n_rows: int = 0
    earlier: Mapping[int, EarlierRows] = field(default_factory=dict)

    def name(self, column: str) -> str:
        """Return where a column comes from.

        Parameters
        ----------
        column : str
            Column of X, or the response.

        Returns
        -------
        str
            Name in the data, or names.
        """
        return " and ".join(self.sources[column])

    def prints_of(self, column: str, fingerprint: Fingerprint) -> dict[str, str]:
        """Compute fingerprints of what a column comes from, and of the rows kept.

        Parameters
        ----------
        column : str
            Column of X, or the response.
        fingerprint : callable
            Computes keyed fingerprints.

        Returns
        -------
        dict of str to str
            For each name in the data both fingerprints, see `values_of`.
        """
        own = {name: self.values[name] for name in self.sources[column]}
        return _prints(own, self.kept, fingerprint)

    def earlier_prints(self, fingerprint: Fingerprint) -> dict[int, dict[str, str]]:
        """Compute fingerprints of all columns in earlier rows.

        Parameters
        ----------
        fingerprint : callable
            Computes keyed fingerprints.

        Returns
        -------
        dict of int to dict
            By the number of earlier rows, as of `prints_of`.
        """
        return {
            length: _prints(one.values, one.kept, fingerprint)
            for length, one in self.earlier.items()
        }


def _prints(
    values: Mapping[str, bytes], rows: bytes, fingerprint: Fingerprint
) -> dict[str, str]:
    def short(digest: bytes) -> str:
        return fingerprint(np.frombuffer(digest, dtype=np.uint8))[:PRINT_DIGITS]

    kept = short(rows)
    return {name: f"{short(own)}{MARK}{kept}" for name, own in values.items()}


def values_of(print_of_column: str) -> str:
    """Take the fingerprint of the values from that of a column.

    Parameters
    ----------
    print_of_column : str
        Fingerprint in a ledger.

    Returns
    -------
    str
        The part that is the same whichever rows a study keeps.
    """
    return print_of_column.partition(MARK)[0]
