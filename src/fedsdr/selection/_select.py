"""Choose the dimension and the penalty, and select variables."""

import numpy as np

from fedsdr.arrays import Vector
from fedsdr.exceptions import InputError, WeakSignalWarning, warn_user
from fedsdr.method import Auto, Bic, Method, Universal, Votes
from fedsdr.selection.dimension import (
    DimensionTest,
    add_directions,
    bic_choice,
    elect_dimension,
)
from fedsdr.selection.evidence import Evidence, Selection, Table
from fedsdr.selection.penalties import (
    solve_given,
    solve_universal,
    solve_validated,
    universal_penalty,
)
from fedsdr.solver import Solution, penalty_max


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
    total, rule = evidence.total, method.n_directions
    table: Table = ()
    spectrum: Vector = np.asarray(np.linalg.eigvalsh(total.kernel), dtype=np.float64)
    _check_rank(spectrum, rule)
    limit = rule.max_directions if isinstance(rule, Auto | Bic | Votes) else 5
    by_bic = bic_choice(spectrum, total.n_rows, limit)
    known: Solution | None = None
    if isinstance(rule, Auto):
        rho = _testing_penalty(evidence, method)
        known, tests = add_directions(total, rho, by_bic, limit, method.tol)
        k, table = known.n_directions, _test_table(tests, rho)
        if not tests[0].accepted:
            warn_user(
                "the signal is weak: even the first direction cannot be distinguished "
                f"from noise (eigenvalue {tests[0].eigenvalue:.3g}, for noise alone "
                f"{total.noise_floor:.3g} on average); do not rely on the selection",
                WeakSignalWarning,
            )
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
    return Selection(chosen.solution, (*table, *chosen.table))


def _testing_penalty(evidence: Evidence, method: Method) -> float:
    """Choose the penalty of the fits on which directions are tested."""
    total = evidence.total
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
