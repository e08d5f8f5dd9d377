"""The point of the box that a check has found, written out: small problems only."""

import numpy as np

from fedsdr.arrays import Matrix
from fedsdr.solver.box_check import LITTLE, BoxCheck
from fedsdr.solver.implicit_dual import ImplicitDual


def written_out(dual: ImplicitDual, check: BoxCheck, penalty: float) -> Matrix:
    """Write out the point of the box that a check has found, for small problems.

    Parameters
    ----------
    dual : ImplicitDual
        Z.
    check : BoxCheck
        Of Z.
    penalty : float
        Half the width of the box.

    Returns
    -------
    ndarray of shape (d, d)
        Multiple of Z, raised by a positive semi-definite matrix.
    """
    d = dual.diagonal.size
    rest = np.setdiff1d(np.arange(d), dual.tight)
    inside = dual.block(rest, rest)
    diagonal = dual.diagonal[rest]
    soft = np.where(penalty - diagonal > LITTLE * penalty, check.absorbed, 0.0)
    excess = inside - np.clip(inside, -penalty, penalty)
    inside -= np.minimum.outer(soft, soft) * excess
    np.fill_diagonal(inside, np.maximum(diagonal, penalty))
    whole = np.empty((d, d))
    whole[:, dual.tight] = dual.across
    whole[dual.tight] = dual.across.T
    whole[np.ix_(rest, rest)] = inside
    return check.share * (whole + whole.T) / 2
