"""How good predictions are, from sums: error, R2, log loss, AUC and calibration."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from fedsdr.arrays import Vector
from fedsdr.exceptions import InputError
from fedsdr.questions import Asking, MeasuresOf, NewtonOf
from fedsdr.summaries.prediction_sums import N_PLAIN

#: Groups of rows of about equal size in the table of calibration.
N_GROUPS = 10


@dataclass(frozen=True, slots=True, eq=False)
class Measures:
    """How good predictions are, over all rows of a sum.

    Parameters
    ----------
    sums : ndarray
        Sum of `prediction_sums` over sites.
    """

    sums: Vector

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return round(self.sums[0])

    @property
    def mse(self) -> float:
        """Mean squared error; Brier's score for two classes."""
        return float(self.sums[3] / self.sums[0])

    @property
    def r2(self) -> float:
        """Share of the variance of y that is predicted."""
        count, total, squares, errors = self.sums[:4]
        return float(1.0 - errors / (squares - total**2 / count))

    @property
    def log_loss(self) -> float:
        """Mean loss: the logarithmic one for two classes."""
        return float(self.sums[4] / self.sums[0])

    def _bins(self) -> tuple[Vector, Vector, Vector]:
        if self.sums.size == N_PLAIN:
            raise InputError("these are measures of two classes only")
        first, second, third = np.split(self.sums[N_PLAIN:], 3)
        return first, second, third

    @property
    def auc(self) -> float:
        """Probability that a row of the second class has the larger prediction.

        Rows in one bin count as ties, by which the value may be off by a few units in
        the fourth digit.
        """
        ill, well, _ = self._bins()
        below = np.cumsum(well) - well
        pairs = ill.sum() * well.sum()
        if not pairs:
            return float("nan")
        return float(ill @ (below + well / 2) / pairs)

    def calibration(self) -> pd.DataFrame:
        """Compare predicted probabilities with shares.

        Returns
        -------
        pandas.DataFrame
            About ten groups of rows by prediction: "n_rows", the mean "predicted"
            probability and the "observed" share of the second class.
        """
        ill, well, predicted = self._bins()
        counts = ill + well
        ends = np.cumsum(counts)
        group = np.minimum((ends - counts / 2) / ends[-1] * N_GROUPS, N_GROUPS - 1)
        table = pd.DataFrame(
            {
                "group": group.astype(int),
                "n_rows": counts,
                "predicted": predicted,
                "observed": ill,
            }
        )
        table = table[counts > 0].groupby("group", as_index=False).sum()
        for name in ("predicted", "observed"):
            table[name] /= table["n_rows"]
        return table.drop(columns="group").astype({"n_rows": int})


def measure_common(model: NewtonOf) -> Asking[Measures]:
    """Measure what all sites have in common, on rows that the model has not seen.

    Parameters
    ----------
    model : NewtonOf
        The model, and how rows are prepared.

    Returns
    -------
    Measures
        Measures of the rows of all sites.

    Yields
    ------
    Question
        One question to the sites.
    """
    return Measures((yield MeasuresOf(model, model.settings)))
