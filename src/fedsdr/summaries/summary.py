"""The sums over rows that a fit needs from a site, and their computation."""

from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from fedsdr.arrays import Mask, Matrix, Vector
from fedsdr.exceptions import InputError
from fedsdr.summaries.blocked import (
    CentredSums,
    column_means,
    near_means,
    sum_rows,
)
from fedsdr.summaries.column_spread import ROUNDING
from fedsdr.summaries.dense_blocks import dense_columns
from fedsdr.summaries.inputs import check_rows, require_finite
from fedsdr.summaries.kernels import (
    GroupIndicators,
    gram,
    pair_squares,
    within_pairs,
)
from fedsdr.summaries.rank_functions import ResponseFunctions, plain_response
from fedsdr.summaries.slicing import (
    Kernel,
    Response,
    Slices,
    Weights,
    is_discrete,
    read_response,
    weigh,
)


@dataclass(frozen=True, slots=True, eq=False)
class Summary:
    r"""Sums over the rows of one or more sites.

    Summaries are sums, not averages: adding those of two sites gives the summary of
    both, ``sum(summaries)`` the pooled one.

    Parameters
    ----------
    n_rows : int
        Number of rows behind the sums, at least 1.
    scatter : array-like of shape (n_features, n_features)
        Sum of :math:`n_i \hat\Sigma_i`, each site centred on its own mean.
    between : array-like of shape (n_features, n_features)
        Sum of :math:`n_i T_i`.
    n_sites : int, default=1
        Number of sites behind the sums.
    freedom, freedom_squared : float, default=0
        Sums of :math:`\mathrm{tr} W_i` and :math:`\mathrm{tr} W_i^2`, where
        :math:`n_i T_i = X_i' W_i X_i` for centred rows. For slices both are the number
        of slices minus one; for pairs the weights are 0 on average, and the first is 0.
    linear : array-like of shape (n_features, n_functions), optional
        Sum of :math:`\sqrt{n_i} X_i' Q_i`, where the columns of :math:`Q_i` are the
        functions of y behind the kernel; without columns if the sites have no functions
        in common.
    products : array-like of shape (n_features,), optional
        Sum of :math:`X_i' r_i`, where :math:`r_i` is the response itself, see
        `plain_response`; zeros if the sites have no functions in common.
    response_square : float, default=0
        Sum of :math:`|r_i|^2`.
    searched : int, default=0
        Number of variables from which these columns were chosen, if they are not all.

    Notes
    -----
    If x and y are independent, T is on average `noise_floor` times sigma.
    With N rows over all sites (section 2.1 of the paper)

    .. math:: \hat\Sigma = \sum_i \frac{n_i}{N} \hat\Sigma_i , \qquad
              \hat T = \sum_i \frac{n_i}{N} \hat T_i .
    """

    n_rows: int
    scatter: Matrix
    between: Matrix
    n_sites: int = 1
    freedom: float = 0.0
    freedom_squared: float = 0.0
    linear: Matrix = field(default_factory=lambda: np.zeros((0, 0)))
    products: Vector = field(default_factory=lambda: np.zeros(0))
    response_square: float = 0.0
    searched: int = 0

    def __post_init__(self) -> None:
        if self.n_rows < 1:
            raise InputError(f"a summary needs at least one row, got {self.n_rows}")
        object.__setattr__(self, "n_rows", int(self.n_rows))
        for name in ("scatter", "between"):
            object.__setattr__(self, name, _read_only_square(getattr(self, name), name))
        linear = np.asarray(self.linear, dtype=np.float64).view()
        if not linear.size:
            linear = np.zeros((self.n_features, 0))
        products = np.asarray(self.products, dtype=np.float64).view()
        if not products.size:
            products = np.zeros(self.n_features)
        for name, sums in (("linear", linear), ("products", products)):
            sums.flags.writeable = False
            object.__setattr__(self, name, sums)
        if self.scatter.shape != self.between.shape:
            raise InputError(
                f"scatter is {self.scatter.shape} but between is {self.between.shape}"
            )

    @property
    def n_features(self) -> int:
        """Number of columns of X."""
        return self.scatter.shape[0]

    @property
    def n_variables(self) -> int:
        """Number of variables that could be selected, which charges depend on."""
        return max(self.searched, self.n_features)

    @property
    def sigma(self) -> Matrix:
        """Pooled within-site covariance of x, shape (n_features, n_features)."""
        return self.scatter / self.n_rows

    @property
    def kernel(self) -> Matrix:
        """Pooled covariance of E[x | y], shape (n_features, n_features)."""
        return self.between / self.n_rows

    @property
    def noise_floor(self) -> float:
        """Generalised eigenvalue of (T, sigma) that noise alone gives on average."""
        return self.freedom / max(self.n_rows - self.n_sites, 1)

    @property
    def effective_freedom(self) -> float:
        """Degrees of freedom of the chi-square with the mean and variance of noise."""
        return self.freedom**2 / self.freedom_squared if self.freedom_squared else 0.0

    def __add__(self, other: "Summary") -> "Summary":
        if not isinstance(other, Summary):
            return NotImplemented
        if self.n_features != other.n_features:
            raise InputError(
                f"cannot add summaries of {self.n_features} and {other.n_features} "
                "columns: every site must hold the same columns"
            )
        return Summary(
            n_rows=self.n_rows + other.n_rows,
            scatter=self.scatter + other.scatter,
            between=self.between + other.between,
            n_sites=self.n_sites + other.n_sites,
            freedom=self.freedom + other.freedom,
            freedom_squared=self.freedom_squared + other.freedom_squared,
            linear=add_wider(self.linear, other.linear),
            products=self.products + other.products,
            response_square=self.response_square + other.response_square,
            searched=max(self.searched, other.searched),
        )

    def __radd__(self, other: object) -> "Summary":
        # sum() starts from 0.
        return self if other == 0 else NotImplemented

    def mixed(self, own: float) -> "Summary":
        r"""Mix the sites' own kernels with the kernel of their common means.

        Parameters
        ----------
        own : float
            Weight w of the sites' own kernels, from 0 to 1.

        Returns
        -------
        Summary
            Summary with the kernel :math:`w T + (1 - w) L L' / N^2`, where L is
            `linear`; the summary itself if the weight is 1 or there is no L.

        Notes
        -----
        Sites that all have the same link add up in L, whose noise does not grow with
        the number of sites m, while links of opposite signs cancel there. Noise has the
        weight 1 along the common means and w along the other m - 1 contrasts of sites.
        """
        if own >= 1.0 or not self.linear.shape[1]:
            return self
        common = self.linear @ self.linear.T / self.n_rows
        others = self.n_sites - 1
        return replace(
            self,
            between=own * self.between + (1.0 - own) * common,
            freedom=self.freedom * (1 + own * others) / self.n_sites,
            freedom_squared=self.freedom_squared * (1 + own**2 * others) / self.n_sites,
        )

    def apart(self) -> "Summary":
        r"""Return what the sites' own kernels have beyond that of their common means.

        Returns
        -------
        Summary
            Summary with the kernel :math:`T - L L' / N^2`, whose noise is that of m - 1
            contrasts of sites.
        """
        common = self.linear @ self.linear.T / self.n_rows
        share = (self.n_sites - 1) / self.n_sites
        return replace(
            self,
            between=self.between - common,
            freedom=self.freedom * share,
            freedom_squared=self.freedom_squared * share,
        )

    def by_response(self) -> "Summary":
        r"""Put the response itself in the place of its rank, in the linear sums.

        Returns
        -------
        Summary
            Summary whose first linear sum is :math:`\sqrt{N / \sum_i |r_i|^2}
            \sum_i X_i' r_i`, which has the noise of the one that it replaces; the
            summary itself if the sites have no functions in common.

        Notes
        -----
        A site of ten rows loses an eighth of the evidence of a linear link by its
        ranks, because these do not tell how far its responses are apart.
        """
        if not (self.linear.shape[1] and self.response_square > 0.0):
            return self
        linear = self.linear.copy()
        linear[:, 0] = np.sqrt(self.n_rows / self.response_square) * self.products
        return replace(self, linear=linear)

    def scaled(self, scale: ArrayLike) -> "Summary":
        """Summarise the same rows with every column divided by a constant.

        Parameters
        ----------
        scale : array-like of shape (n_features,)
            Divisor of each column; positive and finite.

        Returns
        -------
        Summary
            Summary of ``X / scale``.
        """
        scale = np.asarray(scale, dtype=np.float64)
        if scale.shape != (self.n_features,):
            raise InputError(
                f"scale has shape {scale.shape}, expected ({self.n_features},)"
            )
        if not (np.isfinite(scale) & (scale > 0)).all():
            raise InputError("scale must be positive and finite in every column")
        both = np.outer(scale, scale)
        return replace(
            self,
            scatter=self.scatter / both,
            between=self.between / both,
            linear=self.linear / scale[:, None],
            products=self.products / scale,
        )

    def without_rounding(self, mean: Vector) -> "Summary":
        r"""Set the sums of columns that are constant up to rounding to zero.

        Parameters
        ----------
        mean : ndarray of shape (n_features,)
            Mean of each column.

        Returns
        -------
        Summary
            Summary in which a column has zeros if it is constant up to rounding, see
            `constant_columns`.
        """
        constant = constant_columns(np.diag(self.scatter), self.n_rows, mean)
        if not constant.any():
            return self
        scatter, between, linear = (
            np.array(one) for one in (self.scatter, self.between, self.linear)
        )
        for matrix in (scatter, between):
            matrix[constant] = matrix[:, constant] = 0.0
        linear[constant] = 0.0
        return replace(
            self,
            scatter=scatter,
            between=between,
            linear=linear,
            products=np.where(constant, 0.0, self.products),
        )

    def subset(self, index: ArrayLike) -> "Summary":
        """Summarise the same rows with some of the columns.

        Parameters
        ----------
        index : array-like of int or of bool
            Columns to keep, in this order, or a mask of length n_features.

        Returns
        -------
        Summary
            Summary of ``X[:, index]``.
        """
        index = np.asarray(index)
        if index.dtype == bool and index.all() and len(index) == self.n_features:
            return self
        block = np.arange(self.n_features)[index]
        both = np.ix_(block, block)
        return replace(
            self,
            scatter=self.scatter[both],
            between=self.between[both],
            linear=self.linear[block],
            products=self.products[block],
        )


def summarize(
    X: Any,
    y: Any,
    *,
    kernel: Kernel | None = None,
    response: Response = "auto",
    on_degenerate: Literal["raise", "zero"] = "raise",
    site: object = None,
    target: str | None = None,
) -> Summary:
    r"""Compute the two sums that one site contributes.

    Run by a site on its own rows. The rows are centred on the site's own mean, so that
    the sums of sites with different means can be added.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
        Covariates: numpy, pandas, polars, Arrow or scipy.sparse; finite numbers. Of a
        sparse matrix only a block of rows is made dense at a time (for `Pairs` all of
        it), and float32 is summed in float64 without a copy of all of X.
    y : array-like of shape (n_rows,)
        Response. Text, booleans and categories are classes, one slice each; for
        numbers see `response`.
    kernel : Smooth, Slices or Pairs, optional
        `Slices` (the default): between-slice covariance (eq2.6a). `Pairs`: sigma minus
        the two-point estimate of the within covariance (eq2.6), which needs no slices
        but may have negative eigenvalues. `Smooth`: polynomials of the rank of y in
        place of slice indicators (see `RankPolynomials`), less noisy and without a
        slice size to choose. Each class is a slice of its own, both for `Smooth` and
        for `Slices`.
    response : {"auto", "ordered", "classes"}, default="auto"
        What a numeric `y` is taken for; "auto" treats a few whole values as classes,
        see `is_discrete`.
    on_degenerate : {"raise", "zero"}, default="raise"
        Treatment of a site from whose rows no kernel can be computed: fewer than 4
        rows, constant y, one class, or no class with two rows. "zero" warns and
        keeps the site's covariance with a kernel of zeros.
    site : object, default=None
        Label of the site, for messages.
    target : str, optional
        Former name of `response`, until version 0.4.

    Returns
    -------
    Summary
        Row count, :math:`n_i \hat\Sigma_i` and :math:`n_i T_i`.

    Raises
    ------
    SiteError
        If the site is degenerate and `on_degenerate` is "raise".
    InputError
        If an option is out of range; scikit-learn's ValueError if X or y hold NaN,
        infinities or text instead of numbers.

    Warns
    -----
    SiteWarning
        If there are too few rows for the requested slices.

    Notes
    -----
    .. math:: \hat\Sigma_i = \frac{1}{n_i} \sum_l (x_l - \bar x)(x_l - \bar x)^\top ,
              \qquad
              T_i = \sum_h \frac{n_h}{n_i} (\bar x_h - \bar x)(\bar x_h - \bar x)^\top

    Sliced inverse regression cannot find links that are symmetric about the mean:
    there :math:`E[x \mid y]` is constant.

    Examples
    --------
    >>> import numpy as np
    >>> from fedsdr.summaries import summarize
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> summary = summarize(X, X[:, 0])
    >>> summary.n_rows, summary.n_features
    (100, 3)
    """
    kernel = Slices() if kernel is None else kernel
    if not isinstance(kernel, Kernel):
        raise InputError(
            f"kernel must be Slices(...), Pairs() or Smooth(), got {kernel!r}"
        )
    if on_degenerate not in ("raise", "zero"):
        raise InputError(
            f"on_degenerate must be 'raise' or 'zero', got {on_degenerate!r}"
        )
    X, y = check_rows(X, y)
    discrete = is_discrete(y, read_response(response, target))
    weights = weigh(
        y,
        kernel=kernel,
        discrete=discrete,
        on_degenerate=on_degenerate,
        site=site,
    )
    if weights.form == "pairs":
        return _from_pairs(X, weights)
    near, functions = near_means(X), _functions_of(weights, y)
    lanes = sum_rows(X, near, [] if functions is None else [functions])
    with np.errstate(invalid="ignore"):
        sums = reduce(add, lanes)
    require_finite(X, sums.total)
    if isinstance(functions, ResponseFunctions):
        found = summary_of_functions(
            sums.n_rows, sums.scatter, sums.products[0], functions
        )
    elif isinstance(functions, GroupIndicators):
        found = _from_groups(sums, functions)
    else:
        found = Summary(sums.n_rows, sums.scatter, np.zeros_like(sums.squares))
    return found.without_rounding(near + sums.rest)


def _functions_of(
    weights: Weights, y: Any
) -> ResponseFunctions | GroupIndicators | None:
    """Return the functions of y behind the kernel, None if there is no kernel."""
    if weights.form == "functions":
        return ResponseFunctions(weights.ranks, plain_response(y))
    return GroupIndicators(weights.ranks) if weights.form == "groups" else None


def summary_of_functions(
    n_rows: int, scatter: Matrix, products: Matrix, functions: ResponseFunctions
) -> Summary:
    """Write the summary of rows with a kernel of functions of y.

    Parameters
    ----------
    n_rows : int
        Number of rows.
    scatter : ndarray of shape (n_features, n_features)
        Sum of squares and products about the mean of the rows.
    products : ndarray of shape (n_functions, n_features)
        Sum of the products of the rows with the functions. These have the mean zero,
        so that the rounding error of the mean does not matter.
    functions : ResponseFunctions
        Functions of y.

    Returns
    -------
    Summary
        Summary of one site.
    """
    moved, freedom = products[:-1], functions.polynomials.freedom
    return Summary(
        n_rows,
        scatter,
        moved.T @ moved,
        freedom=freedom[0],
        freedom_squared=freedom[1],
        linear=np.sqrt(n_rows) * moved.T,
        products=products[-1],
        response_square=float(functions.response @ functions.response),
    )


def _from_groups(sums: CentredSums, groups: GroupIndicators) -> Summary:
    """Write the summary of rows with a kernel of means of groups."""
    roots = np.sqrt(groups.counts)[:, None]
    between = gram(sums.products[0] / roots - roots * sums.rest)
    freedom = float(groups.n_functions - 1)
    return Summary(sums.n_rows, sums.scatter, between, 1, freedom, freedom)


def _from_pairs(X: Any, weights: Weights) -> Summary:
    mean = column_means(X)
    require_finite(X, mean)
    rows = dense_columns(X, slice(None))
    centred, _ = centre(rows, out=rows)
    scatter, ranks = centred.T @ centred, weights.ranks
    between = scatter - within_pairs(centred, ranks, ordered=weights.ordered)
    squares = pair_squares(np.bincount(ranks), ordered=weights.ordered)
    found = Summary(len(rows), scatter, between, freedom_squared=squares)
    return found.without_rounding(mean)


def centre(X: Matrix, out: Matrix | None = None) -> tuple[Matrix, Vector]:
    """Subtract the column means, twice.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        Rows.
    out : ndarray of shape (n_rows, n_features), optional
        Where to write; may be `X` itself.

    Returns
    -------
    centred : ndarray of shape (n_rows, n_features)
        Rows about their mean.
    mean : ndarray of shape (n_features,)
        Column means.

    Notes
    -----
    The first mean carries a rounding error of the size of the column, the second one
    of the size of its spread: columns with large means lose no digits.
    """
    # A product with ones takes half as long as numpy's mean.
    ones, count = np.ones(len(X)), max(len(X), 1)
    mean = np.dot(ones, X) / count
    centred = np.subtract(X, mean, out=out)
    rest = np.dot(ones, centred) / count
    centred -= rest
    return centred, mean + rest


def constant_columns(spread: Vector, n_rows: Any, mean: Vector) -> Mask:
    r"""Find the columns that are constant up to rounding.

    Parameters
    ----------
    spread : ndarray of shape (..., n_features)
        Sum of squares of each column about its mean.
    n_rows : int or ndarray
        Number of rows.
    mean : ndarray of shape (..., n_features)
        Mean of each column.

    Returns
    -------
    ndarray of bool, shape (..., n_features)
        Whether the standard deviation is no larger than the rounding of the column's
        own numbers; how large other columns are does not matter.

    Notes
    -----
    No number is farther from the mean than :math:`\sqrt n` standard deviations. Where
    these are as small as rounding, the mean is about the largest number.
    """
    deviations = np.sqrt(spread / n_rows)
    largest = np.abs(mean) + np.sqrt(n_rows) * deviations
    return np.asarray(deviations <= ROUNDING * largest)


def add_wider(first: Matrix, second: Matrix) -> Matrix:
    """Add matrices that may lack some of the last columns.

    Parameters
    ----------
    first, second : ndarray of shape (n, n_columns, ...)
        Matrices.

    Returns
    -------
    ndarray of shape (n, most_columns, ...)
        Sum; a column that is lacking is zero.
    """
    if first.shape[1] < second.shape[1]:
        first, second = second, first
    total = first.copy()
    total[:, : second.shape[1]] += second
    return total


def _read_only_square(matrix: Any, name: str) -> Matrix:
    # A view, so that the caller's own array stays writeable.
    view = np.asarray(matrix, dtype=np.float64).view()
    if view.ndim != 2 or view.shape[0] != view.shape[1]:
        raise InputError(f"{name} must be a square matrix, got shape {view.shape}")
    view.flags.writeable = False
    return view
