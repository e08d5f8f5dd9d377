"""What a site contributes to a Newton step of the additive model."""

from dataclasses import dataclass

import numpy as np

from fedsdr.arrays import Matrix, Vector
from fedsdr.summaries.families import Family
from fedsdr.summaries.spline_basis import SplineBasis

#: What sites may have of their own: nothing, the intercept, or intercept and curves.
OWN = ("nothing", "intercepts", "curves")

#: Bounds of the penalties on what sites have of their own.
LEAST_WEIGHT, LARGEST_WEIGHT = 1e-4, 1e8

#: Numbers of a Newton step beside gradient, curvature and means of the columns.
N_COUNTS = 8

# Iterations for the site's own coefficients, and the relative size of the last step.
MOST_INNER, INNER_TOLERANCE = 60, 1e-13


@dataclass(frozen=True, slots=True, eq=False)
class SiteDeviation:
    """How far sites may be from the common model.

    Parameters
    ----------
    own : {"nothing", "intercepts", "curves"}
        What sites have of their own.
    weights : tuple of float, default=(1.0, 1.0)
        Penalties on the squared deviation of a site's intercept, and of its curves,
        from the common ones.
    """

    own: str
    weights: tuple[float, float] = (1.0, 1.0)

    def columns(self, common: Matrix) -> Matrix:
        """Choose the columns of the model whose coefficients a site has of its own.

        Parameters
        ----------
        common : ndarray of shape (n_rows, p)
            Columns of the common model.

        Returns
        -------
        ndarray of shape (n_rows, q)
            None of them, the first, or all.
        """
        return common[:, : self.n_own(common.shape[1])]

    def n_own(self, n_columns: int) -> int:
        """Count the coefficients that a site has of its own.

        Parameters
        ----------
        n_columns : int
            Number of columns of the common model.

        Returns
        -------
        int
            Number q of coefficients.
        """
        return {"nothing": 0, "intercepts": 1, "curves": n_columns}[self.own]

    def shapes(self, basis: SplineBasis) -> tuple[Matrix, Matrix]:
        """Return the penalties on intercepts and on curves, without their weights.

        Parameters
        ----------
        basis : SplineBasis
            Columns of the model.

        Returns
        -------
        tuple of ndarray of shape (q, q)
            Matrices of the squared deviations.
        """
        size, width = self.n_own(basis.n_columns), basis.n_columns
        first = np.zeros((width, width))
        first[0, 0] = 1.0
        rest = np.eye(width) - first + np.sum(basis.roughness(), axis=0)
        return first[:size, :size], rest[:size, :size]

    def penalty(self, basis: SplineBasis) -> Matrix:
        """Return the penalty on a site's own coefficients.

        Parameters
        ----------
        basis : SplineBasis
            Columns of the model.

        Returns
        -------
        ndarray of shape (q, q)
            Matrix R of the penalty d'R d / 2.
        """
        first, rest = self.shapes(basis)
        return self.weights[0] * first + self.weights[1] * rest


def own_coefficients(
    common: Matrix,
    y: Vector,
    coefficients: Vector,
    family: Family,
    deviation: SiteDeviation,
    penalty: Matrix,
) -> Vector:
    r"""Find a site's own coefficients, given those of all sites.

    Parameters
    ----------
    common : ndarray of shape (n_rows, p)
        Columns of the model.
    y : ndarray of shape (n_rows,)
        Responses of the site.
    coefficients : ndarray of shape (p,)
        Common coefficients.
    family : Family
        Distribution of y.
    deviation : SiteDeviation
        What the site has of its own.
    penalty : ndarray of shape (q, q)
        Penalty R on it.

    Returns
    -------
    ndarray of shape (q,)
        Minimum over d of :math:`\ell(Z \theta + U d) + d' R d / 2`, which is convex.
    """
    own = deviation.columns(common)
    offset = common @ coefficients
    found = np.zeros(own.shape[1])
    if not found.size:
        return found
    value = family.loss(y, offset)
    for _ in range(MOST_INNER):
        mean = family.mean(offset + own @ found)
        gradient = own.T @ (mean - y) + penalty @ found
        curvature = (own.T * family.weight(mean)) @ own + penalty
        step = np.linalg.solve(curvature, gradient)
        length = 1.0
        while length > 1e-10:
            trial = found - length * step
            charged = float(trial @ penalty @ trial) / 2
            loss = family.loss(y, offset + own @ trial) + charged
            if loss <= value + 1e-12 * (1.0 + abs(value)):
                break
            length /= 2
        found, value = trial, loss
        if np.abs(step).max() <= INNER_TOLERANCE * (1.0 + np.abs(found).max()):
            break
    return found


def newton_part(
    common: Matrix,
    y: Vector,
    coefficients: Vector,
    family: Family,
    deviation: SiteDeviation,
    basis: SplineBasis,
) -> Vector:
    r"""Compute loss, gradient and curvature of one site, without its own coefficients.

    Parameters
    ----------
    common : ndarray of shape (n_rows, p)
        Columns Z of the model.
    y : ndarray of shape (n_rows,)
        Responses of the site.
    coefficients : ndarray of shape (p,)
        Common coefficients.
    family : Family
        Distribution of y.
    deviation : SiteDeviation
        What sites have of their own.
    basis : SplineBasis
        Where the columns come from.

    Returns
    -------
    ndarray of shape (N_COUNTS + 2 p + p (p + 1) / 2,)
        Rows, 1, penalised loss, loss, squared deviation of intercept and of curves and
        what these are uncertain by; means of the columns times rows; gradient; upper
        triangle of the curvature.

    Notes
    -----
    The site minimises over its own coefficients d, which never leave it. What is left
    is a function of the common ones with gradient :math:`Z'(\mu - y)` and curvature

    .. math:: Z'WZ - Z'WU (U'WU + R)^{-1} U'WZ .
    """
    penalty = deviation.penalty(basis)
    found = own_coefficients(common, y, coefficients, family, deviation, penalty)
    own = deviation.columns(common)
    predictor = common @ coefficients + own @ found
    mean = family.mean(predictor)
    weighted = common.T * family.weight(mean)
    curvature = weighted @ common
    loss = family.loss(y, predictor)
    spread = np.zeros(4)
    if found.size:
        crossed = weighted @ own
        inverse = np.linalg.inv(crossed[: found.size] + penalty)
        curvature -= crossed @ inverse @ crossed.T
        for j, shape in enumerate(deviation.shapes(basis)):
            spread[j] = found @ shape @ found
            spread[2 + j] = np.trace(shape @ inverse)
    return np.concatenate(
        [
            [len(y), 1.0, loss + found @ penalty @ found / 2, loss],
            spread,
            common.sum(axis=0),
            common.T @ (mean - y),
            curvature[np.triu_indices(basis.n_columns)],
        ]
    )
