"""What a hard design is: a function from a seed to rows of several sites."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from fedsdr.arrays import Mask, Matrix, Vector

#: Rows of one site: x and y.
Part = tuple[Matrix, Vector]


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Simulated rows of several sites, and the truth.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        Covariates of all sites, site after site.
    y : ndarray of shape (n_rows,)
        Response.
    sites : ndarray of shape (n_rows,), int
        Site of each row, from 0.
    B : ndarray of shape (n_features, n_directions)
        True directions; no column if y does not depend on x.
    odd : tuple of int, default=()
        Sites that do not follow the truth, or not in the units of the others.
    """

    X: Matrix
    y: Vector
    sites: np.ndarray
    B: Matrix
    odd: tuple[int, ...] = ()

    @property
    def n_directions(self) -> int:
        """Dimension of the central subspace, K."""
        return self.B.shape[1]

    @property
    def support(self) -> Mask:
        """Mask of the true variables, shape (n_features,)."""
        return np.asarray(self.B.any(axis=1))

    def without_odd(self) -> "Sample":
        """Leave the odd sites out.

        Returns
        -------
        Sample
            The other sites, which keep their numbers.
        """
        kept = ~np.isin(self.sites, self.odd)
        rows = self.X[kept], self.y[kept], self.sites[kept]
        return replace(self, X=rows[0], y=rows[1], sites=rows[2], odd=())


@dataclass(frozen=True, slots=True)
class Design:
    """A way of simulating.

    Parameters
    ----------
    family : str
        Family of designs that it belongs to.
    name : str
        Name, of no other design of the family.
    n_directions : int
        True dimension K.
    draw : callable
        From a seed to a `Sample`; everything random comes from the seed.
    """

    family: str
    name: str
    n_directions: int
    draw: Callable[[int], Sample]


def join(parts: Iterable[Part], B: Matrix, odd: tuple[int, ...] = ()) -> Sample:
    """Put the rows of all sites into one sample.

    Parameters
    ----------
    parts : iterable of pairs
        x and y of each site.
    B : ndarray of shape (n_features, n_directions)
        True directions.
    odd : tuple of int, default=()
        Numbers of the odd sites.

    Returns
    -------
    Sample
        Sites are numbered in the order of `parts`.
    """
    xs, ys = zip(*parts, strict=True)
    sites = np.repeat(np.arange(len(ys)), [len(y) for y in ys])
    return Sample(np.vstack(xs), np.concatenate(ys), sites, B, odd)


def one_direction(n_features: int, weights: Iterable[float], step: int = 1) -> Matrix:
    """Make a single direction.

    Parameters
    ----------
    n_features : int
        Number of variables d.
    weights : iterable of float
        Coefficients of the true variables.
    step : int, default=1
        Distance between neighbouring true variables, the first of which is column 0.

    Returns
    -------
    ndarray of shape (n_features, 1)
        Coefficients.
    """
    values = list(weights)
    B = np.zeros((n_features, 1))
    B[: step * len(values) : step, 0] = values
    return B


def autoregressive(n_features: int, gamma: float) -> Matrix:
    """Compute the covariance gamma^|j-k|.

    Parameters
    ----------
    n_features : int
        Number of variables d.
    gamma : float
        Correlation of neighbours.

    Returns
    -------
    ndarray of shape (n_features, n_features)
        Covariance.
    """
    places = np.arange(n_features)
    return np.asarray(float(gamma) ** np.abs(places[:, None] - places))
