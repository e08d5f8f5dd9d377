"""Every method of the simulations, fitted and compared with the truth."""

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from fedsdr.arrays import Mask, Matrix
from fedsdr.estimation import refit_directions
from fedsdr.exceptions import ConvergenceWarning
from fedsdr.metrics import subspace_distance, support_rates
from fedsdr.selection.penalties import candidates_on_path
from fedsdr.simulate import Simulation, make_setting
from fedsdr.summaries import Summary, summarize
from fedsdr.summaries.slicing import Kernel, Slices, Smooth
from reproduction import estimators
from reproduction.estimators import HOLD_OUT_WAYS, WAYS
from reproduction.experiment import Task

#: What is measured: rates, distance, whether K is right, K, whether all fits converged.
MEASURES = ("TPR", "FPR", "Dist", "K", "k", "converged")

#: Sites with at most so many rows are left out where rows are held out.
TOO_FEW = 3

Options = Mapping[str, Mapping[str, Any]]
Fit = tuple[Matrix, Mask]


def simulate(task: Task, conditions: Options) -> Simulation:
    """Draw the data of a task.

    Parameters
    ----------
    task : Task
        With setting and seed.
    conditions : mapping of str to mapping
        Options of `fedsdr.simulate.make_setting` under each condition.

    Returns
    -------
    Simulation
        Rows and truth.
    """
    options = conditions[task.condition]
    return make_setting(int(task.setting), random_state=task.seed, **options)


def run_simulation(task: Task, conditions: Options) -> dict[str, float]:
    """Fit one method to one simulated data set.

    Parameters
    ----------
    task : Task
        What to fit.
    conditions : mapping of str to mapping
        Options of `fedsdr.simulate.make_setting` under each condition.

    Returns
    -------
    dict of str to float
        A value for each of `MEASURES`.
    """
    return measure(task.method, simulate(task, conditions), task.seed)


def measure(method: str, data: Simulation, seed: int) -> dict[str, float]:
    """Fit a method to simulated rows and compare with the truth.

    Parameters
    ----------
    method : str
        One of `reproduction.methods.LABELS`.
    data : Simulation
        Rows and truth.
    seed : int
        For what the method draws.

    Returns
    -------
    dict of str to float
        A value for each of `MEASURES`; NaN where the method is not defined.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        directions, support = _fit(method, data, seed)
    stopped = any(issubclass(w.category, ConvergenceWarning) for w in caught)
    if np.isnan(directions).any():
        return dict.fromkeys(MEASURES, np.nan)
    rates = support_rates(support, data.support)
    k = directions.shape[1]
    return {
        "TPR": rates.tpr,
        "FPR": rates.fpr,
        "Dist": subspace_distance(directions, data.B),
        "K": float(k == data.n_directions),
        "k": float(k),
        "converged": float(not stopped),
    }


def site_summaries(data: Simulation, kernel: Kernel) -> list[Summary]:
    """Compute what every site sends.

    Parameters
    ----------
    data : Simulation
        Rows.
    kernel : Smooth or Slices
        Our kernel, or the paper's slices of 20 rows.

    Returns
    -------
    list of Summary
        One per site with rows. A site with too few rows for slices has a covariance
        only.
    """
    return [
        summarize(
            data.X[data.sites == site],
            data.y[data.sites == site],
            kernel=kernel,
            on_degenerate="zero",
        )
        for site in np.unique(data.sites)
    ]


def _fit(method: str, data: Simulation, seed: int) -> Fit:
    if method not in WAYS:
        return _FITS[method](data, seed)
    rows = np.ones(len(data.y), dtype=bool)
    if method in HOLD_OUT_WAYS:
        # A site of one to three rows cannot hold any out.
        rows = np.bincount(data.sites)[data.sites] > TOO_FEW
    X, y, sites = data.X[rows], data.y[rows], data.sites[rows]
    return _answer(estimators.fed_ssir(method, seed).fit(X, y, sites=sites))


def _total(data: Simulation, kernel: Kernel) -> Summary:
    parts = site_summaries(data, kernel)
    return sum(parts[1:], start=parts[0])


def _oracle(data: Simulation, kernel: Kernel) -> Fit:
    """Fit plain SIR to the true variables, K known."""
    total = _total(data, kernel)
    return refit_directions(total, data.support, data.n_directions)[0], data.support


def _likelihood(data: Simulation, _: int) -> Fit:
    """Maximise the likelihood, given the true variables and links; models 1 and 2.

    Both are linear in x, the second after a logarithm and with a smaller slope. Sites
    have intercepts of their own, as all methods that centre have.
    """
    directions = np.zeros((data.X.shape[1], 1))
    if not set(data.models) <= {1, 2}:
        return np.full_like(directions, np.nan), data.support
    active = np.flatnonzero(data.support)
    blocks, responses = [], []
    for site in np.unique(data.sites):
        rows = data.sites == site
        X, y = data.X[np.ix_(rows, active)], data.y[rows]
        if data.models[site] == 2:
            X, y = X / np.sqrt(3), np.log(y)
        blocks.append(X - X.mean(axis=0))
        responses.append(y - y.mean())
    X, y = np.concatenate(blocks), np.concatenate(responses)
    directions[active, 0] = np.linalg.lstsq(X, y, rcond=None)[0]
    return directions, data.support


def _best_rho(data: Simulation, _: int) -> Fit:
    rate = np.sqrt(np.log(data.X.shape[1]) / len(data.X))
    penalties = rate * np.geomspace(1.6, 0.2, 7)
    total = _total(data, Slices())
    candidates = candidates_on_path(
        total, data.n_directions, penalties, refit=False, tol=1e-4
    )[1]
    distances = [subspace_distance(found, data.B) for found in candidates]
    best = candidates[int(np.argmin(distances))]
    return best, np.asarray(best.any(axis=1))


def _known_k(data: Simulation, seed: int) -> Fit:
    model = estimators.fed_ssir_known_k(data.n_directions, seed)
    return _answer(model.fit(data.X, data.y, sites=data.sites))


def _paper_rate(data: Simulation, _: int) -> Fit:
    model = estimators.fed_ssir_paper_rate(data.n_directions, *data.X.shape)
    return _answer(model.fit(data.X, data.y, sites=data.sites))


def _lasso_sir(data: Simulation, seed: int) -> Fit:
    return _answer(estimators.lasso_sir(seed).fit(data.X, data.y))


def _ssir(data: Simulation, seed: int) -> Fit:
    return _answer(estimators.ssir(seed).fit(data.X, data.y))


def _ssir_centred(data: Simulation, seed: int) -> Fit:
    return _answer(estimators.ssir(seed).fit(data.X, data.y, sites=data.sites))


def _ssir_shipped(data: Simulation, seed: int) -> Fit:
    return _answer(estimators.ssir(seed, as_shipped=True).fit(data.X, data.y))


def _answer(model: Any) -> Fit:
    return model.directions_, model.support_


_FITS: dict[str, Callable[[Simulation, int], Fit]] = {
    "default-known-k": _known_k,
    "best-rho": _best_rho,
    "paper-rate": _paper_rate,
    "oracle-smooth": lambda data, _: _oracle(data, Smooth()),
    "oracle-slices": lambda data, _: _oracle(data, Slices()),
    "oracle-likelihood": _likelihood,
    "lasso-sir": _lasso_sir,
    "ssir-shipped": _ssir_shipped,
    "ssir-pooled": _ssir,
    "ssir-centred": _ssir_centred,
}
