"""How a site compares with all sites: its directions, units and covariance."""

from dataclasses import dataclass

import numpy as np

from fedsdr.arrays import Matrix, Vector
from fedsdr.summaries.profile import SINGULAR, Batches

#: Numbers that say how far a site's covariance is from that of all sites.
N_SPREAD = 3

#: Numbers that a site adds on the use of directions: how many sites are judged, what
#: the last direction adds, what the sites' own last directions add, and the variance of
#: the latter as noise.
N_USE = 4

#: What can be noticed at a site, in the order of the counts that are added.
CODES = ("UNITS", "SILENT", "OUTSIDE")

# Rows, evenly spaced, from pairs of which a variance is computed.
SOME_ROWS = 400
# Factor of a column's standard deviation, against the mean of all sites, that no mix of
# patients or customers has; and standard errors that it must be exceeded by.
OTHER_UNITS, UNITS_ERRORS = 8.0, 3.0
# Evidence (twice a log-likelihood ratio) that a site should have, to be told that it
# has none; and below which it has none.
EXPECTED, NONE = 20.0, 3.0
# Evidence of all directions but the last one from which the use of it can be judged.
STRONG = 12.0
# Evidence of a further direction from which a site disagrees.
CLEAR = 30.0


@dataclass(frozen=True, slots=True, eq=False)
class Expected:
    """What all sites together have found.

    Parameters
    ----------
    basis : ndarray of shape (s, K)
        Directions, for scaled variables.
    shares : ndarray of shape (K,)
        Share of each direction's variance that y explains at nearly every site,
        without what noise explains, descending.
    """

    basis: Matrix
    shares: Vector


@dataclass(frozen=True, slots=True, eq=False)
class SiteView:
    """What a site has noticed.

    Parameters
    ----------
    codes : dict of str to bool
        Whether each of `CODES` but the first applies.
    use : ndarray of shape (4,)
        How many of the directions the site uses, see `direction_use`.
    """

    codes: dict[str, bool]
    use: Vector

    @classmethod
    def nothing(cls) -> "SiteView":
        """Return the view of a site that cannot be compared.

        Returns
        -------
        SiteView
            No code applies.
        """
        return cls(dict.fromkeys(CODES[1:], False), np.zeros(N_USE))


@dataclass(frozen=True, slots=True, eq=False)
class Findings:
    """What sites have noticed when the directions were found.

    Parameters
    ----------
    counts : ndarray of shape (n_codes,)
        Number of sites by code, in the order of `CODES`.
    use : ndarray of shape (4,)
        How many of the directions each site uses, see `direction_use`.
    skewness : ndarray of shape (n_features,)
        Skewness of every column times the number of rows, see `shapes_of_columns`.
    squares : ndarray of shape (4, n_features)
        Functions of y against squares of all columns, see `BesideDirections`.
    needs : ndarray of shape (n_levels, K + 1)
        Number of sites by how many of the directions they need, see
        `directions_needed`.
    freedom : ndarray of shape (K,)
        Degrees of freedom of the tests of the first directions, over these sites.
    """

    counts: Vector
    use: Vector
    skewness: Vector
    squares: Matrix
    needs: Matrix
    freedom: Vector

    def __add__(self, other: "Findings") -> "Findings":
        return Findings(
            self.counts + other.counts,
            self.use + other.use,
            self.skewness + other.skewness,
            self.squares + other.squares,
            self.needs + other.needs,
            self.freedom + other.freedom,
        )


def other_units(variances: Vector, errors: Vector, pooled: Vector) -> int:
    """Count columns whose spread at a site is out of proportion.

    Parameters
    ----------
    variances : ndarray of shape (n_features,)
        Variances at the site.
    errors : ndarray of shape (n_features,)
        Standard errors of the logarithms of these variances.
    pooled : ndarray of shape (n_features,)
        Geometric means of the variances over the sites; a mean would be that of the
        site with the largest numbers.

    Returns
    -------
    int
        Number of columns that vary more than 64 times as much, or as little, by more
        than three standard errors: a few large values in a small site are not units.
    """
    usable = (variances > 0.0) & (pooled > 0.0)
    ratio = np.abs(np.log(variances[usable] / pooled[usable]))
    limit = 2 * np.log(OTHER_UNITS) + UNITS_ERRORS * errors[usable]
    return int((ratio > limit).sum())


def agreement(batches: Batches, expected: Expected) -> SiteView:
    r"""Compare a site's own kernel with the directions of all sites.

    Parameters
    ----------
    batches : callable
        Returns batches of rows of the s variables, see `profile`.
    expected : Expected
        Directions of all sites, and what they explain.

    Returns
    -------
    SiteView
        "SILENT": y does not depend on the directions here, although it should be seen.
        "OUTSIDE": y clearly depends on a combination of the selected variables that is
        not among the directions. The use of the directions is judged if all but the
        last one are clearly seen.

    Notes
    -----
    With q degrees of freedom and a share :math:`\lambda` of which noise explains
    :math:`\varphi = q / n`, the evidence is :math:`q(x - 1 - \log x)`,
    :math:`x = \lambda / \varphi`.
    """
    found = dict.fromkeys(CODES[1:], False)
    use = np.zeros(N_USE)
    n_rows = 0
    scatter: Matrix | float = 0.0
    moved: Matrix | float = 0.0
    overlap: Matrix | float = 0.0
    for rows, functions in batches():
        n_rows += len(rows)
        scatter = scatter + rows.T @ rows
        moved = moved + rows.T @ functions
        overlap = overlap + functions.T @ functions
    overlap = np.asarray(overlap)
    freedom = float(np.trace(overlap))
    effective = freedom**2 / max(float((overlap**2).sum()), 1e-300)
    floor = freedom / max(n_rows - 1, 1)
    sigma, products = np.asarray(scatter) / n_rows, np.asarray(moved)
    basis = expected.basis
    spread = basis.T @ sigma @ basis
    if not np.isfinite(spread).all():
        return SiteView.nothing()
    values, vectors = np.linalg.eigh(spread)
    if values[0] <= SINGULAR * values[-1]:
        return SiteView.nothing()
    whitener = vectors / np.sqrt(values)
    inside = whitener.T @ basis.T @ products / np.sqrt(n_rows)
    inverse = whitener @ whitener.T
    rest = products - sigma @ basis @ inverse @ basis.T @ products
    left = sigma - sigma @ basis @ inverse @ basis.T @ sigma
    if not all(np.isfinite(one).all() for one in (inside, rest, left)):
        return SiteView.nothing()
    shares = np.linalg.eigvalsh(inside @ inside.T)[::-1]

    def evidence(share: float) -> float:
        ratio = max(share / floor, 1.0)
        return float(effective * (ratio - 1 - np.log(ratio)))

    wanted = evidence(float(expected.shares[0]) + floor)
    seen = [evidence(float(share)) for share in shares]
    found["SILENT"] = wanted > EXPECTED and seen[0] < NONE
    if len(seen) > 1 and seen[-2] > STRONG:
        first = basis[:, :-1]
        toward = first.T @ products
        solved = np.linalg.solve(first.T @ sigma @ first, toward)
        before = float((toward * solved).sum()) / n_rows
        use = direction_use(inside, before, overlap, n_rows)
    sizes, axes = np.linalg.eigh(left)
    kept = sizes > 1e-8 * max(float(np.linalg.eigvalsh(sigma)[-1]), 0.0)
    if kept.any():
        white = (axes[:, kept] / np.sqrt(sizes[kept])).T @ rest / np.sqrt(n_rows)
        if np.isfinite(white).all():
            top = float(np.linalg.eigvalsh(white @ white.T)[-1])
            room = float(np.sqrt(kept.sum() / effective))
            found["OUTSIDE"] = evidence(top / (1 + room) ** 2) > CLEAR
    return SiteView(found, use)


def direction_use(
    inside: Matrix, before: float, overlap: Matrix, n_rows: int
) -> Vector:
    r"""Compare what the last of K directions adds with a site's own last direction.

    Parameters
    ----------
    inside : ndarray of shape (K, n_functions)
        :math:`(B'S_iB)^{-1/2} B'F_i / \sqrt{n_i}`, whose squared singular values
        :math:`\lambda_1 \ge \dots \ge \lambda_K` are the shares that y explains of the
        site's own best combinations of the directions.
    before : float
        Share that the first K - 1 directions explain at the site.
    overlap : ndarray of shape (n_functions, n_functions)
        Products O of the functions of y.
    n_rows : int
        Number of rows of the site.

    Returns
    -------
    ndarray of shape (4,)
        1, the gain :math:`n_i(\sum_k \lambda_k - \mathrm{before})` by the last
        direction, the site's own :math:`n_i\lambda_K`, each without what noise gives on
        average, and the variance of the last one as noise. Zeros if K = 1, or if y has
        fewer than K functions here.

    Notes
    -----
    Sites that all use K directions gain by the last one what their own
    :math:`\lambda_K` is. Sites that use fewer, but not the same ones, gain as much
    together, and every :math:`\lambda_K` is noise: to first order
    :math:`n_i\lambda_K` is then a quadratic form of normal numbers with the matrix
    :math:`POP`, where P removes the K - 1 leading right singular vectors.
    """
    n_directions, n_functions = inside.shape
    if n_directions < 2 or n_functions < n_directions:
        return np.zeros(N_USE)
    _, sizes, axes = np.linalg.svd(inside, full_matrices=False)
    known = axes[: n_directions - 1]
    project = np.eye(n_functions) - known.T @ known
    rest = project @ overlap @ project
    correction = n_rows / max(n_rows - 1, 1)
    gain = n_rows * (float((sizes**2).sum()) - before)
    own = n_rows * float(sizes[-1]) ** 2
    return np.array(
        [
            1.0,
            gain - correction * float(np.trace(overlap)),
            own - correction * float(np.trace(rest)),
            2.0 * float((rest**2).sum()),
        ]
    )


def spread_of_covariance(batches: Batches, sigma: Matrix, n_rows: int) -> Vector:
    r"""Compute how far a site's covariance is from that of all sites.

    Parameters
    ----------
    batches : callable
        Returns batches of rows of the s variables, see `profile`.
    sigma : ndarray of shape (s, s)
        Covariance of all sites together.
    n_rows : int
        Number of rows of the site.

    Returns
    -------
    ndarray of shape (3,)
        :math:`n_i |R_i - I|^2` with :math:`R_i = \Sigma^{-1/2} S_i \Sigma^{-1/2}`, and
        what it would be on average if the site's true covariance were equal,
        :math:`\frac{n_i}{n_i - 2} (\frac1{n_i} \sum_l |z_l|^4 - |R_i|^2)` for the
        whitened rows :math:`z_l` (Ledoit and Wolf 2004). The factor, for rows around
        their own mean, is exact for normal rows and matters for small sites. Last, the
        variance of the first number then, :math:`2 E \langle A_l, A_m \rangle^2` with
        :math:`A_l = z_l z_l' - R_i`, over pairs of up to 400 rows. A site of up to two
        rows adds nothing.
    """
    values, vectors = np.linalg.eigh(sigma)
    kept = values > SINGULAR * max(values[-1], 0.0)
    whitener = vectors[:, kept] / np.sqrt(values[kept])
    fourth, start, step = 0.0, 0, -(-n_rows // SOME_ROWS)
    scatter: Matrix = np.zeros((whitener.shape[1],) * 2)
    some = []
    for rows, _ in batches():
        white = rows @ whitener
        scatter += white.T @ white
        fourth += float(((white**2).sum(axis=1) ** 2).sum())
        some.append(white[-start % step :: step])
        start += len(rows)
    if n_rows <= 2:
        return np.zeros(3)
    scatter /= n_rows
    far = n_rows * float(((scatter - np.eye(len(scatter))) ** 2).sum())
    expected = fourth / n_rows - float((scatter**2).sum())
    factor = n_rows / (n_rows - 2)
    variance = factor**2 * _variance_of_spread(np.concatenate(some))
    return np.array([far, factor * expected, variance])


def _variance_of_spread(white: Matrix) -> float:
    r"""Compute twice the mean of :math:`\langle A_l, A_m \rangle^2` over pairs of rows.

    With :math:`A_l = z_l z_l' - R` these products are the squares of
    :math:`z_l' z_m`, centred by rows and columns.
    """
    n_rows = len(white)
    products = (white @ white.T) ** 2
    products -= products.mean(axis=0)
    products -= products.mean(axis=1, keepdims=True)
    np.fill_diagonal(products, 0.0)
    return 2.0 * float((products**2).sum()) / (n_rows * (n_rows - 1))
