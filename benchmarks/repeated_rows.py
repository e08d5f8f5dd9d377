"""Subjects with several rows: how often noise is rejected, with and without groups.

Run with ``python -m benchmarks.repeated_rows``; it takes a minute or two, and writes
``benchmarks/results/repeated_rows.md``.
"""

import argparse
import shlex
import sys
import warnings
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks.half_tests import Array, run_half_tests
from benchmarks.ledger import last_commit
from fedsdr.inference.variable_tests import combine

RESULTS = Path(__file__).parent / "results"

#: Settled on seeds below 10,000; reported on these.
FIRST_SEED = 2_700_000

N_SUBJECTS, N_REPEATS, N_FEATURES, N_TRUE = 100, 5, 8, 2
LEVEL = 0.05


@dataclass(frozen=True, slots=True, eq=False)
class RepeatSample:
    """Rows of subjects.

    Parameters
    ----------
    X, y, subjects : ndarray
        Rows; y depends on the first two columns.
    """

    X: Array
    y: Array
    subjects: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class RepeatDesign:
    """How alike the rows of a subject are.

    Parameters
    ----------
    share : float
        Share of the variance, of x and of the noise of y, between subjects; 1 for
        copies.
    """

    share: float

    def draw(self, seed: int) -> RepeatSample:
        """Draw 100 subjects with five rows each.

        Parameters
        ----------
        seed : int
            Seed.

        Returns
        -------
        RepeatSample
            Rows.
        """
        rng = np.random.default_rng([seed, N_SUBJECTS])
        subjects = np.repeat(np.arange(N_SUBJECTS), N_REPEATS)
        between = rng.standard_normal((N_SUBJECTS, N_FEATURES + 1))[subjects]
        within = rng.standard_normal(between.shape)
        both = np.sqrt(self.share) * between + np.sqrt(1 - self.share) * within
        X, noise = both[:, :-1], both[:, -1]
        return RepeatSample(X, X[:, :N_TRUE].sum(axis=1) + noise, subjects)


REPEATS = {"copies": RepeatDesign(1.0), "correlated": RepeatDesign(0.7)}


def half_tests(sample: RepeatSample, seed: int, *, grouped: bool) -> Array:
    """Compute the p-values of all halves, at two sites.

    Parameters
    ----------
    sample : RepeatSample
        Rows.
    seed : int
        Seed of the halves.
    grouped : bool
        Whether the subjects are named.

    Returns
    -------
    ndarray of shape (n_halves, n_features)
        p-values.
    """
    groups = sample.subjects if grouped else None
    sites = sample.subjects % 2
    return run_half_tests(sample.X, sample.y, sites, seed, groups=groups).p_values


def main(arguments: list[str] | None = None) -> int:
    """Draw, test and write the page.

    Parameters
    ----------
    arguments : list of str or None, default=None
        Words of the command line; those of this process if None.

    Returns
    -------
    int
        Always 0.
    """
    words = sys.argv[1:] if arguments is None else arguments
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100, help="samples per design")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder")
    options = parser.parse_args(words)
    command = shlex.join(["python", "-m", "benchmarks.repeated_rows", *words])
    page = _page(options.runs, command)
    (options.out / "repeated_rows.md").write_text(page)
    print(page)
    return 0


def _page(n_runs: int, command: str) -> str:
    commit = last_commit("src/fedsdr")
    lines = [
        "# Subjects with several rows",
        "",
        f"Command: `{command}`. Commit: {commit}. Date: {datetime.now(UTC):%Y-%m-%d}.",
        "",
        f"{N_SUBJECTS} subjects with {N_REPEATS} rows each at two sites, {N_FEATURES}",
        f"columns of which y depends on {N_TRUE}; {n_runs} samples, seeds from",
        f"{FIRST_SEED:,}. Copies: all rows of a subject are equal. Correlated: 70 % of",
        "the variance, of x and of the noise, is between subjects. In percent: noise",
        "variables that tests at 5 % reject (bound 6), in single halves and combined,",
        "and true ones that combined tests find.",
        "",
        "| rows of a subject | groups | single halves | combined | power |",
        "|---|---|---|---|---|",
    ]
    for kind, design in REPEATS.items():
        for grouped in (False, True):
            single, both, power = [], [], []
            with threadpool_limits(limits=1), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for seed in range(FIRST_SEED, FIRST_SEED + n_runs):
                    p = half_tests(design.draw(seed), seed, grouped=grouped)
                    noise, combined = p[:, N_TRUE:], combine(p) <= LEVEL
                    single.append(np.mean(noise[noise < 1.0] <= LEVEL))
                    both.append(combined[N_TRUE:].mean())
                    power.append(combined[:N_TRUE].mean())
            cells = (_with_error(one) for one in (single, both, power))
            named = "yes" if grouped else "no"
            lines.append(f"| {' | '.join([kind, named, *cells])} |")
    return "\n".join([*lines, ""])


def _with_error(values: list[float]) -> str:
    rates = 100 * np.asarray(values)
    return f"{rates.mean():.1f} +- {rates.std(ddof=1) / np.sqrt(rates.size):.1f}"


if __name__ == "__main__":
    sys.exit(main())
