"""Second stage: select, then estimate where every site has its own covariance."""

from typing import Any

import numpy as np

from fedsdr.arrays import Matrix, Vector
from fedsdr.estimation.alarms import (
    usual_at_sites,
    warn_of_covariances,
    warn_of_findings,
)
from fedsdr.estimation.direction_errors import direction_errors
from fedsdr.estimation.direction_test import judge
from fedsdr.estimation.directions import Estimate, leading_directions
from fedsdr.estimation.one_span import OneSpan, judge_span
from fedsdr.estimation.site_likelihood import (
    SiteFit,
    SiteLikelihood,
    inverse_on_range,
    positive_part,
)
from fedsdr.questions import Asking, ColumnFrame, Index
from fedsdr.summaries.remainder import N_REST
from fedsdr.summaries.site_agreement import CODES, N_SPREAD, Expected, Findings
from fedsdr.summaries.summary import Summary
from fedsdr.terms import MOST_PROFILES, MOST_STEPS

# Covariances whose distance, relative to that of sampling, is up to the first number
# are taken as equal, from the second on as different.
EQUAL, DIFFERENT = 1.15, 1.5
# Variables that are looked at again beside known directions.
MOST_MISSED = 10


def estimate_by_site(
    total: Summary,
    support: Index,
    own: float,
    frame: ColumnFrame,
    *,
    n_directions: int | None,
    limit: int,
    prune: bool,
) -> Asking[Estimate]:
    """Estimate directions, their number and the final variables.

    Parameters
    ----------
    total : Summary
        Sums over all sites, columns on a common scale, not mixed.
    support : ndarray of int
        Indices of the selected variables.
    own : float
        Weight of the sites' own coefficients, see `Summary.mixed`.
    frame : ColumnFrame
        Where these variables are among the sites' columns.
    n_directions : int or None
        Dimension K; chosen by tests if None.
    limit : int
        Largest dimension considered.
    prune : bool
        Whether other variables may be taken if covariances differ: the first stage
        assumes that they do not, selects some for that reason alone, and misses others.

    Returns
    -------
    Estimate
        Directions in descending order of what they explain over all sites.

    Yields
    ------
    Question
        Questions to the sites.
    """
    spread: Vector = yield frame.spread_of(support, total.subset(support).sigma)
    differ = _distance(spread)
    shrinkage = shrinkage_for(differ)
    # What the first stage selects is right if covariances are equal.
    doubt = 1.0 - 2.0 * shrinkage if prune else 0.0
    left = min(MOST_PROFILES, MOST_STEPS * limit)

    def fit_on(
        chosen: Index, most: int, seen: tuple[int, int] | None = None
    ) -> Asking[tuple[SiteFit, Matrix, Index, int]]:
        stage = SiteLikelihood(
            total.subset(chosen),
            own,
            lambda *asked: frame.profile_of(chosen, *asked),
            total.n_variables,
            shrinkage,
            seen,
        )
        found = yield from stage.fit(n_directions, limit, most)
        return found, *drop_noise(found, doubt), stage.n_asked

    fit, basis, kept, n_asked = yield from fit_on(support, left)
    if prune and differ > DIFFERENT and left - n_asked >= limit:
        # The last direction may have some of its variables only: beside the others
        # each of them is seen, beside a part of the direction itself hardly.
        others = basis[:, : max(basis.shape[1] - 1, 1)]
        sums: Vector = yield frame.remainder_of(support, others)
        beside, rest = sums[:-N_REST][frame.usable], sums[-N_REST:]
        missed = _missed(total, beside, rest, support)
        wider = np.union1d(support[kept], missed)
        if not np.array_equal(wider, support[kept]):
            strongest = int(np.searchsorted(wider, missed[0]))
            seen = (others.shape[1] + 1, strongest)
            again = yield from fit_on(wider, left - n_asked, seen)
            if again[1].shape[1] >= basis.shape[1]:
                support, (fit, basis, kept, _) = wider, again
    mixed = total.subset(support).mixed(own)
    turn, shares = leading_directions(
        basis.T @ mixed.sigma @ basis, basis.T @ mixed.kernel @ basis, basis.shape[1]
    )
    directions = np.zeros((total.n_features, turn.shape[1]))
    directions[support] = basis @ turn
    errors = np.zeros_like(directions)
    errors[support], angles = direction_errors(
        fit.profile, basis, kept, turn, mixed.sigma
    )
    return Estimate(
        directions,
        support[kept],
        shares[: turn.shape[1]],
        _table(fit),
        weak=fit.weak,
        curved=fit.curved,
        unevenness=fit.profile.unevenness(total.n_rows / total.n_sites),
        spread=spread,
        errors=errors,
        angles=angles,
    )


def check_sites(
    total: Summary, support: Index, own: float, frame: ColumnFrame, found: Estimate
) -> Asking[tuple[tuple[tuple[str, int], ...], OneSpan | None]]:
    """Ask the sites whether they agree with the directions, and warn if they do not.

    Parameters
    ----------
    total : Summary
        Sums over all sites, columns on a common scale, not mixed.
    support : ndarray of int
        Indices of the selected variables, with which `estimate_by_site` began.
    own : float
        Weight of the sites' own coefficients, see `Summary.mixed`.
    frame : ColumnFrame
        Where these variables are among the sites' columns.
    found : Estimate
        What `estimate_by_site` found.

    Returns
    -------
    counts : tuple of (str, int)
        How many sites notice something, by its code in lower case; empty if they were
        not asked.
    one_span : OneSpan or None
        Whether all sites have one span; None if they were not asked.

    Yields
    ------
    Question
        A question to the sites, unless there is nothing to agree with.
    """
    warn_of_covariances(found.spread[:N_SPREAD], total.n_rows, support.size)
    # A fit without a fold of the rows is not published.
    if found.weak or frame.settings.fold is not None:
        return (), None
    noise = total.mixed(own).noise_floor
    shares = np.clip(found.eigenvalues - noise, 0.0, None)
    usually = usual_at_sites(shares, found.unevenness, total.n_sites)
    chosen = np.flatnonzero(found.directions.any(axis=1))
    expected = Expected(found.directions[chosen], usually)
    question = frame.agreement_of(chosen, expected, _usual_variances(found.spread))
    findings: Findings = yield question
    warn_of_findings(findings, total, question.columns, found.unevenness)
    counts = zip(CODES, findings.counts, strict=True)
    noticed = tuple((code.lower(), round(count)) for code, count in counts)
    return noticed, judge_span(findings, shares, total.n_rows / total.n_sites)


def shrinkage_for(differ: float) -> float:
    r"""Choose the weight of the pooled covariance in that of every site.

    Parameters
    ----------
    differ : float
        How far the covariances are apart, relative to what sampling alone gives.

    Returns
    -------
    float
        :math:`\frac12` up to 1.15, 0 from 1.5.

    Notes
    -----
    With equal covariances, half of the noise in a site's covariance is worth having
    (it goes along with that of its means), and half is not. With different ones any
    weight on the pooled covariance is a bias that more rows do not remove.
    """
    return 0.5 * float(np.clip((DIFFERENT - differ) / (DIFFERENT - EQUAL), 0.0, 1.0))


def _distance(spread: Vector) -> float:
    """Return how far covariances are apart, relative to what sampling gives."""
    far, expected = spread[:2]
    return float(far / expected) if expected > 0 else 1.0


def _usual_variances(spread: Vector) -> Vector:
    """Return the geometric mean of every column's variance; 0 if it is constant."""
    logarithms, counts = np.split(spread[N_SPREAD:], 2)
    means = np.exp2(logarithms / np.maximum(counts, 1.0)) * (counts > 0.5)
    return np.asarray(means)


def _missed(total: Summary, found: Vector, rest: Vector, support: Index) -> Index:
    r"""Return variables that y may depend on beside directions, the strongest first.

    The evidence of at least one exceeds :math:`2 \log d`, as the largest of d noise
    variables seldom does; it need not be that of a direction, because K and variables
    are tested again. If there is one, others come with half of that, of the support and
    beside it: a part of a direction says little, and noise is dropped again.
    """
    floor, freedom, squared = rest
    nothing = np.empty(0, dtype=np.intp)
    if floor <= 0.0 or squared <= 0.0:
        return nothing
    needed = 2.0 * float(np.log(max(total.n_variables, 2)))
    evidence = np.array(
        [
            judge(one, floor, freedom**2 / squared, 1, 1, needed).evidence
            for one in found
        ]
    )
    strongest = np.argsort(-evidence)[:MOST_MISSED]
    if evidence[strongest[0]] <= needed:
        return nothing
    looked_at = np.union1d(strongest, support)
    looked_at = looked_at[np.argsort(-evidence[looked_at], kind="stable")]
    return np.asarray(looked_at[evidence[looked_at] > needed / 2])


def _table(fit: SiteFit) -> tuple[dict[str, Any], ...]:
    return tuple(
        {
            "step": "sites",
            "n_directions": test.n_directions,
            "n_selected": test.n_selected,
            "eigenvalue": test.eigenvalue,
            "noise_ratio": test.noise_ratio,
            "evidence": test.evidence,
            "needed": test.needed,
            "chosen": test.n_directions <= fit.basis.shape[1],
        }
        for test in fit.tests
    )


def drop_noise(fit: SiteFit, doubt: float = 1.0) -> tuple[Matrix, np.ndarray]:
    r"""Drop variables that are more likely to be noise, weakest first.

    Parameters
    ----------
    fit : SiteFit
        Directions and sums at them.
    doubt : float, default=1.0
        Factor of the charge of a variable; with 0 all are kept.

    Returns
    -------
    basis : ndarray of shape (s, K)
        Directions, estimated again without the dropped variables.
    kept : ndarray of int
        Indices of the variables that are left, at least K.

    Notes
    -----
    A variable stays if its Wald statistic exceeds :math:`\log g + 2K`, with g the mean
    statistic of all variables that are left, at least 2. If coefficients that are not
    zero are normal, with g times the variance of their errors, the logarithm is the
    charge at which one of them is as likely as noise; and Akaike's criterion charges 2
    for each of K coefficients. So a variable that is weak beside strong ones needs much
    evidence, and one that is weak like all others little.
    """
    s, k = fit.basis.shape
    kept = np.arange(s)
    while True:
        basis, strengths = _restricted(fit, kept)
        weakest = int(np.argmin(strengths))
        charge = np.log(max(float(strengths.mean()), 2.0)) + 2.0 * k
        if kept.size <= k or strengths[weakest] > doubt * charge:
            return basis, kept
        kept = np.delete(kept, weakest)


def _restricted(fit: SiteFit, kept: np.ndarray) -> tuple[Matrix, Vector]:
    """Estimate on some variables, from the sums; and the Wald statistic of each."""
    s, k = fit.basis.shape
    profile = fit.profile
    curvature = positive_part(profile.curvature)
    every = fit.basis.T.ravel()
    index = (np.arange(k)[:, None] * s + kept).ravel()
    gone = np.setdiff1d(np.arange(s * k), index)
    inside = curvature[np.ix_(index, index)]
    pull = profile.score[index] + curvature[np.ix_(index, gone)] @ every[gone]
    inverse = inverse_on_range(inside)
    found = np.zeros(s * k)
    found[index] = every[index] + inverse @ pull
    covariance = inverse @ profile.noise[np.ix_(index, index)] @ inverse
    basis = found.reshape(k, s).T
    own = np.arange(k) * kept.size
    strengths = np.array(
        [
            basis[j] @ inverse_on_range(covariance[np.ix_(own + i, own + i)]) @ basis[j]
            for i, j in enumerate(kept)
        ]
    )
    return basis, strengths
