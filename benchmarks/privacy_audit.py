"""Attack the noise of private sums: try to tell neighbouring data sets apart.

The adversary sees more than any party of a study: the noisy centre of the site as well
as its noisy products, and all rows but one. It computes the likelihood ratio of both
data sets from what it sees, which no other test can beat where noise is Gaussian.
"""

from dataclasses import dataclass

import numpy as np
from scipy.stats import beta

from fedsdr.method import Privacy, Terms
from fedsdr.privacy import noise_multiplier
from fedsdr.privacy.noise_budget import BITS
from fedsdr.questions import PrivateMoments
from fedsdr.rows import MemoryRows

#: Probability that a bound of the audit is wrong, over all its thresholds together.
LEVEL = 1e-4

#: Thresholds, as quantiles of the ratio under the smaller data set.
QUANTILES = (0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9995)


@dataclass(frozen=True)
class Audit:
    """What an adversary could prove.

    Parameters
    ----------
    epsilon : float
        Lower confidence bound of epsilon, at the stated delta.
    distance : float
        Measured distance of the two distributions of the likelihood ratio, in standard
        deviations.
    stated : float
        The largest distance that the accountant allows, one over the multiplier.
    """

    epsilon: float
    distance: float
    stated: float


def neighbours(privacy: Privacy, n_rows: int = 5) -> tuple[MemoryRows, MemoryRows]:
    """Make a site, and the same site with one row more that is as long as can be."""
    rng = np.random.default_rng(7)
    low, high = privacy.ranges[0]
    d = 2
    X = rng.uniform(low, high, size=(n_rows, d))
    own_low, own_high = privacy.response or (0.0, 1.0)
    y = rng.uniform(own_low, own_high, size=n_rows)
    longest = np.vstack([X, np.full((1, d), high)])
    return (
        MemoryRows(X, y, rng),
        MemoryRows(longest, np.append(y, own_high), rng),
    )


def audit(privacy: Privacy, n_samples: int, *, shrink: int = 1) -> Audit:
    """Measure how well an adversary tells a site from its neighbour.

    Parameters
    ----------
    privacy : Privacy
        What is promised.
    n_samples : int
        Number of answers that are drawn from each of the two data sets.
    shrink : int, default=1
        Divisor of the noise that the site draws: 1 for the code as it is, more for one
        that is broken.

    Returns
    -------
    Audit
        With `epsilon` above the stated one if the noise is too small.
    """
    question = PrivateMoments(Terms(2, privacy=privacy))
    small, large = neighbours(privacy)
    ratios = [
        _ratios(question, own, (small, large), n_samples, shrink)
        for own in (small, large)
    ]
    pooled = np.sqrt((ratios[0].var() + ratios[1].var()) / 2)
    distance = (ratios[1].mean() - ratios[0].mean()) / pooled
    forward = epsilon_bound(*ratios, privacy.delta)
    # The other direction: larger to smaller data set, at small ratios.
    backward = epsilon_bound(-ratios[1], -ratios[0], privacy.delta)
    stated = 1.0 / noise_multiplier(privacy.epsilon, privacy.delta)
    return Audit(max(forward, backward), float(distance), stated)


def epsilon_bound(first: np.ndarray, second: np.ndarray, delta: float) -> float:
    """Return a lower confidence bound of epsilon from samples of a statistic.

    Half of the samples choose the threshold at which the second one is most often
    larger, the other half gives the bound (Clopper and Pearson).
    """
    half, other = len(first) // 2, len(second) // 2
    best, chosen = -np.inf, float(np.median(first[:half]))
    for threshold in np.quantile(first[:half], QUANTILES):
        found = _bound(
            first[:half] > threshold, second[:other] > threshold, delta, LEVEL
        )
        if found > best:
            best, chosen = found, float(threshold)
    return _bound(first[half:] > chosen, second[other:] > chosen, delta, LEVEL)


def _bound(first: np.ndarray, second: np.ndarray, delta: float, level: float) -> float:
    n, m = first.size, second.size
    most = beta.ppf(1 - level / 2, first.sum() + 1, max(n - first.sum(), 1e-9))
    least = beta.ppf(level / 2, max(second.sum(), 1e-9), m - second.sum() + 1)
    return float(np.log(max(least - delta, 1e-300) / most))


def _ratios(
    question: PrivateMoments,
    rows: MemoryRows,
    pair: tuple[MemoryRows, MemoryRows],
    n_samples: int,
    shrink: int,
) -> np.ndarray:
    """Compute the likelihood ratio of many answers of one site."""
    budget = question.budget
    upper = np.triu_indices(question.bounds.size)
    weights = np.where(upper[0] == upper[1], 2.0, 1.0) * float(budget.site_variance)
    plain = [question.bounds.add_centres(one.X, one.y) for one in pair]
    moved = np.subtract(plain[1], plain[0], dtype=np.float64)
    own = question.bounds.add_centres(rows.X, rows.y)
    found = np.empty(n_samples)
    for i in range(n_samples):
        seen = question.draw_centre(rows)
        if shrink > 1:
            seen = [o + (s - o) // shrink for s, o in zip(seen, own, strict=True)]
        centre = question.centre_of(seen)
        products = [question.add_rows(one, centre) for one in pair]
        mine = products[0] if rows is pair[0] else products[1]
        answer = question.add_noise(mine)[:-1] * 4.0**BITS
        if shrink > 1:
            answer = mine[upper] + (answer - mine[upper]) / shrink
        small = products[0][upper].astype(np.float64)
        step = products[1][upper] - small
        found[i] = (np.subtract(seen, plain[0], dtype=np.float64) @ moved) / float(
            budget.centre_variance
        ) + ((answer - small) * step / weights).sum()
        # The ratio of two Gaussians is this minus half of the squared distance, which
        # depends on the centre.
        found[i] -= (step**2 / weights).sum() / 2
    return found
