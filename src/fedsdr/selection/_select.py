"""Choose the dimension and the penalty, and select variables."""

import numpy as np

from fedsdr.arrays import Vector
from fedsdr.estimation.direction_test import DimensionTest
from fedsdr.estimation.directions import (
    ADDITIONS,
    add_missed_variables,
    leading_directions,
)
from fedsdr.estimation.own_weight import own_weight, signals_over_noise
from fedsdr.estimation.stand_ins import swap_for_twins
from fedsdr.exceptions import InputError, WeakSignalWarning, warn_user
from fedsdr.method import Auto, Bic, Method, Smooth, Universal, Votes
from fedsdr.selection.dimension import (
    add_directions,
    bic_choice,
    elect_dimension,
    judge_direction,
)
from fedsdr.selection.evidence import Evidence, Selection, Table
from fedsdr.selection.penalties import (
    solve_given,
    solve_universal,
    solve_validated,
    universal_penalty,
)
from fedsdr.selection.second_selection import (
    CLEARLY,
    add_hidden_directions,
    select_again,
)
from fedsdr.solver import Solution, penalty_max, solve
from fedsdr.summaries.summary import Summary

# Number of further variables, found by a score, that no noise has.
MANY_MORE = 5
# Noise variables among the additions of a fit, and what a further selection must gain,
# see `select_again`: with a weak signal a missed variable costs as much as a false one.
STRONG, WEAK = (ADDITIONS, CLEARLY), (1.0, 0.0)
# Weight of the sites' own kernels while variables are selected for a strong signal.
SELECTING = 0.5
# Signal of the sites' own, relative to that in common, from which they keep theirs.
OWN_SIGNAL = 0.25
# Number of variables on which a strong signal is judged.
CLEAREST = 20


def select(
    evidence: Evidence, method: Method, generator: np.random.Generator
) -> Selection:
    """Choose K and the penalty, and solve eq2.10 on all rows.

    Parameters
    ----------
    evidence : Evidence
        Sums on the common scale.
    method : Method
        Parameters of the fit, including the rules for K and the penalty.
    generator : numpy.random.Generator
        Generator that decides between equally frequent votes.

    Returns
    -------
    Selection
        The solution, and the table on which the choices are based.
    """
    own, by_response, clear = choose_own(evidence.total, method)
    if by_response:
        evidence = evidence.by_response()
    weight = selecting_weight(evidence.total, own, method)
    evidence = evidence.mixed(weight)
    total, rule = evidence.total, method.n_directions
    table: Table = ()
    weak = False
    spectrum: Vector = np.asarray(np.linalg.eigvalsh(total.kernel), dtype=np.float64)
    _check_rank(spectrum, rule)
    limit = rule.max_directions if isinstance(rule, Auto | Bic | Votes) else 5
    by_bic = bic_choice(spectrum, total.n_rows, limit)
    known: Solution | None = None
    if isinstance(rule, Auto):
        rho = _testing_penalty(total, method)
        known, tests = add_directions(total, rho, by_bic, limit, method.tol)
        k, table = known.n_directions, _test_table(tests, rho)
        weak = not (tests[0].accepted if clear is None else clear)
    elif isinstance(rule, Bic):
        k = by_bic
    elif isinstance(rule, Votes):
        k, table = elect_dimension(evidence.votes, generator), _vote_table(evidence)
    else:
        k = rule
    if isinstance(method.penalty, Universal):
        chosen = solve_universal(total, k, method.tol, by_bic, known)
    elif isinstance(method.penalty, float):
        chosen = solve_given(total, k, method.penalty, method.tol, known)
    else:
        chosen = solve_validated(evidence, k, method)
    solution, support = chosen.solution, None
    if method.whitens_by_site and isinstance(method.penalty, Universal):
        additions, clearly = STRONG if weight >= 1.0 else WEAK
        known_before = add_missed_variables(total, solution.active, k, additions)
        support = select_again(total, known_before, k, clearly)
        many = own >= 1.0 and support.size >= known_before.size + MANY_MORE
        weak = weak and not many
        if isinstance(rule, Auto) and not weak:
            support, k = add_hidden_directions(total, support, k, limit)
        if not weak:
            support = swap_for_twins(total, support, k)
    # Nothing is an answer, and no reason to warn, where the caller allows it.
    if not (weak and method.allows_nothing):
        _warn_if_lowered(chosen)
        _warn_if_weak(total, weak=weak)
    return Selection(solution, (*table, *chosen.table), own, weak, support, by_response)


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
    of the rank of y and of y itself, and the direction with most evidence decides.
    """
    kernel = method.kernel
    given = kernel.own if isinstance(kernel, Smooth) else 1.0
    if given is not None:
        return float(given), False, None
    if total.n_sites < 2 or not total.linear.shape[1]:
        return 1.0, False, None
    moved = np.diag(total.kernel) / np.maximum(np.diag(total.sigma), 1e-300)
    part = total.subset(np.sort(np.argsort(-moved)[:CLEAREST]))
    own = own_weight(part, leading_directions(part.sigma, part.kernel, 1)[0])
    if own >= 1.0 or _has_direction(total.apart(), method):
        return 1.0, False, None
    found: list[tuple[float, float, bool, bool]] = []
    kernels = ((1.0, False), (0.0, False), (0.0, True))
    for weight, by_response in kernels:
        every = total.by_response() if by_response else total
        mixed = every.mixed(weight)
        rho = _testing_penalty(mixed, method)
        solution = solve(mixed.sigma, mixed.kernel, 1, rho, tol=method.tol)
        if not solution.active.size:
            continue
        test = judge_direction(mixed, solution, 1)
        part = mixed.subset(solution.active)
        direction = leading_directions(part.sigma, part.kernel, 1)[0]
        own = own_weight(every.subset(solution.active), direction)
        accepted = _is_clear(test, total.n_features, len(kernels))
        found.append((test.evidence, own, by_response, accepted))
    if not found:
        return own, False, False
    _, own, by_response, _ = max(found)
    return own, by_response, any(accepted for *_, accepted in found)


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
    if the strongest direction of :math:`T - L L' / N^2` is more than noise, and its
    signal there more than a quarter of that in :math:`L L' / N^2`: as where links
    differ between sites. Directions and K are estimated with the weight 1 all the same.
    """
    kernel = method.kernel
    given = not isinstance(kernel, Smooth) or kernel.own is not None
    selects = method.whitens_by_site and isinstance(method.penalty, Universal)
    if own < 1.0 or given or not selects:
        return own
    if total.n_sites < 2 or not total.linear.shape[1]:
        return own
    apart = total.apart()
    solution = _sparse_direction(apart, method)
    if not _is_clear(judge_direction(apart, solution, 1), total.n_features):
        return SELECTING
    part = apart.subset(solution.active)
    direction = leading_directions(part.sigma, part.kernel, 1)[0]
    shared, own_signal = signals_over_noise(total.subset(solution.active), direction)
    if (total.n_sites - 1) * own_signal > OWN_SIGNAL * shared:
        return own
    return SELECTING


def _has_direction(total: Summary, method: Method) -> bool:
    """Tell whether a sparse direction of a kernel is more than noise."""
    solution = _sparse_direction(total, method)
    return _is_clear(judge_direction(total, solution, 1), total.n_features)


def _sparse_direction(total: Summary, method: Method) -> Solution:
    rho = _testing_penalty(total, method)
    return solve(total.sigma, total.kernel, 1, rho, tol=method.tol)


def _is_clear(test: DimensionTest, n_features: int, n_kernels: int = 1) -> bool:
    """Tell whether a direction passes, although the best was searched for.

    It is the best of several kernels, and of all sets of as many variables.
    """
    searched = np.log(n_kernels) + (test.n_selected - 1) * np.log(n_features)
    return test.accepted and test.evidence > test.needed + 2 * searched


def _warn_if_lowered(chosen: Selection) -> None:
    if chosen.table and chosen.table[-1]["step"] == "lowered":
        first, last = chosen.table[0], chosen.table[-1]
        warn_user(
            f"the signal is weak: only {first['n_selected']} variable(s) pass the "
            f"universal penalty {first['penalty']:.3g}, so it was lowered to "
            f"{last['penalty']:.3g}; the selected variables are the strongest "
            "candidates, not findings",
            WeakSignalWarning,
        )


def _warn_if_weak(total: Summary, *, weak: bool) -> None:
    if weak:
        warn_user(
            "the signal is weak: even the first direction cannot be distinguished from "
            f"noise (noise alone has an eigenvalue of {total.noise_floor:.3g} on "
            "average); do not rely on the selection",
            WeakSignalWarning,
        )


def _testing_penalty(total: Summary, method: Method) -> float:
    """Choose the penalty of the fits on which directions are tested."""
    rho = method.penalty
    if not isinstance(rho, float):
        rho = universal_penalty(total.n_features, total.n_rows)
    return float(min(rho, 0.95 * penalty_max(total.kernel)))


def _check_rank(spectrum: Vector, wanted: object) -> None:
    largest = spectrum[-1]
    if largest <= 0.0:
        raise InputError(
            "at no site does the mean of X change with y, so there are no directions "
            "to find; check that y varies within the sites"
        )
    rank = int((spectrum > 1e-10 * largest).sum())
    if isinstance(wanted, int) and wanted > rank:
        raise InputError(
            f"n_directions={wanted} is not possible: it must be from 1 to {rank}, the "
            "rank of the kernel (at most the number of columns, and for classes the "
            "number of classes minus one at each site)"
        )


def _test_table(tests: tuple[DimensionTest, ...], rho: float) -> Table:
    return tuple(
        {
            "step": "dimension",
            "penalty": rho,
            "n_directions": test.n_directions,
            "n_selected": test.n_selected,
            "eigenvalue": test.eigenvalue,
            "noise_ratio": test.noise_ratio,
            "evidence": test.evidence,
            "needed": test.needed,
            "chosen": test.accepted or test.n_directions == 1,
        }
        for test in tests
    )


def _vote_table(evidence: Evidence) -> Table:
    return tuple(
        {"step": "vote", "n_directions": k, "sites": evidence.votes.count(k)}
        for k in sorted(set(evidence.votes))
    )
