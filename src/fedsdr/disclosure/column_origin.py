"""Where the columns of a study come from in the data of a site."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
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
    """

    sources: Mapping[str, tuple[str, ...]]
    values: Mapping[str, bytes]
    kept: bytes
    indicators: frozenset[str] = frozenset()

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

        def short(digest: bytes) -> str:
            return fingerprint(np.frombuffer(digest, dtype=np.uint8))[:PRINT_DIGITS]

        kept = short(self.kept)
        return {
            name: f"{short(self.values[name])}{MARK}{kept}"
            for name in self.sources[column]
        }


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
