"""Compare fits with and without normal scores, on skewed and on normal columns.

``python -m benchmarks.column_scores`` writes ``results/column_scores.md``. Beside the
scores that sites agree on by sums stand exact ones: normal scores of the ranks over the
pooled rows, which nobody could compute in a federation.
"""

import argparse
import subprocess
import time
import warnings
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri
from scipy.stats import poisson, rankdata

from fedsdr import FedSSIR
from fedsdr.metrics import subspace_distance
from fedsdr.simulate import make_setting

HERE = Path(__file__).parent
Array = NDArray[Any]
N_SITES, N_PER_SITE, D, ACTIVE = 5, 100, 100, 4
WAYS = ("none", "normal", "ranks")


def autoregressive(rng: np.random.Generator, n_rows: int) -> Array:
    """Draw standard normal columns with correlation 0.5 between neighbours."""
    z = rng.normal(size=(n_rows, D))
    for j in range(1, D):
        z[:, j] = 0.5 * z[:, j - 1] + np.sqrt(0.75) * z[:, j]
    return z


def rare(z: Array, share: float) -> Array:
    """Return indicators of the largest values."""
    return (z > ndtri(1.0 - share)).astype(float)


def every(z: Array, *shapes: Callable[[Array], Array]) -> Array:
    """Give each column the next shape, in turns."""
    x = np.empty_like(z)
    for place, shape in enumerate(shapes):
        x[:, place :: len(shapes)] = shape(z[:, place :: len(shapes)])
    return x


def counts(z: Array) -> Array:
    """Return Poisson counts with mean 1."""
    return np.asarray(poisson.ppf(ndtr(z), 1.0), dtype=float)


SHAPES: dict[str, Callable[[Array], Array]] = {
    "normal": lambda z: z,
    "exp(z)": np.exp,
    "z^2": np.square,
    "Poisson(1)": counts,
    "2 % dummies in every second column": lambda z: every(
        z, lambda own: own, lambda own: rare(own, 0.02)
    ),
    "mixed: exp(z), Poisson(1), 20 % dummies, normal": lambda z: every(
        z, np.exp, counts, lambda own: rare(own, 0.2), lambda own: own
    ),
}


def draw(name: str, seed: int) -> tuple[Array, Array, Array, Array, Array]:
    """Draw rows, responses, sites, and the true directions of standardised columns."""
    if name.startswith("setting"):
        data = make_setting(int(name[8]), n_features=D, random_state=900 + seed)
        # Of log-normal columns, the response is a function of the logarithms.
        X = np.exp(data.X) if "exp" in name else data.X
        return X, data.y, data.sites, data.B, within(data.X, data.sites)
    rng = np.random.default_rng([77, seed])
    X = SHAPES[name](autoregressive(rng, N_SITES * N_PER_SITE))
    spread = X.std(axis=0)
    signal = (X[:, :ACTIVE] / np.maximum(spread[:ACTIVE], 1e-9)).sum(axis=1)
    y = signal / signal.std() + 0.5 * rng.normal(size=len(X))
    B = np.zeros((D, 1))
    B[:ACTIVE] = 1.0
    return X, y, np.repeat(np.arange(N_SITES), N_PER_SITE), B, np.ones(D)


def within(X: Array, sites: Array) -> Array:
    """Return the spread of each column within sites."""
    return np.sqrt(np.mean([X[sites == i].var(axis=0) for i in set(sites)], axis=0))


def measure(name: str, seed: int) -> dict[str, tuple[float, ...]]:
    """Fit in every way: Dist, K right, true and false variables, selection."""
    X, y, sites, B, units = draw(name, seed)
    truth, found = B.any(axis=1), {}
    for way in WAYS:
        rows, scores = X, way
        if way == "ranks":
            rows = ndtri((rankdata(X, axis=0) - 0.5) / len(X))
            scores = "none"
        model = FedSSIR(scores=scores).fit(rows, y, sites=sites)
        if model.result_.scores is not None:
            rows = model.result_.scores.apply(rows)
        # Coefficients of columns whose spread within sites is that of the truth.
        directions = model.directions_ * (within(rows, sites) / units)[:, None]
        support = model.support_
        found[way] = (
            subspace_distance(directions, B),
            float(model.n_directions_ == B.shape[1]),
            float(support[truth].mean()),
            float(support[~truth].sum()),
            *support.astype(float),
        )
    return found


def line(name: str, runs: int) -> str:
    """Run one design, and write its row of the table."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        every_run = [measure(name, seed) for seed in range(runs)]
    cells = []
    for way in WAYS:
        mean = np.mean([one[way][:4] for one in every_run], axis=0)
        cells.append(
            f"{mean[0]:.3f}, {mean[1]:.0%}, {mean[2]:.2f}, {mean[3]:.2f}".replace(
                "%", " %"
            )
        )
    normal = np.array([one["normal"] for one in every_run])
    ranks = np.array([one["ranks"] for one in every_run])
    differ = np.abs(normal[:, 4:] - ranks[:, 4:]).sum(axis=1)
    gap = np.abs(normal[:, 0] - ranks[:, 0])
    none = np.mean([one["none"][0] for one in every_run])
    cells.append(f"{normal[:, 0].mean() / none:.2f}")
    cells.append(f"{int((differ > 0).sum())} of {runs}, {differ.max():.0f}")
    cells.append(f"{np.median(gap):.3f}, {gap.max():.3f}")
    return f"| {name} | " + " | ".join(cells) + " |"


def main() -> None:
    """Run all designs, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    runs = parser.parse_args().runs
    paper = [f"setting {s}{more}" for s in (1, 3) for more in ("", ", exp(x)")]
    lines, start = [], time.perf_counter()
    for name in [*SHAPES, *paper]:
        lines.append(line(name, runs))
        print(lines[-1], f"{time.perf_counter() - start:.0f} s", flush=True)
    command = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(command, capture_output=True, check=True, text=True)
    page = PAGE.format(
        lines="\n".join(lines),
        runs=runs,
        commit=commit.stdout.strip(),
        date=datetime.now(UTC).date(),
    )
    (HERE / "results" / "column_scores.md").write_text(page, encoding="utf-8")


PAGE = """\
# Normal scores of columns

`FedSSIR(scores="none")`, `FedSSIR(scores="normal")`, and a fit on exact normal scores
of the ranks over all pooled rows; {runs} runs each. Cells: mean Dist, K right, share of
the true variables found, number of false ones. The last two columns compare "normal"
with "exact": runs with another selection, and the largest number of variables that
differ; the median and the largest difference of Dist.

| x | none | normal | exact, pooled | normal / none | other selection | other Dist |
|---|---|---|---|---|---|---|
{lines}

First rows: d = 100, 5 sites of 100 rows, z autoregressive with correlation 0.5, y the
sum of 4 standardised columns, at variance 1, plus noise of standard deviation 0.5. K is
right if it is 1. Last rows: the paper's settings with d = 100 and 10 sites of 100 rows,
whose means differ by more than the spread within a site; x normal, or its exponential.
Dist is that of the coefficients of columns at equal spread within sites.

Command: `python -m benchmarks.column_scores --runs {runs}`.
Commit: {commit}. Date: {date}.
"""

if __name__ == "__main__":
    main()
