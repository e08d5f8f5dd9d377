"""Compute a result from sums in four stages: gather, select, estimate, report."""

import platform
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import numpy as np

from fedsdr.arrays import Mask, Matrix, Vector
from fedsdr.estimation.alarms import (
    usual_at_sites,
    warn_of_covariances,
    warn_of_findings,
)
from fedsdr.estimation.directions import (
    Estimate,
    estimate_pooled,
    orthonormal,
    warn_if_fewer,
)
from fedsdr.estimation.site_likelihood import estimate_by_site
from fedsdr.exceptions import (
    CurvatureWarning,
    InputError,
    WeakSignalWarning,
    warn_user,
)
from fedsdr.method import Auto, Method, Terms
from fedsdr.normal_scores import NormalScores, agree_on_scores, place_cuts
from fedsdr.questions import (
    Adder,
    AgreementOf,
    CandidateErrors,
    ColumnShapes,
    GapTotals,
    MomentsOf,
    ProfileOf,
    ScoreSteps,
    SpreadOf,
)
from fedsdr.result import Result
from fedsdr.selection import Evidence, Selection, select
from fedsdr.solver import single_threaded_blas
from fedsdr.summaries.profile import N_SPREAD, Common, PooledCovariance, Profile
from fedsdr.summaries.site_agreement import Expected


@dataclass(frozen=True, slots=True, eq=False)
class Gathered:
    """Sums over all sites, on a common scale.

    Parameters
    ----------
    evidence : Evidence
        Sums over the usable columns, divided by their scale.
    usable : ndarray of bool, shape (n_features,)
        Columns that vary at some site.
    scale : ndarray of shape (n_features,)
        Divisor of each column.
    fills : ndarray or None
        Values that gaps were filled with, in the order of `Variables.filled`.
    scores : NormalScores or None, default=None
        Scores that the columns were replaced by.
    """

    evidence: Evidence
    usable: Mask
    scale: Vector
    fills: Vector | None
    scores: NormalScores | None = None


def run(
    adder: Adder, method: Method, generator: np.random.Generator | None = None
) -> Result:
    """Fit a method to the rows of all sites.

    The estimator, a study's coordinator and the command line all call this function,
    with different adders.

    Parameters
    ----------
    adder : Adder
        Function that computes sums over the sites.
    method : Method
        Parameters of the fit.
    generator : numpy.random.Generator, optional
        Generator that decides between equally frequent votes.

    Returns
    -------
    Result
        Result, with the method's parameters as its settings.
    """
    generator = np.random.default_rng(0) if generator is None else generator
    with single_threaded_blas():
        gathered = gather(adder, method)
        selection = select(gathered.evidence, method, generator)
        found = estimate(adder, method, gathered, selection)
        return report(adder, method, gathered, selection, found)


def gather(adder: Adder, method: Method) -> Gathered:
    """Ask the sites for all sums that a method needs, and put them on a common scale.

    Parameters
    ----------
    adder : Adder
        Function that computes sums over the sites.
    method : Method
        Parameters of the fit, which determine the sums.

    Returns
    -------
    Gathered
        Sums. Sites are asked again only for validation errors, during selection.
    """
    variables = adder.variables
    terms, places = method.terms(variables), variables.filled_places
    fills, scores = _agree_on_rows(adder, terms, places)
    sums = adder(MomentsOf(terms, places, fills, scores))
    variances = np.diag(sums.parts["total"].sigma)
    usable = variances > 1e-28 * variances.max(initial=0.0)
    if not usable.any():
        raise InputError(
            "every column of X is constant at every site: there is nothing to reduce"
        )
    scale = np.where(usable & method.standardize, np.sqrt(variances), 1.0)

    def ask_errors(bases: Sequence[Matrix]) -> Vector:
        candidates = [_in_units(basis, usable, scale) for basis in bases]
        return adder(CandidateErrors(terms, candidates, places, fills, scores))

    scaled = {
        name: part.subset(usable).scaled(scale[usable])
        for name, part in sums.parts.items()
    }
    counts = np.asarray(np.rint(sums.votes), dtype=int)
    evidence = Evidence(
        scaled["total"],
        votes=tuple(np.repeat(np.arange(1, counts.size + 1), counts).tolist()),
        folds=tuple(
            (scaled[f"fit:{fold}"], scaled[f"held:{fold}"])
            for fold in range(terms.n_folds)
        ),
        fitting=scaled.get("fitting"),
        errors=ask_errors if terms.validation_fraction else None,
    )
    return Gathered(evidence, usable, scale, fills, scores)


def estimate(
    adder: Adder, method: Method, gathered: Gathered, selection: Selection
) -> Estimate:
    """Estimate the directions on the selected variables.

    Parameters
    ----------
    adder : Adder
        Function that computes sums over the sites.
    method : Method
        Parameters of the fit.
    gathered : Gathered
        Sums over all sites.
    selection : Selection
        Selected variables.

    Returns
    -------
    Estimate
        Directions. By default each site has its own covariance; if there is no signal,
        nothing more is asked of the sites. None, if there is no signal and the method
        allows that nothing is found.
    """
    total, own = gathered.evidence.total, selection.own
    solution, rule = selection.solution, method.n_directions
    if selection.weak and method.allows_nothing:
        return Estimate.nothing(total.n_features)
    if not method.whitens_by_site or selection.weak:
        return estimate_pooled(total.mixed(own), solution, method)
    support = solution.active if selection.support is None else selection.support
    columns = np.flatnonzero(gathered.usable)[support]
    variables = adder.variables
    terms, places = method.terms(variables), variables.filled_places

    scale, fills, scores = gathered.scale[columns], gathered.fills, gathered.scores

    def ask(
        basis: Matrix, common: Common | None, target: PooledCovariance | None
    ) -> Profile:
        return adder(
            ProfileOf(
                terms, columns, scale, basis, common, target, places, fills, scores
            )
        )

    usual = np.zeros(len(variables.names))

    def ask_spread(sigma: Matrix) -> Vector:
        spread = adder(SpreadOf(terms, columns, scale, sigma, places, fills, scores))
        warn_of_covariances(spread[:N_SPREAD], total.n_rows, columns.size)
        logarithms, counts = np.split(spread[N_SPREAD:], 2)
        usual[:] = np.exp(logarithms / np.maximum(counts, 1.0)) * (counts > 0.5)
        return spread

    chosen = isinstance(rule, Auto)
    k = solution.n_directions
    found = estimate_by_site(
        total,
        support,
        own,
        ask,
        ask_spread,
        n_directions=None if chosen else k,
        limit=rule.max_directions if chosen else k,
        prune=not isinstance(method.penalty, float),
    )
    if not chosen:
        warn_if_fewer(found.directions.shape[1], k, support.size)
    if not found.weak:
        noise = total.mixed(own).noise_floor
        shares = np.clip(found.eigenvalues - noise, 0.0, None)
        usually = usual_at_sites(shares, found.unevenness, total.n_sites)
        expected = Expected(found.directions[support], usually)
        findings = adder(
            AgreementOf(terms, columns, scale, expected, usual, places, fills, scores)
        )
        warn_of_findings(findings, total, columns, found.unevenness)
    if found.weak and method.allows_nothing:
        return Estimate.nothing(total.n_features, found.table)
    if found.weak:
        warn_user(
            "the signal is weak: a few large values of the selected variables can "
            "explain it; do not rely on the selection, or try transformed columns",
            WeakSignalWarning,
        )
    if found.curved:
        warn_user(
            "the selected variables are related to each other by curves: a further "
            "direction is only a curve of those reported, and is not counted",
            CurvatureWarning,
        )
    return found


def report(
    adder: Adder,
    method: Method,
    gathered: Gathered,
    selection: Selection,
    found: Estimate,
) -> Result:
    """Write the result in the units of the data.

    Parameters
    ----------
    adder : Adder
        Adder, which has the names of the columns.
    method : Method
        Parameters of the fit.
    gathered : Gathered
        Sums over all sites.
    selection : Selection
        Selected variables and the certificate.
    found : Estimate
        Directions on the common scale.

    Returns
    -------
    Result
        Result, in which constant columns are never selected.
    """
    variables, total = adder.variables, gathered.evidence.total
    support = np.zeros(len(variables.names), dtype=bool)
    support[np.flatnonzero(gathered.usable)[found.support]] = True
    settings = method.settings()
    if gathered.fills is not None:
        values = gathered.fills.tolist()
        settings["filled_with"] = dict(zip(variables.filled, values, strict=True))
    solution = selection.solution
    table = (*selection.table, *found.table)
    if not found.support.size:
        table = tuple(map(_not_chosen, table))
    directions = _in_units(found.directions, gathered.usable, gathered.scale)
    return Result(
        feature_names=variables.names,
        directions=orthonormal(directions),
        support=support,
        eigenvalues=found.eigenvalues,
        penalty=solution.penalty,
        objective=solution.objective,
        dual_bound=solution.dual_bound,
        gap=solution.gap,
        converged=solution.converged,
        n_iter=max(solution.n_iter, 1),
        n_rows=total.n_rows,
        n_sites=total.n_sites,
        scale=gathered.scale,
        validation=table,
        settings=settings,
        provenance=provenance(),
        weak=selection.weak or found.weak,
        scores=gathered.scores,
    )


def provenance() -> dict[str, str]:
    """Return the versions of the software and the current time.

    Returns
    -------
    dict
        Versions and time.
    """
    packages = ("fedsdr", "numpy", "scipy", "scikit-learn")
    return {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        **{name: version(name) for name in packages},
    }


def _agree_on_rows(
    adder: Adder, terms: Terms, places: tuple[int, ...]
) -> tuple[Vector | None, NormalScores | None]:
    """Compute the values for gaps, and the scores of the columns, if needed."""
    if not terms.scored:
        return _pooled_means(adder(GapTotals(places))) if places else None, None
    described = adder(ColumnShapes(terms))
    totals = np.ravel(described[:2, list(places)])
    fills = _pooled_means(totals) if places else None
    cuts = place_cuts(described)
    return fills, agree_on_scores(cuts, adder(ScoreSteps(terms, cuts)))


def _pooled_means(totals: Vector) -> Vector:
    """Compute the means of columns with gaps from their counts and sums."""
    counts, sums = np.split(totals, 2)
    empty = int((counts < 0.5).sum())
    if empty:
        raise InputError(
            f"{empty} column(s) to be filled with a mean have no value at any site: "
            "leave them out of the study"
        )
    return sums / np.rint(counts)


def _not_chosen(row: dict[str, Any]) -> dict[str, Any]:
    """Say in the table of the choices that no direction was kept."""
    tests = row["step"] in ("dimension", "sites")
    return {**row, "chosen": False} if tests else row


def _in_units(basis: Matrix, usable: Mask, scale: Vector) -> Matrix:
    """Write directions on the common scale as coefficients of all columns."""
    full = np.zeros((usable.size, basis.shape[1]))
    full[usable] = basis / scale[usable, None]
    return full
