"""Whether all sites have one span, from counts of sites."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import bdtr, bdtrc, fdtri, ncfdtr, ndtr

from fedsdr.arrays import Vector
from fedsdr.estimation.alarms import FEWEST_JUDGED, OWN_SHARE
from fedsdr.summaries.site_agreement import Findings
from fedsdr.summaries.span_test import LEVELS


@dataclass(frozen=True, slots=True)
class OneSpan:
    """How many directions the sites need, and whether that fits one span for all.

    Parameters
    ----------
    needs : tuple of int
        Number of sites that need 1, 2, ..., K directions, and more than these.
    p_value : float
        Of the test that all sites have the same span.
    """

    needs: tuple[int, ...]
    p_value: float

    def to_mapping(self) -> dict[str, Any]:
        """Write it as plain values, for a result.

        Returns
        -------
        dict
            Dictionary with the keys "needs" and "p_value".
        """
        return {"needs": list(self.needs), "p_value": self.p_value}


def judge_span(findings: Findings, shares: Vector, n_rows: float) -> OneSpan | None:
    r"""Test whether all sites have one span, from how many directions each needs.

    Parameters
    ----------
    findings : Findings
        Sums over the sites.
    shares : ndarray of shape (K,)
        Share of each direction's variance that y explains, without that of noise.
    n_rows : float
        Mean number of rows of a site.

    Returns
    -------
    OneSpan or None
        None if no site could test the directions.

    Notes
    -----
    Let r be the number of directions that most sites need. If there are no others,
    m sites contradict them at the second of `LEVELS`, :math:`\alpha`, as often as a
    binomial number with m and :math:`\alpha` says; at the first one they also would
    where all sites have a further direction that is too weak to be found. If there are
    others, either all sites have them,
    too weakly for most sites to see; then a site contradicts the first r at each of
    `LEVELS` with the power that a noncentral F has with the mean strength over the
    sites, :math:`\bar n \sum_{k > r} \lambda_k`. Or a few sites have them alone: then
    fewer sites than that contradict at the first level, and more at the last one. The
    smallest of these p-values counts, times their number.

    Few sites with a strong direction of their own turn the first directions, so that
    all sites need more of them. Then what the sites' own last directions explain is far
    below what the last common one adds, which is compared as well if K > 1, see
    `direction_use`.
    """
    found = _from_needs(findings, shares, n_rows)
    if found is None or shares.size < 2:
        return found
    smaller = min(found.p_value, _from_use(findings.use))
    return replace(found, p_value=min(1.0, 2.0 * smaller))


def _from_use(use: Vector) -> float:
    """Return how well the sites' own last directions explain what the common one does.

    A quarter of the gain is what they should explain at least.
    """
    n_judged, gain, own, variance = use
    if n_judged < FEWEST_JUDGED - 0.5 or gain <= 0.0:
        return 1.0
    error = np.sqrt(max(float(variance), 0.0) + gain)
    return float(ndtr((own - OWN_SHARE * gain) / error))


def _from_needs(findings: Findings, shares: Vector, n_rows: float) -> OneSpan | None:
    """Test by how many directions the sites need."""
    counts = np.rint(findings.needs)
    n_sites = int(counts[0].sum())
    if not n_sites:
        return None
    k = shares.size
    # Of equally frequent numbers the largest one.
    usual = int(k - counts[0][::-1].argmax())
    beyond = counts[:, usual + 1 :].sum(axis=1)
    needs = tuple(int(count) for count in counts[0])
    if usual == k:
        return OneSpan(needs, 0.0)
    if usual == k - 1:
        return OneSpan(needs, _at_least(beyond[1], n_sites, LEVELS[1]))
    freedom = max(float(findings.freedom[usual]) / n_sites, 1.0)
    strength = n_rows * float(shares[usual + 1 :].sum())
    powers = [_power(level, freedom, n_rows - freedom, strength) for level in LEVELS]
    p_values = [float(bdtr(beyond[0], n_sites, powers[0]))]
    p_values += [
        _at_least(count, n_sites, power)
        for count, power in zip(beyond[1:], powers[1:], strict=True)
    ]
    return OneSpan(needs, min(1.0, len(p_values) * min(p_values)))


def _at_least(count: float, n_sites: int, chance: float) -> float:
    """Return the probability of so many sites or more."""
    return float(bdtrc(count - 1, n_sites, chance)) if count > 0 else 1.0


def _power(level: float, freedom: float, rest: float, strength: float) -> float:
    """Return how often a test rejects if what it looks for is so strong."""
    if rest <= 0.0 or strength <= 0.0:
        return level
    limit = float(fdtri(freedom, rest, 1.0 - level))
    found = 1.0 - float(ncfdtr(freedom, rest, strength, limit))
    return min(max(found, level), 1.0)
