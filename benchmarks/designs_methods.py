"""The methods that are compared on hard designs, fitted and measured."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from time import process_time
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.designs_rivals import (
    centred,
    fit_lasso,
    fit_oracle,
    fit_oracle_pooled,
)
from benchmarks.hard_designs import FAMILIES, Design, Sample
from fedsdr import FedSSIR
from fedsdr.arrays import Mask, Matrix
from fedsdr.metrics import subspace_distance, support_rates
from reproduction.estimators import lasso_sir

#: Numbers that are measured for a fit: distance, K, rates, how many variables are
#: selected, and whether the method says that it has found nothing.
MEASURES = ("dist", "k", "tpr", "fpr", "selected", "nothing")

WEAK = "WeakSignalWarning"
NO_WARNING = "-"
LEFT_OUT = "fedsdr without odd sites"
MAY_BE_NOTHING = "fedsdr or nothing"

ODD_SITES, PURE_NOISE = FAMILIES[4], FAMILIES[5]


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """What a method found.

    Parameters
    ----------
    directions : ndarray of shape (n_features, n_directions)
        Directions; there may be none.
    support : ndarray of bool, shape (n_features,)
        Selected variables.
    """

    directions: Matrix
    support: Mask


def old_default() -> FedSSIR:
    """Make FedSSIR as it was by default in version 0.1.

    Returns
    -------
    FedSSIR
        Plain SIR with the pooled covariance, K chosen during selection, from the sites'
        own kernels alone.
    """
    return FedSSIR(refit="pooled", kernel="smooth(own=1)")


def may_find_nothing() -> FedSSIR:
    """Make FedSSIR so that it may find nothing.

    Returns
    -------
    FedSSIR
        With ``min_directions=0``.
    """
    return FedSSIR(min_directions=0)


def methods_of(design: Design) -> tuple[str, ...]:
    """List the methods that are fitted to a design.

    Parameters
    ----------
    design : Design
        The design.

    Returns
    -------
    tuple of str
        Keys of `METHODS`.
    """
    if design.family == PURE_NOISE:
        return ("fedsdr", MAY_BE_NOTHING, "old default")
    own = [LEFT_OUT] if design.family == ODD_SITES else []
    lasso = ["lasso"] if design.n_directions == 1 else []
    oracles = ["oracle", "oracle pooled"]
    return ("fedsdr", *own, *oracles, "old default", *lasso, "LassoSIR")


def measure(design: Design, method: str, seed: int) -> dict[str, Any]:
    """Fit a method to one sample and compare it with the truth.

    Parameters
    ----------
    design : Design
        Where the rows come from.
    method : str
        Key of `METHODS`.
    seed : int
        Seed of the rows, and of what the method draws.

    Returns
    -------
    dict
        A number for each of `MEASURES`, NaN where it is not defined; "warned", the
        names of the classes of all warnings; and "seconds" of the processor.
    """
    sample = design.draw(seed)
    with threadpool_limits(limits=1), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = process_time()
        fit = METHODS[method](sample, seed)
        seconds = process_time() - start
    warned = sorted({one.category.__name__ for one in caught})
    k, selected = fit.directions.shape[1], int(fit.support.sum())
    nothing = k + selected == 0
    rates = support_rates(fit.support, sample.support)
    known = sample.n_directions > 0
    return {
        "dist": subspace_distance(fit.directions, sample.B) if known else np.nan,
        "k": float(k),
        "tpr": rates.tpr if known else np.nan,
        "fpr": rates.fpr,
        "selected": float(selected),
        "nothing": float(nothing),
        "warned": " ".join(warned) or NO_WARNING,
        "seconds": seconds,
    }


def _fit_federated(model: FedSSIR, sample: Sample) -> Fit:
    model.fit(sample.X, sample.y, sites=sample.sites)
    return Fit(model.directions_, model.support_)


def _fit_lasso_sir(sample: Sample, seed: int) -> Fit:
    model = lasso_sir(seed).fit(centred(sample.X, sample.sites), sample.y)
    return Fit(model.directions_, model.support_)


def _with_support(directions: Matrix) -> Fit:
    return Fit(directions, np.asarray(directions.any(axis=1)))


#: Every method, in the order in which methods are run: the slow one last.
METHODS: dict[str, Callable[[Sample, int], Fit]] = {
    "fedsdr": lambda sample, _: _fit_federated(FedSSIR(), sample),
    LEFT_OUT: lambda sample, _: _fit_federated(FedSSIR(), sample.without_odd()),
    MAY_BE_NOTHING: lambda sample, _: _fit_federated(may_find_nothing(), sample),
    "oracle": lambda sample, _: _with_support(fit_oracle(sample)),
    "oracle pooled": lambda sample, _: _with_support(fit_oracle_pooled(sample)),
    "old default": lambda sample, _: _fit_federated(old_default(), sample),
    "lasso": lambda sample, seed: _with_support(fit_lasso(sample, seed)),
    "LassoSIR": _fit_lasso_sir,
}
