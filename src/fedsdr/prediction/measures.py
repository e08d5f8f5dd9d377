"""How good predictions are, from sums: error, R2, log loss, AUC and calibration."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from fedsdr.arrays import Vector
from fedsdr.exceptions import InputError
from fedsdr.summaries.families import Family

#: Bins of the predictor of two classes, and the largest predictor that has its own.
N_BINS, LARGEST_BIN = 400, 8.0

#: Groups of rows of about equal size in the table of calibration.
N_GROUPS = 10

# Number of sums before the bins.
N_PLAIN = 5


def prediction_sums(y: Vector, mean: Vector, family: Family) -> Vector:
    """Compute what a site adds to measure predictions of its rows.

    Parameters
    ----------
    y, mean : ndarray of shape (n_rows,)
        Responses and predicted means.
    family : Family
        Distribution of y.

    Returns
    -------
    ndarray of shape (5,) or (5 + 3 * N_BINS,)
        Rows, sum and sum of squares of y, squared errors, losses; for two classes then
        for each bin of the predictor the rows of either class and the sum of the
        predicted probabilities.
    """
    # Losses of probabilities 0 and 1 are infinite.
    tiny = np.finfo(np.float64).eps
    if family.name == "logistic":
        share = np.clip(mean, tiny, 1 - tiny)
        loss = -(y * np.log(share) + (1 - y) * np.log1p(-share)).sum()
    elif family.name == "poisson":
        rate = np.maximum(mean, tiny)
        loss = (rate - y * np.log(rate)).sum()
    else:
        loss = ((y - mean) ** 2).sum() / 2
    plain = [len(y), y.sum(), (y**2).sum(), ((y - mean) ** 2).sum(), loss]
    if family.name != "logistic":
        return np.array(plain)
    predictor = np.log(share) - np.log1p(-share)
    places = (predictor + LARGEST_BIN) * (N_BINS / (2 * LARGEST_BIN))
    bins = np.clip(places, 0, N_BINS - 1).astype(np.intp)
    counts = [
        np.bincount(bins, weights=one, minlength=N_BINS) for one in (y, 1 - y, mean)
    ]
    return np.concatenate([plain, *counts])


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
