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
    sources : mapping of str to str
        For each column of X, and for the response, the name of the column that it comes
        from in the data.
    values : mapping of str to bytes
        SHA-256 of all values of each of these columns, also in rows that are left out.
        It never leaves the process: a ledger holds fingerprints of it under a key.
    kept : bytes
        SHA-256 of which rows are kept.
    indicators : frozenset of str, default=frozenset()
        Columns of X that are indicators of levels.
    """

    sources: Mapping[str, str]
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
            Name in the data.
        """
        return self.sources[column]

    def print_of(self, column: str, fingerprint: Fingerprint) -> str:
        """Compute the fingerprint of a column's values and of the rows kept.

        Parameters
        ----------
        column : str
            Column of X, or the response.
        fingerprint : callable
            Computes keyed fingerprints.

        Returns
        -------
        str
            Both fingerprints, see `values_of`.
        """
        digests = (self.values[self.sources[column]], self.kept)
        return MARK.join(
            fingerprint(np.frombuffer(one, dtype=np.uint8))[:PRINT_DIGITS]
            for one in digests
        )


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
