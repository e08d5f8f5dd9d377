"""Whether opened sums of many columns could come from rows: what has no full matrix."""

import numpy as np
from numpy.typing import NDArray

from fedsdr.arrays import Matrix, Vector
from fedsdr.exceptions import Refusal
from fedsdr.summaries.diagonals import ColumnSums, Diagonals

#: Largest negative eigenvalue that is taken for rounding, where diagonals are 1.
ROUNDING = 1e-7
#: Relative rounding of single sums.
PRECISION = 1e-9


def check_diagonals_possible(
    found: Diagonals, limits: Vector, *, definite: bool
) -> None:
    r"""Check that diagonals could come from rows of some sites.

    Parameters
    ----------
    found : Diagonals
        Sum over the sites.
    limits : ndarray of shape (n_features,)
        Widths of the declared ranges, infinite where none is declared.
    definite : bool
        Whether kernels of sites are positive semi-definite.

    Raises
    ------
    Refusal
        "TAMPERED".

    Notes
    -----
    The diagonals of what `check_possible` says about moments:
    :math:`0 \le T_{jj} \le \Sigma_{jj}`, linear sums whose squares are at most
    :math:`N T_{jj}`, and products with y that y is large enough for.
    """
    check_spread(found.scatter, found.n_rows, limits)
    constant = found.scatter == 0.0
    if found.between[constant].any() or found.linear[constant].any():
        raise impossible("a constant column varies with the response")
    scale = np.where(constant, 1.0, found.scatter)
    between = found.between / scale
    if (between > 1.0 + ROUNDING).any():
        raise impossible("its kernel is larger than its covariance")
    if definite and (between < -ROUNDING).any():
        raise impossible("its kernel is not positive semi-definite")
    if not found.linear.shape[1]:
        return
    common = (found.linear**2).sum(axis=1) / found.n_rows / scale
    if (common > between + ROUNDING).any():
        raise impossible("its linear sums are larger than its kernel")
    square = found.response_square
    if square < 0.0 or (found.products**2 / scale > square * (1 + ROUNDING)).any():
        raise impossible("its products with the response are too large")


def check_block_possible(
    block: ColumnSums, known: Vector | None, *, definite: bool
) -> None:
    """Check that the matrices of some columns could come from rows of some sites.

    Parameters
    ----------
    block : ColumnSums
        Square matrices of these columns.
    known : ndarray or None
        Diagonal of their scatter, over the same sites or more; None if it is not known.
    definite : bool
        Whether kernels of sites are positive semi-definite.

    Raises
    ------
    Refusal
        "TAMPERED".
    """
    squares = np.diag(block.scatter)
    if (squares < 0.0).any():
        raise impossible("the variance of a column is negative")
    roots = np.sqrt(squares)
    if known is not None:
        # Sites have zeros instead of rounding in the diagonals of constant columns.
        varies = known > 0.0
        if (squares > known * (1 + ROUNDING))[varies].any():
            raise impossible("a column varies more than it has before")
        roots = np.where(varies, roots, 0.0)
    kept = roots > 0.0
    scale = roots[kept]
    scatter, between = (
        one[np.ix_(kept, kept)] / np.outer(scale, scale)
        for one in (block.scatter, block.between)
    )
    check_definite(scatter, between, definite=definite)


def check_columns_possible(
    columns: ColumnSums,
    places: NDArray[np.int64],
    known: Diagonals | None,
    *,
    definite: bool,
) -> None:
    r"""Check that columns of both matrices could come from rows of some sites.

    Parameters
    ----------
    columns : ColumnSums
        Columns of the covariance and of the kernel, all variables against a few.
    places : ndarray of int
        Indices of these few.
    known : Diagonals or None
        Diagonals of all columns, over the same sites or more; None if they are not
        known.
    definite : bool
        Whether kernels of sites are positive semi-definite.

    Raises
    ------
    Refusal
        "TAMPERED".

    Notes
    -----
    By Cauchy-Schwarz :math:`\Sigma_{jk}^2 \le \Sigma_{jj} \Sigma_{kk}`, and the same
    for T and for :math:`\Sigma - T`; the rows of the columns themselves are a block.
    """
    inner = ColumnSums(columns.scatter[places], columns.between[places])
    for one in (inner.scatter, inner.between):
        if (np.abs(one - one.T) > ROUNDING * np.abs(one).max()).any():
            raise impossible("its columns contradict each other")
    squares = None if known is None else known.scatter[places]
    check_block_possible(inner, squares, definite=definite)
    if known is None:
        return
    left = known.scatter - known.between
    pairs = [
        (columns.scatter, known.scatter),
        (columns.scatter - columns.between, left),
    ]
    if definite:
        pairs.append((columns.between, known.between))
    roots = np.sqrt(known.scatter)
    # Sites have zeros instead of rounding in the diagonals of constant columns.
    varies = np.outer(roots > 0.0, roots[places] > 0.0)
    rounding = ROUNDING * np.outer(roots, roots[places])
    for values, diagonal in pairs:
        own = np.sqrt(np.maximum(diagonal, 0.0))
        limit = np.outer(own, own[places]) + rounding
        if (np.abs(values) > limit)[varies].any():
            raise impossible("two columns have more in common than each has alone")


def check_spread(squares: Vector, n_rows: int, limits: Vector) -> None:
    """Check the variances of columns.

    Parameters
    ----------
    squares : ndarray of shape (n_features,)
        Sums of squares about the sites' means.
    n_rows : int
        Number of rows.
    limits : ndarray of shape (n_features,)
        Widths of the declared ranges, infinite where none is declared.

    Raises
    ------
    Refusal
        "TAMPERED".
    """
    if (squares < 0.0).any():
        raise impossible("the variance of a column is negative")
    # Roots: the square of a range in small units may be too large for a number.
    largest = np.sqrt(n_rows) * limits / 2 * (1 + PRECISION / 2)
    if (np.sqrt(squares) > largest).any():
        raise impossible("a column varies more than its declared range allows")


def check_definite(scatter: Matrix, between: Matrix, *, definite: bool) -> None:
    """Check both matrices of columns whose diagonal is 1 in the first.

    Parameters
    ----------
    scatter, between : ndarray of shape (n, n)
        Covariance and kernel, on the same scale.
    definite : bool
        Whether kernels of sites are positive semi-definite.

    Raises
    ------
    Refusal
        "TAMPERED".
    """
    if not is_definite(scatter):
        raise impossible("its covariance is not positive semi-definite")
    if not is_definite(scatter - between):
        raise impossible("its kernel is larger than its covariance")
    if definite and not is_definite(between):
        raise impossible("its kernel is not positive semi-definite")


def is_definite(matrix: Matrix) -> bool:
    """Return whether a matrix on the scale of 1 is positive semi-definite.

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
        Symmetric matrix.

    Returns
    -------
    bool
        Whether no eigenvalue is below rounding.
    """
    try:
        np.linalg.cholesky(matrix + ROUNDING * np.eye(len(matrix)))
    except np.linalg.LinAlgError:
        return False
    return True


def impossible(what: str) -> Refusal:
    """Say that a sum cannot come from rows.

    Parameters
    ----------
    what : str
        What is impossible about it.

    Returns
    -------
    Refusal
        "TAMPERED", to be raised.
    """
    return Refusal(
        "TAMPERED",
        f"the sum cannot come from rows of the sites: {what}. A site has sent other "
        "numbers than its sums: let every steward run 'fedsdr site check', with the "
        "same version, and leave out a site that cannot explain its answer",
    )
