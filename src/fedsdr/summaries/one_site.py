"""From the rows of one site to its summary."""

from typing import Any, Literal, get_args

import numpy as np

from fedsdr.arrays import Matrix, Vector
from fedsdr.exceptions import InputError
from fedsdr.summaries.inputs import check_rows
from fedsdr.summaries.kernels import between_slices, gram, within_pairs
from fedsdr.summaries.polynomials import rank_polynomials
from fedsdr.summaries.slicing import Target, is_discrete
from fedsdr.summaries.summary import Summary
from fedsdr.summaries.weights import Kernel, weigh

__all__ = ["Kernel", "summarize"]


def summarize(
    X: Any,
    y: Any,
    *,
    slice_size: int = 20,
    n_slices: int | None = None,
    kernel: Kernel = "slices",
    target: Target = "auto",
    on_degenerate: Literal["raise", "zero"] = "raise",
    site: object = None,
) -> Summary:
    r"""Compute the two sums that one site contributes.

    Run by a site on its own rows. The rows are centred on the site's own mean, so
    sites whose covariates are shifted against each other still add up.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
        Covariates: numpy, pandas, polars or Arrow; finite numbers.
    y : array-like of shape (n_rows,)
        Response. Text, booleans and categories are classes, one slice each; for
        numbers see `target`.
    slice_size : int, default=20
        Rows in a slice of a continuous response, at least 2.
    n_slices : int or None, default=None
        Number of slices, at least 2. When given, `slice_size` is not looked at.
    kernel : {"slices", "pairs", "smooth"}, default="slices"
        "slices": between-slice covariance (eq2.6a). "pairs": sigma minus the
        two-point estimate of the within covariance (eq2.6), which needs no slices
        but may have negative eigenvalues. "smooth": polynomials of the rank of y in
        place of slice indicators (see `rank_polynomials`), less noisy and without a
        slice size to choose. Classes always are slices of their own, for "smooth" as
        for "slices".
    target : {"auto", "continuous", "classes"}, default="auto"
        What a numeric `y` is; "auto" takes few whole values for classes, see
        `is_discrete`.
    on_degenerate : {"raise", "zero"}, default="raise"
        What to do with a site whose rows cannot say how x moves with y: fewer than 4
        rows, constant y, one class, or no class with two rows. "zero" warns and
        keeps the site's covariance with a kernel of zeros.
    site : object, default=None
        Label of the site, for messages.

    Returns
    -------
    Summary
        Row count, :math:`n_i \hat\Sigma_i` and :math:`n_i T_i`.

    Raises
    ------
    SiteError
        When the site is degenerate and `on_degenerate` is "raise".
    InputError
        When an option is out of range; scikit-learn's ValueError when X or y hold
        NaN, infinities or text where numbers belong.

    Warns
    -----
    SiteWarning
        When there are too few rows for the slices asked for.

    Notes
    -----
    .. math:: \hat\Sigma_i = \frac{1}{n_i} \sum_l (x_l - \bar x)(x_l - \bar x)^\top ,
              \qquad
              T_i = \sum_h \frac{n_h}{n_i} (\bar x_h - \bar x)(\bar x_h - \bar x)^\top

    Sliced inverse regression is blind to links that are symmetric about the mean:
    there :math:`E[x \mid y]` does not move.

    Examples
    --------
    >>> import numpy as np
    >>> from fedsdr.summaries import summarize
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> summary = summarize(X, X[:, 0])
    >>> summary.n_rows, summary.n_features
    (100, 3)
    """
    if kernel not in get_args(Kernel):
        raise InputError(
            f"kernel must be 'slices', 'pairs' or 'smooth', got {kernel!r}"
        )
    if on_degenerate not in ("raise", "zero"):
        raise InputError(
            f"on_degenerate must be 'raise' or 'zero', got {on_degenerate!r}"
        )
    X, y = check_rows(X, y)
    discrete = is_discrete(y, target)
    weights = weigh(
        y,
        kernel=kernel,
        discrete=discrete,
        slice_size=slice_size,
        n_slices=n_slices,
        on_degenerate=on_degenerate,
        site=site,
    )
    centred = centre(X)[0]
    scatter = gram(centred)
    ranks = weights.ranks
    if weights.form == "none":
        return Summary(len(y), scatter, np.zeros_like(scatter))
    if weights.form == "pairs":
        between = scatter - within_pairs(centred, ranks, ordered=weights.ordered)
        # W = I - A with A made of pairs: half of its eigenvalues are 1, half are -1.
        return Summary(len(y), scatter, between, freedom_squared=float(len(y)))
    if weights.form == "functions":
        functions = rank_polynomials(ranks)
        overlap = functions.T @ functions
        return Summary(
            len(y),
            scatter,
            gram(functions.T @ centred),
            freedom=float(np.trace(overlap)),
            freedom_squared=float((overlap**2).sum()),
        )
    between = between_slices(centred, ranks)
    freedom = float(ranks.max())
    return Summary(len(y), scatter, between, freedom=freedom, freedom_squared=freedom)


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
    mean = X.mean(axis=0)
    centred = np.subtract(X, mean, out=out)
    rest = centred.mean(axis=0)
    centred -= rest
    return centred, mean + rest
