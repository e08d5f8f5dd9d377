"""Rows themselves, where all of them are in one process."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fedsdr.arrays import Matrix, Vector
from fedsdr.questions.question import AS_HELD, Question, RowSettings
from fedsdr.rows.site_rows import Rows, no_functions
from fedsdr.summaries.profile import response_functions
from fedsdr.terms import Terms


@dataclass(frozen=True, slots=True, eq=False)
class JoinedRows:
    """Rows of several sites, which are joined and not added.

    Parameters
    ----------
    pieces : list of ndarray of shape (n_i, n_columns)
        Rows of each site, centred on its mean and scaled.
    moved : list of ndarray of shape (n_columns, n_functions)
        :math:`X_i'Q_i` of each site from whose rows a kernel can be computed.
    """

    pieces: list[Matrix]
    moved: list[Matrix]

    def __add__(self, other: "JoinedRows") -> "JoinedRows":
        return JoinedRows(self.pieces + other.pieces, self.moved + other.moved)


@dataclass(frozen=True, slots=True, eq=False)
class RowsOf(Question[JoinedRows]):
    """Rows of some columns. Nobody asks a site that: it has no form as a message.

    Parameters
    ----------
    terms : Terms
        Terms of the fit.
    columns : ndarray of int
        Indices of the columns, ascending.
    scale : ndarray of shape (n_columns,)
        Divisor of each of them.
    settings : RowSettings, default=AS_HELD
        How rows are prepared.
    """

    name: ClassVar[str] = "rows"
    terms: Terms
    columns: NDArray[np.int64]
    scale: Vector
    settings: RowSettings = AS_HELD

    @property
    def n_values(self) -> int:
        """Number of values that sites would have to send: none."""
        return 0

    def compute(self, rows: Rows) -> JoinedRows:
        """Centre and scale the rows of one site.

        Parameters
        ----------
        rows : Rows
            Rows of the site.

        Returns
        -------
        JoinedRows
            Rows of the site.
        """
        rows = self.settings.apply(rows, self.terms)
        functions = response_functions(rows.weights_again(self.terms)) or no_functions
        parts = list(rows.batches(self.columns, self.scale, functions))
        # Rows in memory come in one part, which need not be copied.
        piece = parts[0][0] if len(parts) == 1 else np.vstack([own for own, _ in parts])
        if not parts[0][1].size:
            return JoinedRows([piece], [])
        return JoinedRows([piece], [piece.T @ np.vstack([one for _, one in parts])])

    def pack(self, value: Any) -> Vector:  # noqa: ARG002 (whatever it is)
        """Refuse: rows stay where they are.

        Parameters
        ----------
        value : object
            Rows.

        Returns
        -------
        ndarray
            Never.
        """
        raise TypeError("rows are never sent")
