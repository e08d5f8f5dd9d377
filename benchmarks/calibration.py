"""Measure tests, false discovery rates and power.

Run with ``make calibration`` or ``python -m benchmarks.calibration``. Every fit is
recorded as soon as it is done; a second call continues where the first one stopped, and
repeats what was fitted with other code.
"""

import sys
import warnings
from functools import partial

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.calibration_designs import TEST_DESIGNS, TestDesign
from benchmarks.calibration_page import write_page
from benchmarks.calibration_rivals import knockoffs, lasso_splitting
from benchmarks.half_tests import run_half_tests, select_by_mirrors
from benchmarks.ledger import Row
from benchmarks.seeded import measure_seeds
from fedsdr.inference.variable_tests import combine, count_noise, q_values

#: The construction was settled on other seeds, all below this one.
FIRST_SEED = 2_960_000

LEVEL = 0.1
LEVELS = {"5": 0.05, "1": 0.01, "01": 0.001}


def main(arguments: list[str] | None = None) -> int:
    """Fit what is missing, and write the page.

    Parameters
    ----------
    arguments : list of str or None, default=None
        Words of the command line; those of this process if None.

    Returns
    -------
    int
        Always 0.
    """
    measures = {
        (name,): partial(test_once, design) for name, design in TEST_DESIGNS.items()
    }
    return measure_seeds(
        "calibration",
        measures,
        write_page,
        arguments,
        about=__doc__,
        runs=10,
        first_seed=FIRST_SEED,
    )


def test_once(design: TestDesign, seed: int) -> Row:
    """Test the variables of one sample, beside rivals.

    Parameters
    ----------
    design : TestDesign
        Where the rows come from.
    seed : int
        Seed.

    Returns
    -------
    dict
        Rejected noise variables: "c5", "c1", "c01" of "null" combined tests, and "t5",
        "t1", "t01" of "tested" tests of a single half; "fdp" and "power" at a false
        discovery rate of 10 %, also by mirror statistics and of rivals.
    """
    sample = design.draw(seed)
    n_features = sample.X.shape[1]
    null = np.setdiff1d(np.arange(n_features), sample.true)
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        halves = run_half_tests(
            sample.X, sample.y, sample.sites, seed, discrete=design.discrete
        )
        single = halves.p_values
        found = {
            "": np.asarray(q_values(combine(single), count_noise(single)) <= LEVEL),
            "mirror_": select_by_mirrors(halves.mirrors, LEVEL),
            "lasso_": lasso_splitting(sample, seed, LEVEL),
            "knockoffs_": knockoffs(sample, seed, LEVEL),
        }
    combined, alone = combine(single)[null], single[:, null]
    alone = alone[alone < 1.0]
    row: Row = {"null": null.size, "tested": alone.size}
    for word, level in LEVELS.items():
        row[f"c{word}"] = int((combined <= level).sum())
        row[f"t{word}"] = int((alone <= level).sum())
    for name, chosen in found.items():
        row[f"{name}fdp"] = float(chosen[null].sum() / max(chosen.sum(), 1))
        row[f"{name}power"] = (
            float(chosen[sample.true].mean()) if sample.true.size else 0.0
        )
    return row


if __name__ == "__main__":
    sys.exit(main())
