"""Choose the dimension and the penalty, and select variables."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from fedsdr.arrays import Vector
from fedsdr.choices import Auto, Bic, Universal, Votes
from fedsdr.estimation.direction_test import DimensionTest
from fedsdr.estimation.directions import (
    ADDITIONS,
    add_missed_variables,
)
from fedsdr.estimation.stand_ins import swap_for_twins
from fedsdr.exceptions import InputError, WeakSignalWarning, warn_user
from fedsdr.method import Method
from fedsdr.questions import Asking
from fedsdr.selection.dimension import elect_dimension
from fedsdr.selection.evidence import Evidence, Selection, Table
from fedsdr.selection.own_weight import (
    choose_own,
    is_free,
    look_again,
    selecting_weight,
    testing_penalty,
)
from fedsdr.selection.penalties import (
    solve_given,
    solve_universal,
    solve_validated,
)
from fedsdr.selection.second_selection import (
    CLEARLY,
    add_hidden_directions,
    keep_unless_noise,
    select_again,
)
from fedsdr.selection.solving import add_directions
from fedsdr.selection.weaker_directions import add_to_weaker
from fedsdr.summaries.bic import bic_choice
from fedsdr.summaries.summary import Summary

if TYPE_CHECKING:
    from fedsdr.solver import Solution

# Number of further variables, found by a score, that no noise has.
MANY_MORE = 5
# Noise variables among the additions of a fit, and what a further selection must gain,
# see `select_again`: with a weak signal a missed variable costs as much as a false one.
STRONG, WEAK = (ADDITIONS, CLEARLY), (1.0, 0.0)


def select(
    evidence: Evidence, method: Method, generator: np.random.Generator
) -> Asking[Selection]:
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

    Yields
    ------
    Question
        The question about validation errors, if the penalty is chosen by them.
    """
    found = yield from choose(evidence, method, generator)
    for text in found.doubts:
        warn_user(text, WeakSignalWarning)
    return found


def choose(
    evidence: Evidence, method: Method, generator: np.random.Generator
) -> Asking[Selection]:
    """Select like `select`, without giving warnings.

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
        The solution, and in `Selection.doubts` what to warn of.

    Yields
    ------
    Question
        The question about validation errors, if the penalty is chosen by them.
    """
    own, by_response, clear = choose_own(evidence.total, method)
    if by_response:
        evidence = evidence.by_response()
    weight = selecting_weight(evidence.total, own, method)
    plain, evidence = evidence, evidence.mixed(weight)
    total, rule = evidence.total, method.n_directions
    table: Table = ()
    weak = False
    spectrum: Vector = np.asarray(np.linalg.eigvalsh(total.kernel), dtype=np.float64)
    _check_rank(spectrum, rule)
    limit = rule.max_directions if isinstance(rule, Auto | Bic | Votes) else 5
    by_bic = bic_choice(spectrum, total.n_rows, limit)
    known: Solution | None = None
    # Where Pi itself is reported, it has the digits of the iterations.
    exactly = method.refit is not False
    if isinstance(rule, Auto):
        rho = testing_penalty(total, method)
        known, tests = add_directions(
            total, rho, by_bic, limit, method.tol, exactly=exactly
        )
        if weight < own:
            # What differs between sites has counted half.
            whole = look_again(plain.total, total, known, limit, method)
            if whole is not None:
                weight, evidence, (known, tests) = own, plain, whole
                total, rho = evidence.total, known.penalty
        k, table = known.n_directions, _test_table(tests, rho)
        weak = not (tests[0].accepted if clear is None else clear)
    elif isinstance(rule, Bic):
        k = by_bic
    elif isinstance(rule, Votes):
        k, table = elect_dimension(evidence.votes, generator), _vote_table(evidence)
    else:
        k = rule
    if isinstance(method.penalty, Universal):
        chosen = solve_universal(total, k, method.tol, by_bic, known, exactly=exactly)
    elif isinstance(method.penalty, float):
        chosen = solve_given(
            total, k, method.penalty, method.tol, known, exactly=exactly
        )
    else:
        chosen = yield from solve_validated(evidence, k, method)
    solution, support = chosen.solution, None
    if method.whitens_by_site and isinstance(method.penalty, Universal):
        common = own < 1.0 or (weight < 1.0 and k > 1)
        additions, clearly = WEAK if common else STRONG
        known_before = add_missed_variables(total, solution.active, k, additions)
        # A variable of a second, weaker direction must not be given up lightly.
        support = select_again(total, known_before, k, min(k, 2) * clearly)
        if k > 1 and not common:
            support = np.union1d(support, known_before)
        elif not common:
            support = keep_unless_noise(total, known_before, support, k)
        many = own >= 1.0 and support.size >= known_before.size + MANY_MORE
        weak = weak and not many
        if isinstance(rule, Auto) and not weak:
            support, k = add_hidden_directions(total, support, k, limit)
        if k > 1 and not weak and is_free(total, method):
            support = add_to_weaker(plain.total, support, k, weight)
        if not weak:
            support = swap_for_twins(total, support, k)
    doubts: tuple[str, ...] = ()
    # Nothing is an answer, and no reason to warn, where the caller allows it.
    if not (weak and (method.allows_nothing or method.selects_by_tests)):
        doubts = (*_if_lowered(chosen), *_if_weak(total, weak=weak))
    return Selection(
        solution,
        (*table, *chosen.table),
        own,
        weak,
        support,
        by_response,
        weight,
        doubts,
    )


def _if_lowered(chosen: Selection) -> Iterator[str]:
    if chosen.table and chosen.table[-1]["step"] == "lowered":
        first, last = chosen.table[0], chosen.table[-1]
        yield (
            f"the signal is weak: only {first['n_selected']} variable(s) pass the "
            f"universal penalty {first['penalty']:.3g}, so it was lowered to "
            f"{last['penalty']:.3g}; the selected variables are the strongest "
            "candidates, not findings"
        )


def _if_weak(total: Summary, *, weak: bool) -> Iterator[str]:
    if weak:
        yield (
            "the signal is weak: even the first direction cannot be distinguished from "
            f"noise (noise alone has an eigenvalue of {total.noise_floor:.3g} on "
            "average); do not rely on the selection"
        )


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
