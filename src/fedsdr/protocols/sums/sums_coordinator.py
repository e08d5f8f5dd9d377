"""What the coordinator does with sums."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np

from fedsdr.arrays import Matrix
from fedsdr.exceptions import InputError
from fedsdr.protocols.exchange import Payload
from fedsdr.protocols.vectors import unpack_parts
from fedsdr.selection import Evidence
from fedsdr.terms import Terms


class Adder(Protocol):
    """A way to add over sites: in the open or under masks."""

    def __call__(self, statistic: str, request: Payload, n_values: int) -> Matrix:
        """Ask for one sum.

        Parameters
        ----------
        statistic : {"means", "moments", "errors"}
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

    def means(self, n_columns: int) -> Matrix:
        """Ask the sites for the means of columns with gaps.

        Parameters
        ----------
        n_columns : int
            Columns whose gaps are filled.

        Returns
        -------
        ndarray of shape (n_columns,)
            Mean over the values that are there, at all sites together.
        """
        counts, sums = np.split(self.add("means", {}, 2 * n_columns), 2)
        empty = int((counts < 0.5).sum())
        if empty:
            raise InputError(
                f"{empty} column(s) to be filled with a mean have no value at any "
                "site: leave them out of the study"
            )
        return sums / np.rint(counts)

    def evidence(self, means: Matrix | None = None) -> Evidence:
        """Ask the sites for their moments.

        Parameters
        ----------
        means : ndarray of shape (n_columns,), optional
            What sites fill gaps with, where the study says so.

        Returns
        -------
        Evidence
            All that the choice of K and of the penalty will need; it asks the sites
            again only for validation errors.
        """
        request: Payload = {} if means is None else {"means": means}
        vector = self.add("moments", request, self.terms.n_values)
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
            errors=partial(self._errors, request)
            if self.terms.validation_fraction
            else None,
        )

    def _errors(self, request: Payload, bases: Sequence[Matrix]) -> Matrix:
        return self.add("errors", {**request, "bases": list(bases)}, len(bases))
