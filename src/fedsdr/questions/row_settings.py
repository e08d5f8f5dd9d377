"""How a site prepares its rows before it answers: powers of two, gaps, scores."""

from dataclasses import dataclass
from typing import Any

from fedsdr.arrays import Vector
from fedsdr.method import Terms
from fedsdr.normal_scores import NormalScores
from fedsdr.rows.site_rows import LARGEST, Rows
from fedsdr.summaries.column_spread import Powers


@dataclass(frozen=True, slots=True, eq=False)
class RowSettings:
    """What is done to the columns before sums are formed, in this order.

    Every question about the columns of a fit has settings, so that all sums see the
    same columns.

    Parameters
    ----------
    powers : ndarray of int, shape (n_features,), or None, default=None
        Powers of two that columns are divided by.
    places : tuple of int, default=()
        Indices of the columns whose gaps are filled.
    fills : ndarray of shape (n_places,), or None, default=None
        Values that the gaps are filled with.
    scores : NormalScores or None, default=None
        Scores that the columns are then replaced by.
    """

    powers: Powers | None = None
    places: tuple[int, ...] = ()
    fills: Vector | None = None
    scores: NormalScores | None = None

    def apply(self, rows: Rows, terms: Terms) -> None:
        """Rescale columns, fill gaps and score columns of one site.

        Parameters
        ----------
        rows : Rows
            Rows of the site.
        terms : Terms
            Terms that all parties agreed on.
        """
        rows.rescale(self.powers)
        if self.fills is not None:
            rows.fill(self.places, self.fills)
        rows.score(self.scores)
        if self.fills is not None or self.scores is not None:
            rows.check(terms, largest=LARGEST)

    def request(self) -> dict[str, Any]:
        """Return what sites need to know of the settings.

        Returns
        -------
        dict
            Dictionary with the keys "powers", "means", "points" and "scores", or some
            of them.
        """
        found: dict[str, Any] = {}
        if self.powers is not None:
            found["powers"] = self.powers
        if self.fills is not None:
            found["means"] = self.fills
        if self.scores is not None:
            found |= {"points": self.scores.points, "scores": self.scores.scores}
        return found


#: Rows as a site holds them.
AS_HELD = RowSettings()
