"""Sums for pictures: the response in bins of each direction, without small cells."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fedsdr.arrays import Matrix, Vector
from fedsdr.questions.question import AS_HELD, Question, RowSettings
from fedsdr.rows.site_rows import Rows
from fedsdr.summaries.picture_sums import N_PICTURE_BINS, picture_part
from fedsdr.terms import Terms


@dataclass(frozen=True, slots=True, eq=False)
class PicturesOf(Question[Matrix]):
    """How y follows directions: counts, and sums of y or counts of classes, in bins.

    Parameters
    ----------
    terms : Terms
        Terms that all parties agreed on; `Terms.picture_rows` is the fewest rows of a
        cell at every site.
    columns : ndarray of int
        Indices of the s selected variables, ascending.
    scale : ndarray of shape (s,)
        Divisor of each of them.
    basis : ndarray of shape (s, K)
        Directions of standard deviation 1, for scaled variables.
    settings : RowSettings, default=AS_HELD
        How rows are prepared.

    Notes
    -----
    A site hides small cells of its own part, before any mask: the sum is opened as it
    is, and what nobody may see must not be in it. See
    `fedsdr.summaries.picture_sums.picture_part`.
    """

    name: ClassVar[str] = "pictures"
    terms: Terms
    columns: NDArray[np.int64]
    scale: Vector
    basis: Matrix
    settings: RowSettings = AS_HELD

    @property
    def n_values(self) -> int:
        """Number of values: of each bin one per class, or rows and the response."""
        return self.length(self.basis.shape[1], len(self.terms.classes))

    @staticmethod
    def length(n_directions: int, n_classes: int) -> int:
        """Count the values.

        Parameters
        ----------
        n_directions : int
            Number of directions.
        n_classes : int
            Number of classes; 0 if y holds numbers.

        Returns
        -------
        int
            Number of values.
        """
        return n_directions * N_PICTURE_BINS * (n_classes or 2)

    def compute(self, rows: Rows) -> Matrix:
        """Add the rows of one site in bins.

        Parameters
        ----------
        rows : Rows
            Rows of the site.

        Returns
        -------
        ndarray of shape (K, 6, n_columns)
            See `picture_part`. Numbers are deviations from the site's mean, and those
            far from it are moved nearer, see `Rows.plain_response`.
        """
        rows = self.settings.apply(rows, self.terms)
        with np.errstate(all="ignore"):
            # A request may hold scales and directions of any size.
            axes = np.concatenate(
                [own @ self.basis for own, _ in rows.batches(self.columns, self.scale)]
            )
        classes = self.terms.classes
        if classes:
            named = [np.asarray(rows.responses == one) for one in classes]
            values = np.column_stack(named).astype(np.float64)
        else:
            values = np.column_stack([np.ones(rows.n_rows), rows.plain_response()])
        dealt = rows.deal(self.basis.shape[1] + 1, self.name)
        least = self.terms.picture_rows
        return picture_part(axes, values, dealt, least, classes=bool(classes))

    def unpack(self, vector: Vector) -> Matrix:
        """Read a sum from a vector.

        Parameters
        ----------
        vector : ndarray of shape (n_values,)
            Sum over the sites.

        Returns
        -------
        ndarray of shape (K, 6, n_columns)
            Sums in bins.
        """
        return np.reshape(vector, (self.basis.shape[1], N_PICTURE_BINS, -1))

    def request(self) -> dict[str, Any]:
        """Return the variables, their scale and the directions.

        Returns
        -------
        dict
            Dictionary with the keys "columns", "scale", "basis" and those of
            `RowSettings.request`.
        """
        chosen = {"columns": self.columns, "scale": self.scale, "basis": self.basis}
        return {**self.settings.request(), **chosen}
