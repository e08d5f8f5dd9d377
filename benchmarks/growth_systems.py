"""Fit one system to one simulated data set, in a process of its own.

``python -m benchmarks.growth_systems CASE SECONDS``, with a case in JSON, prints what
was measured in JSON. `benchmarks.growth` starts one such process per fit, so that a fit
can be stopped, and its memory is its own.
"""

import json
import math
import resource
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter, process_time

import cvxpy
import numpy as np
from scipy.signal import lfilter
from sklearn.linear_model import LassoCV, lasso_path
from threadpoolctl import threadpool_limits

from benchmarks.columns import factor_of
from fedsdr import SSIRCV, FedSSIR, LassoSIR
from fedsdr.metrics import subspace_distance, support_rates
from fedsdr.selection.penalties import universal_penalty
from fedsdr.solver import FactorSource, Problem, solve
from fedsdr.solver.linearized_admm import (
    CHECK_EVERY,
    bound_iterate,
    linearized_iterates,
)
from fedsdr.summaries import Summary, summarize
from fedsdr.summaries.slicing import Slices, slice_labels

# Relative gap to which one solution of eq2.10 is computed by every solver.
GAP = 1e-4
# True variables of every direction.
PER_DIRECTION = 3
# Largest memory of a fit, data included: conic solvers would ask for hundreds of GB.
MEMORY_GB = 8
# What this program returns where a fit needs more.
OUT_OF_MEMORY = 3

R_SCRIPT = """
suppressMessages(library(LassoSIR))
X <- as.matrix(read.csv("X.csv", header = FALSE)); y <- scan("y.csv", quiet = TRUE)
k <- as.integer(commandArgs(TRUE)[1])
t0 <- proc.time()
fit <- LassoSIR(X, y, H = 10, choosing.d = "given", no.dim = k)
cat((proc.time() - t0)[["user.self"]], "\\n")
write.table(as.matrix(fit$beta), "beta.csv", row.names = FALSE, col.names = FALSE)
"""


@dataclass(frozen=True)
class Case:
    """One fit.

    Parameters
    ----------
    system : str
        Name of the system, a key of `SYSTEMS`.
    n_rows, n_features, n_sites, n_directions : int
        Size of the data.
    seed : int
        Seed of the data.
    """

    system: str
    n_rows: int
    n_features: int
    n_sites: int
    n_directions: int
    seed: int


@dataclass(frozen=True)
class Draw:
    """Simulated rows with their truth; every column is centred within the sites."""

    X: np.ndarray
    y: np.ndarray
    sites: np.ndarray
    B: np.ndarray

    @property
    def n_directions(self) -> int:
        """True number of directions."""
        return self.B.shape[1]


Fit = Callable[[Draw], np.ndarray | None]


def draw(case: Case) -> Draw:
    r"""Draw AR(0.5) columns and a response that depends on K sums of three columns.

    Notes
    -----
    :math:`y = u_1 + e/2` for K = 1, :math:`y = u_1 / (0.5 + (u_2 + 1.5)^2) + e/2` for
    K = 2; for K > 2 the sign of :math:`u_3` (and of :math:`u_4`) shifts the second by 3
    (and by 6). Each :math:`u_k` has unit variance.
    """
    rng = np.random.default_rng(case.seed)
    n, d, k = case.n_rows, case.n_features, case.n_directions
    X = rng.standard_normal((n, d))
    X[:, 1:] *= np.sqrt(0.75)
    for row in X:
        row[:] = lfilter([1.0], [1.0, -0.5], row)
    B = np.zeros((d, k))
    for j in range(k):
        B[PER_DIRECTION * j : PER_DIRECTION * (j + 1), j] = 1.0
    u = X @ B
    u /= u.std(axis=0)
    signal = u[:, 0]
    if k > 1:
        signal = signal / (0.5 + (u[:, 1] + 1.5) ** 2)
    for j in range(2, k):
        signal = signal + 3.0 * (j - 1) * np.sign(u[:, j])
    y = signal + 0.5 * rng.standard_normal(n)
    sites = np.arange(n) % case.n_sites
    for site in range(case.n_sites):
        own = sites == site
        X[own] -= X[own].mean(axis=0)
        y[own] -= y[own].mean() if k == 1 else 0.0
    return Draw(X, y, sites, B)


def fit_fedsdr(data: Draw) -> np.ndarray:
    """Choose K and penalty, and fit, with all defaults."""
    return FedSSIR().fit(data.X, data.y, sites=data.sites).directions_


def fit_lasso_sir(data: Draw) -> np.ndarray:
    """Fit LassoSIR of this package with K given; its penalty is cross-validated."""
    model = LassoSIR(data.n_directions, random_state=0)
    return model.fit(data.X, data.y).directions_


def fit_lasso_sir_in_r(data: Draw) -> np.ndarray:
    """Fit the R package LassoSIR with K given."""
    with tempfile.TemporaryDirectory() as folder:
        np.savetxt(Path(folder) / "X.csv", data.X, delimiter=",")
        np.savetxt(Path(folder) / "y.csv", data.y)
        command = ["Rscript", "-e", R_SCRIPT, str(data.n_directions)]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
        return np.loadtxt(Path(folder) / "beta.csv", ndmin=2)


def fit_lasso_cv(data: Draw) -> np.ndarray:
    """Fit a lasso with 5 folds and 50 penalties."""
    return LassoCV(cv=5, alphas=50).fit(data.X, data.y).coef_[:, None]


def fit_lasso_path(data: Draw) -> None:
    """Compute one path of 50 lasso fits; nothing is chosen."""
    lasso_path(data.X, data.y, alphas=50)


def fit_ssir_as_shipped(data: Draw) -> np.ndarray:
    """Fit SSIR as its authors ship it, with their cross-validation."""
    return SSIRCV(as_shipped=True, random_state=0).fit(data.X, data.y).directions_


def solve_here(data: Draw) -> np.ndarray:
    """Solve eq2.10 once, with the solver of this package, from two d x d matrices."""
    total, penalty = _moments(data)
    found = solve(total.sigma, total.kernel, data.n_directions, penalty, tol=GAP)
    return found.directions


def solve_from_columns(data: Draw) -> np.ndarray:
    """Solve eq2.10 once, without the matrices: from columns as they are asked for."""
    n, d = data.X.shape
    own = [data.sites == site for site in np.unique(data.sites)]
    rows = [data.X[site] for site in own]
    labels = [slice_labels(data.y[site], Slices()) for site in own]
    # One column per slice, of length one: T is that of `summarize`.
    slices = [np.eye(label.max() + 1)[label] for label in labels]
    bases = [basis / np.sqrt(basis.sum(axis=0)) for basis in slices]
    source = FactorSource(rows, factor_of(rows, bases))
    found = solve(source, data.n_directions, universal_penalty(d, n), tol=GAP)
    return found.directions


def solve_by_admm(data: Draw) -> None:
    """Solve eq2.10 once, with the paper's linearised ADMM, until the gap is reached."""
    total, penalty = _moments(data)
    problem = Problem.checked(total.sigma, total.kernel, data.n_directions, penalty)
    for n_iter, iterate in enumerate(linearized_iterates(problem), start=1):
        due = n_iter % CHECK_EVERY == 0
        if due and bound_iterate(problem, iterate, n_iter).gap <= GAP:
            return


def solve_by_cvxpy(data: Draw, solver: str) -> None:
    """Solve eq2.10 once, as it is written, with a conic solver."""
    total, penalty = _moments(data)
    d, k = total.n_features, data.n_directions
    values, vectors = np.linalg.eigh(total.sigma)
    root = (vectors * np.sqrt(np.clip(values, 0.0, None))) @ vectors.T
    pi = cvxpy.Variable((d, d), PSD=True)
    h = root @ pi @ root
    goal = -cvxpy.trace(total.kernel @ pi) + penalty * cvxpy.sum(cvxpy.abs(pi))
    bounds = [cvxpy.lambda_max(h) <= 1, cvxpy.trace(h) <= k]
    options = {"eps": GAP} if solver == "SCS" else {}
    cvxpy.Problem(cvxpy.Minimize(goal), bounds).solve(solver=solver, **options)


def _moments(data: Draw) -> tuple[Summary, float]:
    total = sum(
        summarize(data.X[data.sites == site], data.y[data.sites == site])
        for site in np.unique(data.sites)
    )
    return total, universal_penalty(total.n_features, total.n_rows)


#: Systems by name. Those that choose nothing solve eq2.10 once, or follow one path;
#: where they do not end in directions, only their time is measured.
SYSTEMS: dict[str, Fit] = {
    "FedSSIR": fit_fedsdr,
    "LassoSIR, K given": fit_lasso_sir,
    "LassoSIR in R, K given": fit_lasso_sir_in_r,
    "LassoCV": fit_lasso_cv,
    "SSIR as shipped": fit_ssir_as_shipped,
    "lasso path": fit_lasso_path,
    "eq2.10 once: from columns": solve_from_columns,
    "eq2.10 once: from matrices": solve_here,
    "eq2.10 once: ADMM": solve_by_admm,
    "eq2.10 once: Clarabel": lambda data: solve_by_cvxpy(data, "CLARABEL"),
    "eq2.10 once: SCS": lambda data: solve_by_cvxpy(data, "SCS"),
}


def is_installed(system: str) -> bool:
    """Return whether a system can be run on this machine."""
    if "in R" not in system:
        return True
    if shutil.which("Rscript") is None:
        return False
    probe = ["Rscript", "-e", "library(LassoSIR)"]
    return subprocess.run(probe, capture_output=True).returncode == 0


def measure(case: Case, limit: float) -> dict[str, object]:
    """Simulate, fit within some CPU seconds, and compare with the truth."""
    data, system = draw(case), SYSTEMS[case.system]
    before = _peak_gb()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # The first call of a system also pays for its imports.
        system(draw(Case(case.system, 100, 5, 2, 1, case.seed)))
        start, begin = process_time(), perf_counter()
        _limit_seconds(start + limit)
        found = system(data)
        seconds, wall = process_time() - start, perf_counter() - begin
    row: dict[str, object] = {
        # Another program's seconds are not in those of this process.
        "seconds": wall if "in R" in case.system else seconds,
        "peak_gb": _peak_gb(),
        "data_gb": before,
    }
    if found is None:
        return row
    rates = support_rates(np.abs(found).max(axis=1) > 0, data.B.any(axis=1))
    distance = subspace_distance(found, data.B)
    return row | {"dist": distance, "tpr": rates.tpr, "fpr": rates.fpr}


def as_text(case: Case) -> str:
    """Write a case as the argument of this program."""
    return json.dumps(asdict(case))


def _limit_seconds(total: float) -> None:
    """Let the system end this process, and those it starts, after some CPU seconds."""
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(total), hard))


def _peak_gb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def main() -> None:
    """Measure the case that is named, within the memory that a fit may have."""
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_GB * 10**9,) * 2)
    case = Case(**json.loads(sys.argv[1]))
    try:
        with threadpool_limits(limits=1):
            print(json.dumps(measure(case, float(sys.argv[2]))))
    except MemoryError:
        sys.exit(OUT_OF_MEMORY)


if __name__ == "__main__":
    main()
