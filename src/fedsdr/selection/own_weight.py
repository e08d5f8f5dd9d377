"""How much weight the sites' own kernels have beside the kernel of common means."""

import numpy as np

from fedsdr.arrays import Matrix
from fedsdr.choices import Universal
from fedsdr.estimation.direction_test import DimensionTest
from fedsdr.estimation.directions import leading_directions
from fedsdr.method import Method
from fedsdr.selection.dimension import FIRST_DOUBT, judge_direction
from fedsdr.selection.penalties import universal_penalty
from fedsdr.selection.solving import add_directions, solve_sums
from fedsdr.solver import Solution, penalty_max
from fedsdr.summaries.bic import bic_choice
from fedsdr.summaries.slicing import Smooth
from fedsdr.summaries.summary import Summary

# Weight of the sites' own kernels while variables are selected for a strong signal.
SELECTING = 0.5
# Signal of the sites' own, relative to that in common, from which they keep theirs.
OWN_SIGNAL = 0.25
# Evidence of common means, relative to that of the sites' own kernels, from which these
# have less weight although they show a direction clearly.
MUCH_MORE = 2.0
# Number of variables on which a strong signal is judged.
CLEAREST = 20


def choose_own(total: Summary, method: Method) -> tuple[float, bool, bool | None]:
    """Choose the weight of the sites' own kernels beside that of their common means.

    Parameters
    ----------
    total : Summary
        Sums over all sites, columns on a common scale.
    method : Method
        Parameters of the fit.

    Returns
    -------
    own : float
        Weight for `Summary.mixed`.
    by_response : bool
        Whether common means are taken of y itself, see `Summary.by_response`.
    clear : bool or None
        Whether the first direction is more than noise for the sites' own kernels or for
        that of common means; None if only the former were considered. A mixture has
        been fitted to the direction that it would be tested on.

    Notes
    -----
    A strong signal is judged on the variables that move most with y. What sites have of
    their own is kept wherever it is more than noise, in any direction: a direction
    whose link differs between sites would be lost in common means. For a weak signal,
    eq2.10 is solved with the sites' own kernels and with the kernels of common means,
    of the rank of y and of y itself, and the direction with most evidence decides. If
    the sites' own kernels show a direction clearly, with at least half of that
    evidence, they keep the weight 1: common means would gain little, and lose what
    differs between sites.
    """
    if not is_free(total, method):
        given = method.kernel.own if isinstance(method.kernel, Smooth) else None
        return 1.0 if given is None else float(given), False, None
    moved = np.diag(total.kernel) / np.maximum(np.diag(total.sigma), 1e-300)
    part = total.subset(np.sort(np.argsort(-moved)[:CLEAREST]))
    own = own_weight(part, leading_directions(part.sigma, part.kernel, 1)[0])
    if own >= 1.0 or _has_direction(total.apart(), method):
        return 1.0, False, None
    found: list[tuple[float, float, bool, bool]] = []
    kernels = ((1.0, False), (0.0, False), (0.0, True))
    kept, second = 0.0, False
    for weight, by_response in kernels:
        every = total.by_response() if by_response else total
        mixed = every.mixed(weight)
        rho = testing_penalty(mixed, method)
        solution = solve_sums(mixed, 1, rho, method.tol)
        if not solution.active.size:
            continue
        test = judge_direction(mixed, solution, 1, FIRST_DOUBT)
        part = mixed.subset(solution.active)
        direction = leading_directions(part.sigma, part.kernel, 1)[0]
        own = own_weight(every.subset(solution.active), direction)
        accepted = is_clear(test, total.n_variables, len(kernels))
        found.append((test.evidence, own, by_response, accepted))
        if weight >= 1.0 and accepted:
            kept = test.evidence
        if weight >= 1.0 and test.accepted:
            second = _has_second(total, method)
    if not found:
        return own, False, False
    best, own, by_response, _ = max(found)
    if kept and best < MUCH_MORE * kept:
        return 1.0, False, None
    clear = any(accepted for *_, accepted in found)
    return (1.0, False, clear) if second else (own, by_response, clear)


def is_free(total: Summary, method: Method) -> bool:
    """Return whether the weight of the sites' own kernels may be chosen.

    Parameters
    ----------
    total : Summary
        Sums over all sites.
    method : Method
        Parameters of the fit.

    Returns
    -------
    bool
        False if the weight was given, or if sites have no means in common.
    """
    kernel = method.kernel
    chosen = isinstance(kernel, Smooth) and kernel.own is None
    return chosen and total.n_sites > 1 and total.linear.shape[1] > 0


def selecting_weight(total: Summary, own: float, method: Method) -> float:
    r"""Choose the weight of the sites' own kernels for the selection alone.

    Parameters
    ----------
    total : Summary
        Sums over all sites, columns on a common scale.
    own : float
        Weight for the estimation, see `choose_own`.
    method : Method
        Parameters of the fit.

    Returns
    -------
    float
        The same weight if it is below 1 or given; otherwise :math:`\frac12`, unless
        sites have a direction of their own.

    Notes
    -----
    For the first direction of a strong signal the noise of m sites is harmless, so its
    weight is 1. It is not harmless for a weaker second one: with half the weight the
    noise floor is :math:`(m + 1) / 2m` times as large, and what sites have in common
    stays as it is. What they have of their own is halved as well. So the weight stays 1
    if the strongest direction of :math:`T - L L' / N^2` has more evidence than the
    largest of d noise variables mostly has, :math:`2 \log d`, and its signal there is
    more than a quarter of that in :math:`L L' / N^2`: as where links differ between
    sites. Directions and K are estimated with the weight 1 all the same.
    """
    selects = method.whitens_by_site and isinstance(method.penalty, Universal)
    if own < 1.0 or not selects or not is_free(total, method):
        return own
    apart = total.apart()
    rho = testing_penalty(apart, method)
    solution = solve_sums(apart, 1, rho, method.tol)
    evidence = judge_direction(apart, solution, 1).evidence
    if evidence <= 2.0 * np.log(max(total.n_variables, 2)):
        return SELECTING
    part = apart.subset(solution.active)
    direction = leading_directions(part.sigma, part.kernel, 1)[0]
    shared, own_signal = signals_over_noise(total.subset(solution.active), direction)
    if (total.n_sites - 1) * own_signal > OWN_SIGNAL * shared:
        return own
    return SELECTING


def look_again(
    total: Summary,
    mixed: Summary,
    known: Solution,
    limit: int,
    method: Method,
) -> tuple[Solution, tuple[DimensionTest, ...]] | None:
    """Look for directions with the sites' own kernels, where less may have lost some.

    Parameters
    ----------
    total : Summary
        Sums over all sites, with the sites' own kernels.
    mixed : Summary
        The same with less weight on these, see `selecting_weight`.
    known : Solution
        Directions found with `mixed`.
    limit : int
        Largest K considered.
    method : Method
        Parameters of the fit.

    Returns
    -------
    tuple or None
        Directions and tests for `total`: if there are more than before, or as many
        where a direction after the first differs between sites. None otherwise.

    Notes
    -----
    The weight is chosen by the strongest direction of what sites have of their own,
    which may be another one than a weaker direction that was found. A direction differs
    if its signal in :math:`T - L L' / N^2` is more than a quarter of that in
    :math:`L L' / N^2`. One may have been lost if BIC on T chooses more.
    """
    k, differs = known.n_directions, _differs(total, mixed, known)
    by_bic = _by_bic(total, limit)
    if not differs and k >= by_bic:
        return None
    rho = testing_penalty(total, method)
    found = add_directions(total, rho, by_bic, limit, method.tol)
    fewest = k if differs else k + 1
    return found if found[0].n_directions >= fewest else None


def _differs(total: Summary, mixed: Summary, known: Solution) -> bool:
    """Tell whether a direction after the first differs between sites."""
    part = mixed.subset(known.active)
    basis = leading_directions(part.sigma, part.kernel, known.n_directions)[0]
    signals = (
        signals_over_noise(total.subset(known.active), basis[:, [j]])
        for j in range(1, basis.shape[1])
    )
    others = total.n_sites - 1
    return any(others * own > OWN_SIGNAL * shared for shared, own in signals)


def own_weight(total: Summary, direction: Matrix) -> float:
    r"""Choose the weight of the sites' own kernels from what a direction explains.

    Parameters
    ----------
    total : Summary
        Sums over all sites, with linear sums.
    direction : ndarray of shape (n_features, 1)
        A direction that carries the signal.

    Returns
    -------
    float
        Weight w for `Summary.mixed`.

    Notes
    -----
    Along the direction, let :math:`s_1` be the signal over noise of the common means
    and :math:`s_2` that of the sites' deviations from them. The best weight of a part
    in a quadratic form is s / (1 + s), hence :math:`w = s_2 / (1 + s_2)`. If the signal
    is much stronger than the noise of all m sites together, that noise is harmless, and
    :math:`w = (s_1 / m - 1) / 4`, where larger, keeps what sites have of their own.
    """
    m = total.n_sites
    if m < 2 or not total.linear.shape[1] or total.noise_floor <= 0.0:
        return 1.0
    shared, apart = signals_over_noise(total, direction)
    return float(np.clip(max(apart / (1 + apart), (shared / m - 1) / 4), 0.0, 1.0))


def signals_over_noise(total: Summary, direction: Matrix) -> tuple[float, float]:
    """Compare what a direction explains with noise, in common and apart.

    Parameters
    ----------
    total : Summary
        Sums over two sites or more, with linear sums.
    direction : ndarray of shape (n_features, 1)
        A direction.

    Returns
    -------
    shared : float
        Signal of the means that sites have in common, over its noise.
    apart : float
        The same for each of the m - 1 contrasts of sites, at least 0.
    """
    m = total.n_sites
    spread = float((direction.T @ total.sigma @ direction)[0, 0])
    every = float((direction.T @ total.kernel @ direction)[0, 0]) / spread
    common = float(((direction.T @ total.linear) ** 2).sum()) / spread
    common /= total.n_rows**2
    floor = total.noise_floor / m
    shared = common / floor - 1.0
    apart = max((every - common) / (floor * (m - 1)) - 1.0, 0.0)
    return float(shared), float(apart)


def testing_penalty(total: Summary, method: Method) -> float:
    """Choose the penalty of the fits on which directions are tested.

    Parameters
    ----------
    total : Summary
        Sums over all sites, columns on a common scale.
    method : Method
        Parameters of the fit.

    Returns
    -------
    float
        Penalty, small enough to select something.
    """
    rho = method.penalty
    if not isinstance(rho, float):
        rho = universal_penalty(total.n_variables, total.n_rows)
    return float(min(rho, 0.95 * penalty_max(total.kernel)))


def _has_direction(total: Summary, method: Method) -> bool:
    """Tell whether a sparse direction of a kernel is more than noise."""
    rho = testing_penalty(total, method)
    solution = solve_sums(total, 1, rho, method.tol)
    return is_clear(judge_direction(total, solution, 1), total.n_variables)


def _has_second(total: Summary, method: Method) -> bool:
    """Tell whether a kernel has a second direction that is more than noise.

    Its variables were searched for: with small sites and many columns some noise passes
    the test of a direction alone.
    """
    rho = testing_penalty(total, method)
    solution = solve_sums(total, 2, rho, method.tol)
    test = judge_direction(total, solution, _by_bic(total, 2))
    searched = 2 * np.log(max(total.n_variables, 2))
    return test.accepted and test.evidence > test.needed + searched


def _by_bic(total: Summary, limit: int) -> int:
    spectrum = np.asarray(np.linalg.eigvalsh(total.kernel), dtype=np.float64)
    return bic_choice(spectrum, total.n_rows, limit)


def is_clear(test: DimensionTest, n_features: int, n_kernels: int = 1) -> bool:
    r"""Tell whether a direction passes, although the best was searched for.

    Parameters
    ----------
    test : DimensionTest
        Test of the direction on the s variables that were selected for it.
    n_features : int
        Number of variables d that could have been selected.
    n_kernels : int, default=1
        Number of kernels m of which it is the best.

    Returns
    -------
    bool
        Whether its evidence exceeds what it needs by
        :math:`2 \log m + 2 (s - 1) \log d`: it is the best of several kernels, and of
        all sets of as many variables.
    """
    searched = np.log(n_kernels) + (test.n_selected - 1) * np.log(n_features)
    return test.accepted and test.evidence > test.needed + 2 * searched
