"""How smooth curves are: chosen from the sums of a Newton step."""

from dataclasses import dataclass

import numpy as np

from fedsdr.arrays import Matrix, Vector
from fedsdr.questions import NewtonSums
from fedsdr.summaries.families import Family
from fedsdr.summaries.spline_basis import SplineBasis

#: Penalties on second differences that are tried for each curve.
GRID = 10.0 ** np.arange(-2.0, 6.5, 0.5)

#: What a degree of freedom is charged more than once for: curves come out smoother.
CHARGE = 1.4

# Rounds of choosing one penalty after the other.
N_SWEEPS = 2


@dataclass(frozen=True, slots=True, eq=False)
class LocalModel:
    """The loss near some coefficients, as a quadratic function.

    Parameters
    ----------
    sums : NewtonSums
        Loss, gradient and curvature over all sites.
    at : ndarray of shape (p,)
        Coefficients where they were computed.
    splines : SplineBasis
        Columns of the model.
    family : Family
        Distribution of y.
    """

    sums: NewtonSums
    at: Vector
    splines: SplineBasis
    family: Family

    def penalty(self, smooth: Vector) -> Matrix:
        """Add up the penalties of all curves.

        Parameters
        ----------
        smooth : ndarray of shape (K,)
            Penalty on the second differences of each curve.

        Returns
        -------
        ndarray of shape (p, p)
            Matrix P of the penalty c'P c / 2.
        """
        found = self.splines.ridge()
        for weight, matrix in zip(smooth, self.splines.roughness(), strict=True):
            found = found + weight * matrix
        return found

    def step(self, smooth: Vector) -> tuple[Vector, float]:
        """Minimise the quadratic function with a penalty.

        Parameters
        ----------
        smooth : ndarray of shape (K,)
            Penalty on each curve.

        Returns
        -------
        coefficients : ndarray of shape (p,)
            The minimum.
        freedom : float
            Effective degrees of freedom.
        """
        whole = self.sums.curvature + self.penalty(smooth)
        target = self.sums.curvature @ self.at - self.sums.gradient
        solved = np.linalg.solve(whole, np.column_stack([target, self.sums.curvature]))
        return np.array(solved[:, 0], np.float64), float(np.trace(solved[:, 1:]))

    def score(self, smooth: Vector) -> float:
        """Estimate how well penalties would predict other rows.

        Parameters
        ----------
        smooth : ndarray of shape (K,)
            Penalty on each curve.

        Returns
        -------
        float
            Generalised cross validation for the linear model, Akaike's criterion for
            the others; smaller is better.
        """
        coefficients, freedom = self.step(smooth)
        moved = coefficients - self.at
        curved = moved @ self.sums.curvature @ moved
        loss = self.sums.penalised + self.sums.gradient @ moved + curved / 2
        if self.family.name != "linear":
            return float(loss + CHARGE * freedom)
        left = max(self.sums.n_rows - CHARGE * freedom, 1.0)
        return float(self.sums.n_rows * loss / left**2)

    def choose(self, smooth: Vector) -> Vector:
        """Choose the penalty of each curve, one after the other.

        Parameters
        ----------
        smooth : ndarray of shape (K,)
            Penalties to start from.

        Returns
        -------
        ndarray of shape (K,)
            Penalties of the grid.
        """
        found = smooth.copy()
        for _ in range(N_SWEEPS):
            before = found.copy()
            for k in range(found.size):
                scores = []
                for weight in GRID:
                    found[k] = weight
                    scores.append(self.score(found))
                # Of equal scores the smoothest: the last.
                scores = scores[::-1]
                found[k] = GRID[::-1][int(np.argmin(scores))]
            if np.array_equal(before, found):
                break
        return found
