r"""Directions on the selected variables, by each site's own covariance.

The directions B maximise what all sites explain together,

.. math:: \sum_i n_i \mathrm{tr}[(B' S_i B)^{-1} B' T_i B] ,

in small sums over the selected variables (`fedsdr.summaries.profile`). Where all
covariances are equal this is sliced inverse regression; where they are not, every site
still explains its own rows, and no direction appears that nobody put there. A single
direction maximises what is explained on the scale of a likelihood
(`fedsdr.summaries.site_weight`).
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from fedsdr.arrays import Matrix, Vector
from fedsdr.estimation.direction_test import DimensionTest, judge, needed_evidence
from fedsdr.questions import Asking, ProfileOf
from fedsdr.summaries.profile import Common, PooledCovariance, Profile, explain
from fedsdr.summaries.summary import Summary
from fedsdr.terms import MOST_PROFILES, MOST_STEPS

#: Makes the question about some directions.
AskAbout = Callable[[Matrix, Common | None, PooledCovariance | None], ProfileOf]

# Mean square of the score, in its standard errors, at which directions are found.
ENOUGH = 0.01
# Evidence, relative to what is needed, below which a direction is given up after the
# first step.
HOPELESS = 0.3
# Eigenvalues of the curvature are kept above this, relative to the largest one.
FLATTEST = 1e-4
# Factor of the weight of the pooled covariance if there is one direction only: noise in
# a site's covariance is of use where several directions have to be told apart.
ALONE = 2.0
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


@dataclass(frozen=True, slots=True, eq=False)
class Ascent:
    """Where the directions end when the last one is improved, with its test.

    Parameters
    ----------
    basis : ndarray of shape (s, k)
        Directions.
    profile : Profile
        Sums over sites at these directions.
    settled : bool
        Whether the last step was within the tolerance.
    test : DimensionTest
        Whether the last direction explains more than noise.
    beyond_curves : bool
        Whether it explains more than a curve of the others; for the first direction,
        more than a few large values.
    """

    basis: Matrix
    profile: Profile
    settled: bool
    test: DimensionTest
    beyond_curves: bool

    @property
    def accepted(self) -> bool:
        """Whether the last direction passes both tests."""
        return self.test.accepted and self.beyond_curves


@dataclass(slots=True, eq=False)
class SiteLikelihood:
    """What all sites explain together, and its best directions.

    Parameters
    ----------
    part : Summary
        Sums over all sites on the s selected variables, not mixed.
    own : float
        Weight of the sites' own coefficients, see `Summary.mixed`.
    ask_about : callable
        Makes the question about some directions.
    n_candidates : int
        Number of variables d from which the s were selected.
    shrinkage : float, default=0.0
        Weight of the pooled covariance in that of every site, at most one half; twice
        as large for a single direction.
    seen : tuple of (int, int), optional
        Number of a direction, and a variable of the s that moves with y beside those
        before it: the ascent begins there again if it has not found the direction.
    """

    part: Summary
    own: float
    ask_about: AskAbout
    n_candidates: int
    shrinkage: float = 0.0
    seen: tuple[int, int] | None = None
    n_asked: int = field(default=0, init=False)

    def fit(
        self, n_directions: int | None, limit: int, most: int = MOST_PROFILES
    ) -> Asking[SiteFit]:
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

        Yields
        ------
        Question
            Questions to the sites.
        """
        s = self.part.n_features
        n_steps = max(1, min(MOST_STEPS, most // limit))
        if n_directions == 1:
            self.shrinkage *= ALONE
        mixed = self.part.mixed(self.own)
        basis = np.zeros((s, 0))
        kernel, scatter = mixed.between, mixed.scatter
        best: Ascent | None = None
        tests: list[DimensionTest] = []
        explained, curved, fragile = 0.0, False, False
        for k in range(1, min(limit, s) + 1):
            needed = needed_evidence(k, self.n_candidates, self.part.n_rows)
            starts = [_leading(kernel, scatter)]
            if self.seen is not None and self.seen[0] == k:
                starts.append(np.eye(s)[self.seen[1]])
            found: Ascent | None = None
            for start in starts:
                # What is left when each further direction is asked about once.
                left = most - self.n_asked - (limit - k)
                if found is not None and (found.accepted or left < 1):
                    break
                climbed = yield from self._climb(
                    basis,
                    np.column_stack([basis, start]),
                    explained,
                    needed,
                    n_steps=max(1, min(n_steps, left)),
                    given=n_directions is not None,
                )
                if found is None or climbed.profile.worth > found.profile.worth:
                    found = climbed
            assert found is not None
            fragile = fragile or (k == 1 and not found.beyond_curves)
            tests.append(replace(found.test, accepted=found.accepted))
            wanted = found.accepted if n_directions is None else k <= n_directions
            if best is not None and not wanted:
                curved = found.test.accepted and not found.beyond_curves
                break
            best, basis, profile = found, found.basis, found.profile
            explained = profile.explained
            kernel, scatter = profile.kernel, profile.scatter
            if n_directions == k:
                break
        assert best is not None
        if best.basis.shape[1] == 1 and n_directions != 1:
            best = (yield from self._alone(min(n_steps, most - self.n_asked))) or best
        return SiteFit(
            best.basis, best.profile, tuple(tests), curved, fragile, best.settled
        )

    def _alone(self, n_steps: int) -> Asking[Ascent | None]:
        """Estimate the only direction again, with the weight for one direction.

        The tests need the weight that further directions have.
        """
        if not self.shrinkage or n_steps < 1:
            return None
        self.shrinkage *= ALONE
        mixed = self.part.mixed(self.own)
        start = _leading(mixed.between, mixed.scatter)[:, None]
        nothing = start[:, :0]
        found: Ascent = yield from self._climb(
            nothing, start, 0.0, 0.0, n_steps=n_steps, given=True
        )
        return found

    def _climb(
        self,
        known: Matrix,
        basis: Matrix,
        explained: float,
        needed: float,
        *,
        n_steps: int,
        given: bool,
    ) -> Asking[Ascent]:
        """Improve directions by Newton's method, and test the last one.

        Steps end where one is worth less than the directions before it, which are
        then kept: directions that noise explains have no curvature to steer by, and
        steps among them would multiply rounding errors.
        """
        best: tuple[Matrix, Profile] | None = None
        settled = False
        for step in range(n_steps):
            basis = _last_apart(basis, known, self.part.sigma)
            profile = yield from self._mixed_profile(basis)
            if best is not None and profile.worth <= best[1].worth:
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
        beyond = self._beyond_curves(best[1], best[0].shape[1], needed)
        return Ascent(*best, settled, test, beyond)

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

    def _mixed_profile(self, basis: Matrix) -> Asking[Profile]:
        """Ask the sites, and add what the common means explain."""
        self.n_asked += 1
        part, own = self.part, self.own
        target = (
            PooledCovariance(self.shrinkage, part.sigma) if self.shrinkage else None
        )
        if own >= 1.0 or not part.linear.shape[1]:
            own_profile: Profile = yield self.ask_about(basis, None, target)
            return own_profile
        pooled = explain(
            part.sigma,
            part.linear / np.sqrt(part.n_rows),
            part.freedom / part.n_sites,
            part.n_rows,
            basis,
        )
        common = Common(own, pooled.coefficients, part.n_rows)
        profile: Profile = yield self.ask_about(basis, common, target)

        def mix(site: Matrix, common: Matrix) -> Matrix:
            return own * site + (1.0 - own) * common

        return replace(
            profile,
            curvature=mix(profile.curvature, pooled.curvature),
            score=mix(profile.score, pooled.score),
            kernel=mix(profile.kernel, pooled.kernel),
            scatter=mix(profile.scatter, pooled.scatter),
            explained=own * profile.explained + (1.0 - own) * pooled.explained,
            worth=own * profile.worth + (1.0 - own) * pooled.explained,
        )


def _newton_step(profile: Profile, basis: Matrix, sigma: Matrix) -> Matrix:
    """Return the step from directions that are orthonormal in sigma."""
    s, k = basis.shape
    step = np.linalg.solve(positive_part(profile.curvature), profile.score)
    step = step.reshape(k, s).T
    length = np.sqrt(np.linalg.norm(step.T @ sigma @ step, 2))
    # After a shorter step the directions are still linearly independent.
    return np.asarray(step * min(1.0, LONGEST / max(length, 1e-300)))


def positive_part(curvature: Matrix) -> Matrix:
    """Replace eigenvalues that are negative or nearly zero by their size.

    Parameters
    ----------
    curvature : ndarray of shape (sK, sK)
        Symmetric matrix.

    Returns
    -------
    ndarray of shape (sK, sK)
        Positive definite matrix with the same eigenvectors.
    """
    values, vectors = np.linalg.eigh(curvature)
    sizes = np.maximum(np.abs(values), FLATTEST * np.abs(values).max(initial=0.0))
    return np.asarray((vectors * np.maximum(sizes, 1e-300)) @ vectors.T)


def inverse_on_range(matrix: Matrix) -> Matrix:
    """Compute the pseudo-inverse of a symmetric matrix.

    Parameters
    ----------
    matrix : ndarray of shape (s, s)
        Symmetric matrix.

    Returns
    -------
    ndarray of shape (s, s)
        What numpy's pinv returns, in a third of the time.
    """
    values, vectors = np.linalg.eigh(matrix)
    sizes = np.abs(values)
    kept = sizes > 1e-15 * sizes.max(initial=0.0)
    vectors, values = vectors[:, kept], values[kept]
    return np.asarray((vectors / values) @ vectors.T)


def _score_size(profile: Profile) -> float:
    """Return the mean square of the score in its standard errors."""
    whitened = inverse_on_range(profile.noise) @ profile.score
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
