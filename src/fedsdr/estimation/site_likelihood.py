r"""Second stage: directions on the selected variables, by each site's own covariance.

The directions B maximise what all sites explain together,

.. math:: \sum_i n_i \mathrm{tr}[(B' S_i B)^{-1} B' T_i B] ,

in small sums over the selected variables (`fedsdr.summaries.profile`). Where all
covariances are equal this is sliced inverse regression; where they are not, every site
still explains its own rows, and no direction appears that nobody put there.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri

from fedsdr.arrays import Matrix, Vector
from fedsdr.estimation.direction_test import DimensionTest, judge, needed_evidence
from fedsdr.estimation.directions import Estimate, leading_directions
from fedsdr.method import MOST_PROFILES, MOST_STEPS
from fedsdr.summaries.profile import Common, PooledCovariance, Profile, explain
from fedsdr.summaries.summary import Summary

Index = NDArray[np.intp]

#: Asks the sites for their sums at some directions.
Ask = Callable[[Matrix, Common | None, PooledCovariance | None], Profile]


class SecondStageSums(Protocol):
    """Asks all sites for the sums of the second stage, on some variables."""

    def profile(
        self,
        support: Index,
        basis: Matrix,
        common: Common | None,
        target: PooledCovariance | None,
    ) -> Profile:
        """Ask for the sums at some directions, see `fedsdr.summaries.profile`.

        Parameters
        ----------
        support : ndarray of int
            Indices of the variables.
        basis : ndarray of shape (s, K)
            Directions.
        common : Common or None
            Coefficients that all sites have in common.
        target : PooledCovariance or None
            Covariance towards which the sites' own ones are moved.
        """

    def spread(self, support: Index, sigma: Matrix) -> Vector:
        """Ask how far covariances are from a given one, see `spread_of_covariance`.

        Parameters
        ----------
        support : ndarray of int
            Indices of the variables.
        sigma : ndarray of shape (s, s)
            Covariance of all sites together.
        """

    def remainder(self, support: Index, basis: Matrix) -> Vector:
        """Ask what y has to do with every variable beside directions.

        Parameters
        ----------
        support : ndarray of int
            Indices of the variables that have coefficients.
        basis : ndarray of shape (s, K)
            Directions.
        """


# Mean square of the score, in its standard errors, at which directions are found.
ENOUGH = 0.01
# Evidence, relative to what is needed, below which a direction is given up after the
# first step.
HOPELESS = 0.3
# Covariances whose distance, relative to that of sampling, is up to the first number
# are taken as equal, from the second on as different.
EQUAL, DIFFERENT = 1.15, 1.5
# Probability that a given noise variable stays if covariances differ.
NOISE_LEVEL = 0.01
# Variables that are looked at again beside known directions.
MOST_MISSED = 10
# Eigenvalues of the curvature are kept above this, relative to the largest one.
FLATTEST = 1e-4
# Length of a step, relative to that of the directions.
LONGEST = 0.9


@dataclass(frozen=True, slots=True, eq=False)
class SiteFit:
    """Directions on the selected variables.

    Parameters
    ----------
    basis : ndarray of shape (s, K)
        Directions on the common scale.
    profile : Profile
        Sums over sites at these directions.
    tests : tuple of DimensionTest
        One test per direction that was considered.
    curved : bool
        Whether a direction was left out because it is only a curve of others.
    weak : bool
        Whether the first direction may be due to a few large values.
    settled : bool
        Whether the last step was within the tolerance.
    """

    basis: Matrix
    profile: Profile
    tests: tuple[DimensionTest, ...]
    curved: bool
    weak: bool
    settled: bool


@dataclass(slots=True, eq=False)
class SiteLikelihood:
    """What all sites explain together, and its best directions.

    Parameters
    ----------
    part : Summary
        Sums over all sites on the s selected variables, not mixed.
    own : float
        Weight of the sites' own coefficients, see `Summary.mixed`.
    ask : callable
        Asks the sites for their sums at some directions.
    n_candidates : int
        Number of variables d from which the s were selected.
    shrinkage : float, default=0.0
        Weight of the pooled covariance in that of every site.
    """

    part: Summary
    own: float
    ask: Ask
    n_candidates: int
    shrinkage: float = 0.0
    n_asked: int = field(default=0, init=False)

    def fit(
        self, n_directions: int | None, limit: int, most: int = MOST_PROFILES
    ) -> SiteFit:
        """Add directions, each the best one in addition to those before.

        Parameters
        ----------
        n_directions : int or None
            Dimension K; chosen by tests if None.
        limit : int
            Largest dimension considered; sites are asked at most 6 times for each.
        most : int, default=40
            Number of times that sites are asked, at most; no less than `limit`.

        Returns
        -------
        SiteFit
            At least one direction.
        """
        s = self.part.n_features
        n_steps = max(1, min(MOST_STEPS, most // limit))
        mixed = self.part.mixed(self.own)
        basis = np.zeros((s, 0))
        kernel, scatter = mixed.between, mixed.scatter
        best: tuple[Matrix, Profile, bool] | None = None
        tests: list[DimensionTest] = []
        explained, curved, fragile = 0.0, False, False
        for k in range(1, min(limit, s) + 1):
            start = np.column_stack([basis, _leading(kernel, scatter)])
            needed = needed_evidence(k, self.n_candidates, self.part.n_rows)
            found, profile, settled, test = self._climb(
                basis,
                start,
                explained,
                needed,
                n_steps=n_steps,
                given=n_directions is not None,
            )
            curve = self._beyond_curves(profile, k, needed)
            accepted = test.accepted and curve
            fragile = fragile or (k == 1 and not curve)
            tests.append(replace(test, accepted=accepted))
            wanted = accepted if n_directions is None else k <= n_directions
            if best is not None and not wanted:
                curved = test.accepted and not curve
                break
            basis, best = found, (found, profile, settled)
            explained = profile.explained
            kernel, scatter = profile.kernel, profile.scatter
            if n_directions == k:
                break
        assert best is not None
        found, profile, settled = best
        return SiteFit(found, profile, tuple(tests), curved, fragile, settled)

    def _climb(
        self,
        known: Matrix,
        basis: Matrix,
        explained: float,
        needed: float,
        *,
        n_steps: int,
        given: bool,
    ) -> tuple[Matrix, Profile, bool, DimensionTest]:
        """Improve directions by Newton's method, and test the last one.

        Steps end where one explains less than the directions before it, which are
        then kept: directions that noise explains have no curvature to steer by, and
        steps among them would multiply rounding errors.
        """
        best: tuple[Matrix, Profile] | None = None
        settled = False
        for step in range(n_steps):
            basis = _last_apart(basis, known, self.part.sigma)
            profile = self._ask_mixed(basis)
            if best is not None and profile.explained <= best[1].explained:
                break
            best = basis, profile
            settled = _score_size(profile) < ENOUGH
            test = self._judge(profile.explained - explained, basis.shape, needed)
            hopeless = (
                not given and known.shape[1] and test.evidence < HOPELESS * needed
            )
            if settled or step == n_steps - 1 or (hopeless and step):
                break
            basis = basis + _newton_step(profile, basis, self.part.sigma)
        assert best is not None
        return *best, settled, test

    def _judge(
        self, gain: float, shape: tuple[int, ...], needed: float
    ) -> DimensionTest:
        mixed = self.part.mixed(self.own)
        share = gain / self.part.n_rows
        s, k = shape
        return judge(share, mixed.noise_floor, mixed.effective_freedom, k, s, needed)

    def _beyond_curves(self, profile: Profile, k: int, needed: float) -> bool:
        """Tell whether the last direction is more than a curve of the others.

        For the first direction, whether it is more than a few large values.
        """
        squared = profile.beyond_freedom_squared
        if squared <= 0.0:
            # At no site is anything left of a further direction beside curves of the
            # others: rare dummies, say, of which a site has few combinations.
            return k == 1
        if self.own < 1.0:
            if k > 1:
                return True
            mixed = self.part.mixed(self.own)
            freedom = mixed.effective_freedom * self.part.freedom_squared / squared
            share = profile.explained / self.part.n_rows
            s, floor = self.part.n_features, mixed.noise_floor
            return judge(share, floor, freedom, 1, s, needed).accepted
        freedom = profile.beyond_freedom**2 / squared
        test = judge(
            profile.beyond,
            profile.beyond_floor,
            freedom,
            k,
            self.part.n_features,
            needed,
        )
        return test.accepted

    def _ask_mixed(self, basis: Matrix) -> Profile:
        """Ask the sites, and add what the common means explain."""
        self.n_asked += 1
        part, own = self.part, self.own
        target = (
            PooledCovariance(self.shrinkage, part.sigma) if self.shrinkage else None
        )
        if own >= 1.0 or not part.linear.shape[1]:
            return self.ask(basis, None, target)
        pooled = explain(
            part.sigma,
            part.linear / np.sqrt(part.n_rows),
            part.freedom / part.n_sites,
            part.n_rows,
            basis,
        )
        common = Common(own, pooled.coefficients, part.n_rows)
        profile = self.ask(basis, common, target)

        def mix(site: Matrix, common: Matrix) -> Matrix:
            return own * site + (1.0 - own) * common

        return replace(
            profile,
            curvature=mix(profile.curvature, pooled.curvature),
            score=mix(profile.score, pooled.score),
            kernel=mix(profile.kernel, pooled.kernel),
            scatter=mix(profile.scatter, pooled.scatter),
            explained=own * profile.explained + (1.0 - own) * pooled.explained,
        )


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


def estimate_by_site(
    total: Summary,
    support: Index,
    own: float,
    sites: SecondStageSums,
    *,
    n_directions: int | None,
    limit: int,
    prune: bool,
) -> Estimate:
    """Estimate directions, their number and the final variables.

    Parameters
    ----------
    total : Summary
        Sums over all sites, columns on a common scale, not mixed.
    support : ndarray of int
        Indices of the selected variables.
    own : float
        Weight of the sites' own coefficients, see `Summary.mixed`.
    sites : SecondStageSums
        Asks the sites for their sums.
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
    """
    far, expected = sites.spread(support, total.subset(support).sigma)[:2]
    differ = float(far / expected) if expected > 0 else 1.0
    shrinkage = shrinkage_for(differ)
    # What the first stage selects is right if covariances are equal.
    level = NOISE_LEVEL ** (1.0 - 2.0 * shrinkage) if prune else 1.0
    left = min(MOST_PROFILES, MOST_STEPS * limit)

    def fit_on(chosen: Index, most: int) -> tuple[SiteFit, Matrix, Index, int]:
        def ask(
            basis: Matrix, common: Common | None, target: PooledCovariance | None
        ) -> Profile:
            return sites.profile(chosen, basis, common, target)

        stage = SiteLikelihood(
            total.subset(chosen), own, ask, total.n_features, shrinkage
        )
        found = stage.fit(n_directions, limit, most)
        return found, *drop_noise(found, level), stage.n_asked

    fit, basis, kept, n_asked = fit_on(support, left)
    if prune and differ > DIFFERENT and left - n_asked >= limit:
        # The last direction may have some of its variables only: beside the others
        # each of them is seen, beside a part of the direction itself hardly.
        others = basis[:, : max(basis.shape[1] - 1, 1)]
        missed = _missed(total, sites.remainder(support, others))
        wider = np.union1d(support[kept], missed)
        if not np.array_equal(wider, support[kept]):
            again = fit_on(wider, left - n_asked)
            if again[1].shape[1] >= basis.shape[1]:
                support, (fit, basis, kept, _) = wider, again
    mixed = total.subset(support).mixed(own)
    turn, shares = leading_directions(
        basis.T @ mixed.sigma @ basis, basis.T @ mixed.kernel @ basis, basis.shape[1]
    )
    directions = np.zeros((total.n_features, turn.shape[1]))
    directions[support] = basis @ turn
    return Estimate(
        directions,
        support[kept],
        shares[: turn.shape[1]],
        _table(fit),
        weak=fit.weak,
        curved=fit.curved,
        unevenness=fit.profile.unevenness(total.n_rows / total.n_sites),
    )


def _missed(total: Summary, sums: Vector) -> Index:
    r"""Return variables that y may depend on beside directions, strongest first.

    Their evidence exceeds :math:`2 \log d`, as the largest of d noise variables seldom
    does; it need not be that of a direction, because K and variables are tested again.
    """
    found, (floor, freedom, squared) = np.split(sums, [total.n_features])
    if floor <= 0.0 or squared <= 0.0:
        return np.empty(0, dtype=np.intp)
    needed = 2.0 * float(np.log(max(total.n_features, 2)))
    evidence = np.array(
        [
            judge(one, floor, freedom**2 / squared, 1, 1, needed).evidence
            for one in found
        ]
    )
    strongest = np.argsort(-evidence)[:MOST_MISSED]
    return np.asarray(strongest[evidence[strongest] > needed])


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


def drop_noise(fit: SiteFit, level: float) -> tuple[Matrix, np.ndarray]:
    """Drop variables whose coefficients cannot be told from noise, weakest first.

    Parameters
    ----------
    fit : SiteFit
        Directions and sums at them.
    level : float
        Probability that a given noise variable is kept.

    Returns
    -------
    basis : ndarray of shape (s, K)
        Directions, estimated again without the dropped variables.
    kept : ndarray of int
        Indices of the variables that are left, at least K.
    """
    s, k = fit.basis.shape
    kept = np.arange(s)
    threshold = float(chdtri(k, level))
    while True:
        basis, strengths = _restricted(fit, kept)
        weakest = int(np.argmin(strengths))
        if kept.size <= k or strengths[weakest] > threshold:
            return basis, kept
        kept = np.delete(kept, weakest)


def _restricted(fit: SiteFit, kept: np.ndarray) -> tuple[Matrix, Vector]:
    """Estimate on some variables, from the sums; and the Wald statistic of each."""
    s, k = fit.basis.shape
    profile = fit.profile
    curvature = _positive(profile.curvature)
    every = fit.basis.T.ravel()
    index = (np.arange(k)[:, None] * s + kept).ravel()
    gone = np.setdiff1d(np.arange(s * k), index)
    inside = curvature[np.ix_(index, index)]
    pull = profile.score[index] + curvature[np.ix_(index, gone)] @ every[gone]
    inverse = np.linalg.pinv(inside, hermitian=True)
    found = np.zeros(s * k)
    found[index] = every[index] + inverse @ pull
    covariance = inverse @ profile.noise[np.ix_(index, index)] @ inverse
    basis = found.reshape(k, s).T
    own = np.arange(k) * kept.size
    strengths = np.array(
        [
            basis[j]
            @ np.linalg.pinv(covariance[np.ix_(own + i, own + i)], hermitian=True)
            @ basis[j]
            for i, j in enumerate(kept)
        ]
    )
    return basis, strengths


def _newton_step(profile: Profile, basis: Matrix, sigma: Matrix) -> Matrix:
    """Return the step from directions that are orthonormal in sigma."""
    s, k = basis.shape
    step = np.linalg.solve(_positive(profile.curvature), profile.score)
    step = step.reshape(k, s).T
    length = np.sqrt(np.linalg.norm(step.T @ sigma @ step, 2))
    # After a shorter step the directions are still linearly independent.
    return np.asarray(step * min(1.0, LONGEST / max(length, 1e-300)))


def _positive(curvature: Matrix) -> Matrix:
    """Replace eigenvalues that are negative or nearly zero by their size."""
    values, vectors = np.linalg.eigh(curvature)
    sizes = np.maximum(np.abs(values), FLATTEST * np.abs(values).max(initial=0.0))
    return np.asarray((vectors * np.maximum(sizes, 1e-300)) @ vectors.T)


def _score_size(profile: Profile) -> float:
    """Return the mean square of the score in its standard errors."""
    whitened = np.linalg.pinv(profile.noise, hermitian=True) @ profile.score
    return float(profile.score @ whitened) / max(profile.score.size, 1)


def _leading(kernel: Matrix, scatter: Matrix) -> Vector:
    """Return the direction that explains most of what is left."""
    values, vectors = np.linalg.eigh(scatter)
    kept = values > 1e-8 * max(values[-1], 0.0)
    whitener = vectors[:, kept] / np.sqrt(values[kept])
    return np.asarray(
        whitener @ np.linalg.eigh(whitener.T @ kernel @ whitener)[1][:, -1]
    )


def _last_apart(basis: Matrix, known: Matrix, sigma: Matrix) -> Matrix:
    """Return a basis of the same span, orthonormal in sigma, the newest part last.

    The last column is the direction of the span that is farthest from `known`. The
    others are as near as possible to `known`, column by column: curves are taken of
    each of them, so they must not be turned by rounding errors.
    """
    lower = np.linalg.cholesky(basis.T @ sigma @ basis)
    basis = np.linalg.solve(lower, basis.T).T
    k = known.shape[1]
    if not k:
        return basis
    turned, _, back = np.linalg.svd(basis.T @ sigma @ known)
    return np.asarray(basis @ np.column_stack([turned[:, :k] @ back, turned[:, k:]]))
