"""Fits with differential privacy: variables found, noise measured, promise attacked.

Run with ``make bench-privacy`` or ``python -m benchmarks.privacy``.
"""

import warnings
from argparse import ArgumentParser
from pathlib import Path
from typing import ClassVar

import numpy as np

from benchmarks.ledger import Ledger, Row
from benchmarks.privacy_audit import Spoil, a_tenth, as_it_is, audit, no_centre_noise
from fedsdr.estimators.masked_sites import join_under_masks
from fedsdr.method import Method
from fedsdr.metrics import subspace_distance
from fedsdr.privacy.noise_budget import BITS
from fedsdr.privacy.privacy_value import Privacy
from fedsdr.questions import PrivateMoments
from fedsdr.questions.triangles import from_triangle
from fedsdr.rows import MemoryRows, OwnSites
from fedsdr.run import run
from fedsdr.secure_sum.agreement import Agreement, usual_threshold
from fedsdr.simulate import Simulation, make_setting
from fedsdr.terms import Variables

RESULTS = Path(__file__).parent / "results"
KEY = ("part", "setting", "n_rows", "epsilon", "honest")
N_SITES, N_FEATURES, DELTA = 10, 30, 1e-6

#: Rows of the settings are not bounded. Sites have means of variance 2, so ranges of 8
#: (standard deviations of a column within a site) to each side are rarely left; rows
#: are shortened to 0.16 * 8 * sqrt(30) = 7, where a typical one has the length 5.5.
RANGES, RADIUS = (-8.0, 8.0), 0.16
RESPONSES = {1: (-14.0, 14.0), 3: (-6.0, 6.0)}

#: Setting, rows, epsilon, and the share of the runs that it gets.
CASES = (
    (1, 20_000, 1.0, 1.0),
    (1, 10_000, 1.0, 0.25),
    (1, 20_000, 0.5, 0.25),
    (3, 100_000, 1.0, 0.1),
)

#: What is attacked, and the share of the answers that is drawn.
ATTACKED = {
    "as it is": (as_it_is, 1.0),
    "a tenth of the noise": (a_tenth, 0.05),
    "no noise in centres": (no_centre_noise, 0.05),
}

#: Columns of the tables, and where they come from.
FITS = {
    "setting": "setting",
    "N": "n_rows",
    "epsilon": "epsilon",
    "noise of": "honest",
    "runs": "runs",
    "support right": "support_right",
    "K right": "dimension_right",
    "false": "false_variables",
    "missed": "missed_variables",
    "distance": "distance",
    "penalty": "penalty",
    "noise": "noise_sd_covariance",
    "sampling": "sampling_sd",
}
NOISE = {
    "noise of": "honest",
    "sums": "runs",
    "numbers": "noise_values",
    "beside the diagonal": "noise_ratio",
    "on the diagonal": "diagonal_ratio",
}
AUDIT = {
    "code": "part",
    "answers": "runs",
    "epsilon": "audit_epsilon",
    "distance": "audit_distance",
    "stated distance": "stated_distance",
}


def main() -> None:
    """Measure what is not measured yet, and write the tables."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--samples", type=int, default=100_000)
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--only", choices=("fits", "noise", "audit"))
    given = parser.parse_args()
    ledger = Ledger(
        RESULTS / "privacy.csv", fresh=given.fresh, key=KEY, source="src/fedsdr/privacy"
    )
    study = tolerant()
    for setting, n_rows, epsilon, share in CASES:
        if given.only not in (None, "fits"):
            break
        runs = max(round(share * given.runs), 1)
        for honest in (study, N_SITES):
            key = _key("fits", setting, n_rows, epsilon, honest)
            ledger.measure(key, lambda key=key, runs=runs: fits(runs, key))
    if given.only in (None, "noise"):
        for honest in (study, N_SITES):
            key = _key("noise", 1, 20_000, 1.0, honest)
            ledger.measure(key, lambda key=key: noise(given.runs, key))
    if given.only in (None, "audit"):
        for name, (spoil, share) in ATTACKED.items():
            key, n_samples = (
                _key(name, "audit", 5, 1.0, 1),
                round(share * given.samples),
            )
            ledger.measure(key, lambda n=n_samples, spoil=spoil: attack(n, spoil))
    print(write_tables(ledger, RESULTS / "privacy.md"))


def _key(part: str, setting: object, n_rows: int, epsilon: float, honest: int) -> Row:
    values = (part, setting, n_rows, epsilon, honest)
    return dict(zip(KEY, values, strict=True))


def tolerant() -> int:
    """Return how many sites' noise must be enough in a study with default threshold."""
    roster = {f"site-{i}": bytes([i]) * 32 for i in range(N_SITES)}
    agreement = Agreement("00" * 32, roster, usual_threshold(N_SITES))
    return agreement.threshold - agreement.tolerated


def promise(key: Row) -> Privacy:
    """Return the promise of a case."""
    return Privacy(
        epsilon=key["epsilon"],
        delta=DELTA,
        ranges=RANGES,
        response=RESPONSES[key["setting"]],
        radius=RADIUS,
    )


def sites_of(data: Simulation, honest: int) -> OwnSites:
    """Give each site its rows."""
    rows = {
        f"site-{i}": MemoryRows(
            data.X[data.sites == i], data.y[data.sites == i], np.random.default_rng(i)
        )
        for i in range(N_SITES)
    }
    names = tuple(f"x{j}" for j in range(N_FEATURES))
    return OwnSites(rows, Variables(names, honest=honest))


def draw(key: Row, seed: int) -> Simulation:
    """Simulate the rows of one run."""
    return make_setting(
        key["setting"],
        n_sites=N_SITES,
        n_per_site=key["n_rows"] // N_SITES,
        n_features=N_FEATURES,
        random_state=seed,
    )


def fits(n_runs: int, key: Row) -> Row:
    """Fit with all messages of a study, under masks."""
    method = Method(privacy=promise(key))
    right, dimension, false, missed, distance, penalty = [], [], [], [], [], []
    for seed in range(n_runs):
        data = draw(key, 3_000_000 + seed)
        own = sites_of(data, key["honest"])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            adder, _ = join_under_masks(own, method.terms(own.variables))
            found = run(adder, method)
        right.append(np.array_equal(found.support, data.support))
        dimension.append(found.directions.shape[1] == data.n_directions)
        false.append(int((found.support & ~data.support).sum()))
        missed.append(int((data.support & ~found.support).sum()))
        distance.append(subspace_distance(found.directions, data.B))
        penalty.append(found.penalty)
    noise = found.settings["noise"]
    return {
        "runs": n_runs,
        "support_right": float(np.mean(right)),
        "dimension_right": float(np.mean(dimension)),
        "false_variables": float(np.mean(false)),
        "missed_variables": float(np.mean(missed)),
        "distance": float(np.mean(distance)),
        "penalty": float(np.mean(penalty)),
        "noise_sd_covariance": noise["noise_sd_covariance"],
        "sampling_sd": noise["sampling_sd"],
        "effective_rows": noise["effective_rows"],
    }


class Recorded(PrivateMoments):
    """Private sums that also keep the products without noise."""

    kept: ClassVar[list[np.ndarray]] = []

    def add_noise(self, products: np.ndarray) -> np.ndarray:
        """Keep the products, and add noise to them."""
        self.kept.append(products)
        return super().add_noise(products)


def noise(n_runs: int, key: Row) -> Row:
    """Compare the noise of sums over sites with that which the accountant asked for."""
    method = Method(privacy=promise(key))
    own = sites_of(draw(key, 3_000_000), key["honest"])
    question = Recorded(method.terms(own.variables))
    beside, diagonal = [], []
    upper = np.triu_indices(question.bounds.size)
    for _ in range(n_runs):
        Recorded.kept.clear()
        sums = from_triangle(own(question)[:-1], upper) * 4.0**BITS
        rest = sums - np.sum(Recorded.kept, axis=0)
        beside.append(rest[np.triu_indices(len(rest), 1)])
        diagonal.append(np.diag(rest))
    wanted = float(question.budget.product_variance) * N_SITES / key["honest"]
    return {
        "runs": n_runs,
        "noise_ratio": float(np.std(beside) / np.sqrt(wanted)),
        "diagonal_ratio": float(np.std(diagonal) / np.sqrt(2 * wanted)),
        "noise_values": int(np.size(beside)),
    }


def attack(n_samples: int, spoil: Spoil) -> Row:
    """Try to tell neighbouring data sets apart."""
    stated = Privacy(epsilon=1.0, delta=DELTA, ranges=(-1, 1), response=(-1, 1))
    found = audit(stated, n_samples, spoil)
    return {
        "runs": n_samples,
        "audit_epsilon": found.epsilon,
        "audit_distance": found.distance,
        "stated_distance": found.stated,
    }


def write_tables(ledger: Ledger, path: Path) -> str:
    """Write the measurements, and return the text."""
    first = ledger.rows[0]
    fitted = [row for row in ledger.rows if row["part"] == "fits"]
    noisy = [row for row in ledger.rows if row["part"] == "noise"]
    tried = [row for row in ledger.rows if row["setting"] == "audit"]
    lines = [
        "# Fits with differential privacy",
        "",
        f"`python -m benchmarks.privacy`, commit {first['commit']}, {first['date']}.",
        f"{N_SITES} sites, d = {N_FEATURES}, delta = {DELTA:g}, sums under masks,",
        "seeds from 3,000,000. Rows of these settings are not bounded: ranges of",
        f"columns are {RANGES}, values outside are moved to the nearer end, and rows",
        "are shortened to the length 7 about the noisy mean of their site. `noise of`",
        f"says how many sites' noise must be enough: {tolerant()} in a study with the",
        f"default threshold (3 sites lost, 3 colluding), {N_SITES} if all sites are",
        "one analyst's. Noise and sampling: standard deviations of a correlation, in",
        "the last run.",
        "",
        *_table(FITS, fitted),
        "",
        "## Noise",
        "",
        "Standard deviation of the noise in sums over all sites (setting 1, N =",
        "20,000, epsilon 1), relative to that which the accountant asked for; it must",
        "be between 0.95 and 1.05.",
        "",
        *_table(NOISE, noisy),
        "",
        "## Attack",
        "",
        "An adversary who knows all rows of a site but one, and sees its noisy centre",
        "and its noisy products, computes the likelihood ratio of the site with and",
        "without that row, which is as long as a row can be. `epsilon` is the lower",
        "confidence bound (99.99 %) of what it proves at delta = 1e-6; stated is 1.",
        "The distance of the two distributions, in standard deviations, may be at",
        "most the stated one, up to sampling. The same attack on broken code must",
        "prove more than 1.",
        "",
        *_table(AUDIT, tried),
    ]
    text = "\n".join([*lines, ""])
    path.write_text(text)
    return text


def _table(columns: dict[str, str], rows: list[Row]) -> list[str]:
    head = [f"| {' | '.join(columns)} |", f"|{'--:|' * len(columns)}"]
    return head + [
        f"| {' | '.join(str(row[name]) for name in columns.values())} |" for row in rows
    ]


if __name__ == "__main__":
    main()
