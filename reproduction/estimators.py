"""Every estimator that the experiments fit: its constructor call and options."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from fedsdr import SSIRCV, LassoSIR
from fedsdr.choices import HoldOut
from fedsdr.estimators import FedSSIR

#: Options of FedSSIR in the ways that are compared. The paper gives no grid of
#: penalties; 0.05 reaches below the penalty that it uses where it has a formula.
WAYS: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    "paper-way": {
        "n_directions": "votes",
        "penalty": HoldOut(min_ratio=0.05),
        "kernel": "slices",
        "refit": False,
    },
    "slices-universal": {"kernel": "slices"},
    "slices-holdout-refit": {
        "n_directions": "bic",
        "kernel": "slices",
        "penalty": "holdout",
    },
    "slices-moments-refit": {
        "n_directions": "bic",
        "kernel": "slices",
        "penalty": "moments",
    },
    "smooth-moments-refit": {"penalty": "moments"},
}

#: Ways that hold rows of every site out.
HOLD_OUT_WAYS = ("paper-way", "slices-holdout-refit")


def fed_ssir(way: str, seed: int) -> FedSSIR:
    """Make FedSSIR in one of the ways that are compared.

    Parameters
    ----------
    way : str
        Key of `WAYS`.
    seed : int
        For what the estimator draws.

    Returns
    -------
    FedSSIR
        Not fitted.
    """
    return FedSSIR(**WAYS[way], random_state=seed)


def fed_ssir_known_k(n_directions: int, seed: int) -> FedSSIR:
    """Make FedSSIR with a known number of directions, otherwise by default.

    Parameters
    ----------
    n_directions : int
        The true number.
    seed : int
        For what the estimator draws.

    Returns
    -------
    FedSSIR
        Not fitted.
    """
    return FedSSIR(n_directions=n_directions, random_state=seed)


def fed_ssir_paper_rate(n_directions: int, n_rows: int, n_features: int) -> FedSSIR:
    """Make FedSSIR the paper's way, with the penalty of its formula.

    Parameters
    ----------
    n_directions : int
        The true number.
    n_rows, n_features : int
        N and d; the penalty is 0.5 sqrt(log d / N).

    Returns
    -------
    FedSSIR
        Not fitted.
    """
    return FedSSIR(
        n_directions=n_directions,
        penalty=0.5 * float(np.sqrt(np.log(n_features) / n_rows)),
        kernel="slices",
        refit=False,
        standardize=False,
    )


def reducer_by_bic() -> FedSSIR:
    """Make the reducer of M3 with K by BIC and our choice of the penalty.

    Returns
    -------
    FedSSIR
        Not fitted.
    """
    return FedSSIR("bic")


def reducer_paper_way(n_directions: str | int, seed: int) -> FedSSIR:
    """Make the reducer of M3 the paper's way.

    Parameters
    ----------
    n_directions : str or int
        K, or the rule for it.
    seed : int
        For the rows that are held out.

    Returns
    -------
    FedSSIR
        Not fitted.
    """
    return FedSSIR(
        n_directions, penalty="holdout", kernel="slices", refit=False, random_state=seed
    )


def lasso_sir(seed: int) -> LassoSIR:
    """Make LassoSIR as in its authors' package.

    Parameters
    ----------
    seed : int
        For the folds.

    Returns
    -------
    LassoSIR
        Not fitted; it does not scale columns and draws folds once.
    """
    return LassoSIR(standardize=False, n_repeats=1, random_state=seed)


def ssir(seed: int, *, as_shipped: bool = False) -> SSIRCV:
    """Make SSIR with cross validation.

    Parameters
    ----------
    seed : int
        For the folds.
    as_shipped : bool, default=False
        Stop the solver where its authors' code stops, instead of at a certified gap.

    Returns
    -------
    SSIRCV
        Not fitted.
    """
    return SSIRCV(as_shipped=as_shipped, random_state=seed)
