"""Attack the noise of private sums: try to tell neighbouring data sets apart.

The adversary sees more than any party of a study: the noisy centre of the site as well
as its noisy products, and all rows but one. It computes the likelihood ratio of both
data sets from what it sees, separately for both, and weighs the two by how well each of
them tells the data sets apart.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import beta

from fedsdr.privacy import noise_multiplier
from fedsdr.privacy.noise_budget import BITS
from fedsdr.privacy.privacy_value import Privacy
from fedsdr.questions import PrivateMoments
from fedsdr.rows import MemoryRows
from fedsdr.terms import Terms

#: Probability that a bound of the audit is wrong, over all its thresholds together.
LEVEL = 1e-4

#: Thresholds, as quantiles of the ratio under the smaller data set.
QUANTILES = (0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9995)


#: From noise, and what it is added to, to the noise of a broken site.
Spoil = Callable[[Any, str], Any]


def as_it_is(noise: Any, _: str) -> Any:
    """Return the noise of the code as it is."""
    return noise


def a_tenth(noise: Any, _: str) -> Any:
    """Return a tenth of the noise."""
    return noise / 10


def no_centre_noise(noise: Any, part: str) -> Any:
    """Return the noise of a site that centres its rows on their exact mean."""
    return 0 if part == "centre" else noise


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


def audit(privacy: Privacy, n_samples: int, spoil: Spoil = as_it_is) -> Audit:
    """Measure how well an adversary tells a site from its neighbour.

    Parameters
    ----------
    privacy : Privacy
        What is promised.
    n_samples : int
        Number of answers that are drawn from each of the two data sets.
    spoil : callable, default=as_it_is
        What becomes of the noise in centres and in products: the identity for the code
        as it is, something else for one that is broken.

    Returns
    -------
    Audit
        With `epsilon` above the stated one if the noise is too small.
    """
    question = PrivateMoments(Terms(2, privacy=privacy))
    pair = neighbours(privacy)
    parts = [_ratios(question, own, pair, n_samples, spoil) for own in pair]
    half = n_samples // 2
    weights = _discriminant(parts[0][:half], parts[1][:half])
    first, second = (one @ weights for one in parts)
    pooled = np.sqrt((first[half:].var() + second[half:].var()) / 2)
    gap = second[half:].mean() - first[half:].mean()
    forward = epsilon_bound(first, second, privacy.delta)
    # The other direction: larger to smaller data set, at small ratios.
    backward = epsilon_bound(-second, -first, privacy.delta)
    stated = 1.0 / noise_multiplier(privacy.epsilon, privacy.delta)
    return Audit(max(forward, backward), float(gap / max(pooled, 1e-12)), stated)


def _discriminant(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Weigh centres and products by how well they tell the data sets apart."""
    spread = (first.var(axis=0) + second.var(axis=0)) / 2
    gap = second.mean(axis=0) - first.mean(axis=0)
    return gap / np.maximum(spread, 1e-9 * gap**2)


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
    spoil: Spoil,
) -> np.ndarray:
    """Compute the log likelihood ratios of centres and products of many answers."""
    budget = question.budget
    upper = np.triu_indices(question.bounds.size)
    variances = np.where(upper[0] == upper[1], 2.0, 1.0) * float(budget.site_variance)
    exact = [question.bounds.add_centres(one.X, one.y) for one in pair]
    own = exact[0] if rows is pair[0] else exact[1]
    moved = np.subtract(exact[1], exact[0], dtype=np.float64)
    moved /= float(budget.centre_variance)
    found = np.empty((n_samples, 2))
    for i in range(n_samples):
        drawn = question.draw_centre(rows)
        seen = [
            o + round(spoil(s - o, "centre")) for s, o in zip(drawn, own, strict=True)
        ]
        centre = question.centre_of(seen)
        products = [question.add_rows(one, centre) for one in pair]
        mine = products[0] if rows is pair[0] else products[1]
        noise = question.add_noise(mine)[:-1] * 4.0**BITS - mine[upper]
        answer = mine[upper] + spoil(noise, "products")
        small = products[0][upper].astype(np.float64)
        step = (products[1][upper] - small) / variances
        found[i, 0] = np.subtract(seen, exact[0], dtype=np.float64) @ moved
        # Half of the squared distance is subtracted, since it depends on the centre.
        found[i, 1] = step @ (answer - small) - step @ (step * variances) / 2
    return found
