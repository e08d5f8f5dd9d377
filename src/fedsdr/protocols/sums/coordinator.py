"""What the coordinator does with sums."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fedsdr.protocols.seam import Payload
from fedsdr.protocols.terms import Terms
from fedsdr.protocols.vectors import unpack_parts
from fedsdr.selection import Evidence

Matrix = NDArray[np.float64]


class Adder(Protocol):
    """A way to add over sites: in the open or under masks."""

    def __call__(self, statistic: str, request: Payload, n_values: int) -> Matrix:
        """Ask for one sum.

        Parameters
        ----------
        statistic : {"moments", "errors"}
            What to add.
        request : dict
            What the sites need to know for it.
        n_values : int
            Length of the sum.

        Returns
        -------
        ndarray of shape (n_values,)
            Sum over the sites.
        """


@dataclass(frozen=True, slots=True, eq=False)
class SumsCoordinator:
    """Gathers what `fedsdr.selection.estimate` needs.

    Parameters
    ----------
    add : Adder
        Adds over the sites.
    terms : Terms
        That all parties agreed on.

    Notes
    -----
    It sees the pooled sums, and with `PlainSum` each site's part of them.
    """

    add: Adder
    terms: Terms

    def evidence(self) -> Evidence:
        """Ask the sites for their moments.

        Returns
        -------
        Evidence
            All that the choice of K and of the penalty will need; it asks the sites
            again only for validation errors.
        """
        vector = self.add("moments", {}, self.terms.n_values)
        parts, votes = unpack_parts(vector, self.terms)
        folds = tuple(
            (parts[f"fit:{fold}"], parts[f"held:{fold}"])
            for fold in range(self.terms.n_folds)
        )
        return Evidence(
            parts["total"],
            votes=votes,
            folds=folds,
            fitting=parts.get("fitting"),
            errors=self._errors if self.terms.validation_fraction else None,
        )

    def _errors(self, bases: Sequence[Matrix]) -> Matrix:
        return self.add("errors", {"bases": list(bases)}, len(bases))
