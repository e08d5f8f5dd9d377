"""Compute a result from sums in four stages: gather, select, estimate, report."""

import platform
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from typing import Any

import numpy as np

from fedsdr.arrays import Mask, Vector
from fedsdr.choices import Auto, Bic, Votes
from fedsdr.data.names import enumerate_names
from fedsdr.estimation.by_site import check_sites, estimate_by_site
from fedsdr.estimation.directions import (
    Estimate,
    estimate_pooled,
    orthonormal,
    warn_if_fewer,
)
from fedsdr.estimation.stand_ins import find_stand_ins
from fedsdr.exceptions import (
    CurvatureWarning,
    DimensionLimitWarning,
    InputError,
    SiteWarning,
    WeakSignalWarning,
    noted_warnings,
    warn_user,
)
from fedsdr.inference import (
    describe_certainty,
    examine_variables,
    jackknife,
    largest_dimension,
    select_by_tests,
)
from fedsdr.method import Method, response_type
from fedsdr.normal_scores import NormalScores, agree_on_scores, place_cuts
from fedsdr.questions import (
    AS_HELD,
    Adder,
    Asking,
    ColumnFrame,
    ColumnPowers,
    ColumnShapes,
    DiagonalsOf,
    GapTotals,
    MomentsOf,
    MomentSums,
    PrivateMoments,
    RowSettings,
    ScoreSteps,
    ask_at_once,
    ask_sites,
    fills_from,
    powers_from,
    shape_totals,
)
from fedsdr.result import Result
from fedsdr.selection import (
    Evidence,
    Selection,
    Wide,
    gather_wide,
    raise_penalty,
    select,
    select_on_candidates,
)
from fedsdr.solver import single_threaded_blas
from fedsdr.summaries.column_spread import Powers
from fedsdr.telling import tell
from fedsdr.terms import Terms, Variables, half_name

# Powers of two beyond which squares of numbers are not computed.
EXTREME = 150


@dataclass(frozen=True, slots=True, eq=False)
class Gathered:
    """Sums over all sites, on a common scale.

    Parameters
    ----------
    variables : Variables
        Names of the columns and type of the response.
    evidence : Evidence
        Sums over the usable columns, divided by their scale.
    frame : ColumnFrame
        Columns behind them: how they were prepared, which are usable, and their scale.
    wide : Wide, optional
        Sums of many columns, of which `evidence` and `frame` are the candidates.
    """

    variables: Variables
    evidence: Evidence
    frame: ColumnFrame
    wide: Wide | None = None


#: A stage after all others, which may ask sites for more.
Afterwards = Callable[[Gathered, Result], Asking[Result]]


def run(
    adder: Adder,
    method: Method,
    generator: np.random.Generator | None = None,
    afterwards: Afterwards | None = None,
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
    afterwards : callable, optional
        Last stage, for fits without privacy.

    Returns
    -------
    Result
        Result, with the method's parameters as its settings.
    """
    generator = np.random.default_rng(0) if generator is None else generator
    if method.privacy is None:
        stages = _stages(
            adder.variables,
            method,
            generator,
            wide=adder.is_wide,
            rows_here=adder.holds_rows,
            afterwards=afterwards,
        )
    else:
        stages = _private_stages(adder.variables, method, generator)
    with single_threaded_blas(), noted_warnings() as notes:
        found = ask_sites(adder, stages)
    # What a site noticed about its own rows stays there, unless they are the caller's.
    kept = dict.fromkeys(
        (category.__name__, text)
        for category, text in notes
        if adder.holds_rows or not issubclass(category, SiteWarning)
    )
    return replace(found, warnings=tuple(kept))


def _stages(
    variables: Variables,
    method: Method,
    generator: np.random.Generator,
    *,
    wide: bool,
    rows_here: bool,
    afterwards: Afterwards | None,
) -> Asking[Result]:
    """Go through all stages; what is yielded are questions to the sites."""
    gathered = yield from gather(variables, method, wide=wide)
    gathered, result = yield from _fit(gathered, method, generator, rows_here=rows_here)
    if afterwards is not None:
        result = yield from afterwards(gathered, result)
    return result


def fit_again(
    variables: Variables, method: Method, settings: RowSettings
) -> Asking[tuple[Gathered, Result]]:
    """Fit a method to other rows, whose columns are prepared as before.

    Parameters
    ----------
    variables : Variables
        Names of the columns and type of the response.
    method : Method
        Parameters of the fit.
    settings : RowSettings
        How rows are prepared, and without which fold.

    Returns
    -------
    gathered : Gathered
        Sums over these rows.
    result : Result
        Result of these rows. Sites are not asked whether they agree with it.

    Yields
    ------
    Question
        Questions to the sites.
    """
    gathered = yield from _gather_prepared(variables, method, settings)
    generator = np.random.default_rng(0)
    return (yield from _fit(gathered, method, generator, rows_here=False))


def _fit(
    gathered: Gathered,
    method: Method,
    generator: np.random.Generator,
    *,
    rows_here: bool,
) -> Asking[tuple[Gathered, Result]]:
    """Select, estimate and report; of many columns, the candidates are gathered too."""
    variables = gathered.variables
    tell("selecting variables, with proof")
    if gathered.wide is None:
        selection = yield from select(gathered.evidence, method, generator)
    else:
        known, selection = yield from select_on_candidates(
            gathered.wide, method, generator, rows_here=rows_here
        )
        gathered = _on_candidates(variables, known)
    certainty = None
    if method.tests:
        examining = examine_variables(
            gathered.evidence, gathered.frame, largest_dimension(method)
        )
    if method.selects_by_tests:
        certainty = yield from examining
        selection = select_by_tests(selection, certainty, method)
    tell("estimating directions on the selected variables")
    estimating = estimate(gathered, method, selection)
    if method.tests and certainty is None:
        certainty, found = yield from ask_at_once(examining, estimating)
    else:
        found = yield from estimating
    weak = selection.weak or found.weak
    if not weak and reaches_limit(gathered, method, found):
        warn_of_limit(found.directions.shape[1], method)
        found = replace(found, at_limit=True)
    result = report(gathered, method, selection, found)
    if certainty is not None:
        by_halves = jackknife(gathered.evidence, selection.own, found)
        sure = describe_certainty(certainty, found, gathered.frame, by_halves)
        result = replace(result, certainty=sure)
    return gathered, result


def _private_stages(
    variables: Variables, method: Method, generator: np.random.Generator
) -> Asking[Result]:
    """Go through all stages with one noisy sum, which is all that sites are asked."""
    if method.privacy is not None and variables.discrete != bool(
        method.privacy.classes
    ):
        raise InputError(
            "privacy must name all classes of y if y holds classes, and the range of y "
            "if it holds numbers: give Privacy(classes=...) or Privacy(response=...), "
            "or say with response='ordered' or 'classes' which of them y holds"
        )
    terms = method.terms(variables)
    question = PrivateMoments(terms)
    sums: Vector = yield question
    noisy = question.read(sums)
    _warn_of_noise(variables, noisy.usable)
    frame = ColumnFrame(terms, AS_HELD, noisy.usable, noisy.scale)
    gathered = Gathered(variables, Evidence(noisy.summary), frame)
    selection = yield from select(gathered.evidence, method, generator)
    selection = raise_penalty(noisy, selection, method)
    found = yield from estimate(gathered, method, selection)
    result = report(gathered, method, selection, found)
    settings = {**result.settings, "noise": noisy.facts()}
    return replace(
        result, n_rows=noisy.n_rows, n_sites=noisy.n_sites, settings=settings
    )


def _warn_of_noise(variables: Variables, usable: Mask) -> None:
    lost = [repr(variables.names[j]) for j in np.flatnonzero(~usable)]
    if lost:
        warn_user(
            f"{enumerate_names(lost)} vary too little beside the noise, and are left "
            "out: declare narrower ranges, or a larger epsilon",
            WeakSignalWarning,
        )


def gather(
    variables: Variables, method: Method, *, wide: bool = False
) -> Asking[Gathered]:
    """Ask the sites for all sums that a method needs, and put them on a common scale.

    Parameters
    ----------
    variables : Variables
        Names of the columns and type of the response.
    method : Method
        Parameters of the fit, which determine the sums.
    wide : bool, default=False
        Whether some site has numbers too large or too small to compute with.

    Returns
    -------
    Gathered
        Sums. Sites are asked again only for validation errors, during selection, and in
        the second stage.

    Yields
    ------
    Question
        Questions to the sites.
    """
    terms = method.terms(variables)
    powers = None
    if wide:
        powers = yield from agree_on_powers(
            variables, terms, standardize=method.standardize
        )
    settings = yield from _agree_on_settings(terms, variables.filled_places, powers)
    return (yield from _gather_prepared(variables, method, settings))


def _gather_prepared(
    variables: Variables, method: Method, settings: RowSettings
) -> Asking[Gathered]:
    """Ask for all sums of columns whose preparation is agreed on."""
    terms = method.terms(variables)
    if terms.max_columns:
        diagonals = yield DiagonalsOf(terms, settings)
        frame = _frame(terms, settings, diagonals.sigma, standardize=method.standardize)
        found = yield from gather_wide(frame, diagonals)
        return _on_candidates(variables, found)
    sums: MomentSums = yield MomentsOf(terms, settings)
    parts = sums.summaries()
    variances = np.diag(parts["total"].sigma)
    frame = _frame(terms, settings, variances, standardize=method.standardize)
    usable, scale = frame.usable, frame.scale
    scaled = {
        name: part.subset(usable).scaled(scale[usable]) for name, part in parts.items()
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
        errors=frame.errors_of if terms.validation_fraction else None,
        halves=tuple(scaled[half_name(half)] for half in range(2 * terms.n_splits)),
    )
    return Gathered(variables, evidence, frame)


def _frame(
    terms: Terms, settings: RowSettings, variances: Vector, *, standardize: bool
) -> ColumnFrame:
    """Find the usable columns, and their scale."""
    # Sites send zeros for a column that is constant up to rounding.
    usable = variances > 0.0
    if not usable.any():
        raise InputError(
            "every column of X is constant at every site: there is nothing to reduce"
        )
    scale = np.where(usable & standardize, np.sqrt(variances), 1.0)
    return ColumnFrame(terms, settings, usable, scale)


def _on_candidates(variables: Variables, wide: Wide) -> Gathered:
    """Go on with the candidates as if they were all columns."""
    return Gathered(variables, Evidence(wide.total), wide.candidate_frame, wide)


def agree_on_powers(
    variables: Variables, terms: Terms, *, standardize: bool = True
) -> Asking[Powers | None]:
    """Agree on powers of two by which columns are divided.

    Asked if some site has columns far from 1; squares of all other numbers can be
    computed, and added under masks, as they are.

    Parameters
    ----------
    variables : Variables
        Names of the columns.
    terms : Terms
        Terms that all parties agreed on.
    standardize : bool, default=True
        Whether columns are put on a common scale; otherwise they keep their units.

    Returns
    -------
    ndarray of int, shape (n_features,), or None
        Average over the sites of the power of two nearest to each column's standard
        deviation; None if columns keep their units.

    Yields
    ------
    Question
        A question to the sites.
    """
    powers = powers_from((yield ColumnPowers(terms)))
    if standardize:
        return powers
    extreme = np.flatnonzero(np.abs(powers) > EXTREME)
    if extreme.size:
        listed = enumerate_names([repr(variables.names[j]) for j in extreme])
        raise InputError(
            "with standardize=False columns keep their units, and squares of the "
            f"numbers of {listed} cannot be computed: rescale them, or standardize"
        )
    return None


def estimate(
    gathered: Gathered, method: Method, selection: Selection
) -> Asking[Estimate]:
    """Estimate the directions on the selected variables.

    Parameters
    ----------
    gathered : Gathered
        Sums over all sites.
    method : Method
        Parameters of the fit.
    selection : Selection
        Selected variables.

    Returns
    -------
    Estimate
        Directions. By default each site has its own covariance. None, if there is no
        signal and the method allows that nothing is found.

    Yields
    ------
    Question
        Questions to the sites; none if there is no signal.
    """
    total, own = gathered.evidence.total, selection.own
    if selection.by_response:
        total = total.by_response()
    solution, rule = selection.solution, method.n_directions
    if selection.weak and (method.allows_nothing or method.selects_by_tests):
        return Estimate.nothing(total.n_features)
    if not method.whitens_by_site or selection.weak:
        return estimate_pooled(total.mixed(own), solution, method)
    support = solution.active if selection.support is None else selection.support
    chosen, k = isinstance(rule, Auto), solution.n_directions
    found = yield from estimate_by_site(
        total,
        support,
        own,
        gathered.frame,
        n_directions=None if chosen else k,
        limit=rule.max_directions if isinstance(rule, Auto) else k,
        prune=not (isinstance(method.penalty, float) or method.selects_by_tests),
    )
    if not chosen:
        warn_if_fewer(found.directions.shape[1], k, support.size)
    noticed, one_span = yield from check_sites(
        total, support, own, gathered.frame, found
    )
    found = replace(found, disagreeing=noticed, one_span=one_span)
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


def reaches_limit(gathered: Gathered, method: Method, found: Estimate) -> bool:
    """Return whether a rule accepted the largest dimension that it considered.

    Parameters
    ----------
    gathered : Gathered
        Sums over all sites.
    method : Method
        Parameters of the fit.
    found : Estimate
        Directions.

    Returns
    -------
    bool
        True if there may be more directions. False if K was given as a number, and if
        there cannot be more: as many as columns, or as the sites' classes allow.
    """
    rule, total = method.n_directions, gathered.evidence.total
    if not isinstance(rule, Auto | Bic | Votes):
        return False
    possible = float(total.n_features)
    if gathered.variables.discrete and total.freedom:
        possible = min(possible, total.freedom)
    k = found.directions.shape[1]
    return k == rule.max_directions and k < possible


def warn_of_limit(n_directions: int, method: Method) -> None:
    """Warn that there may be more directions than were considered.

    Parameters
    ----------
    n_directions : int
        Number of directions found.
    method : Method
        Parameters of the fit.
    """
    rule = type(method.n_directions).__name__
    warn_user(
        f"all {n_directions} direction(s) that were considered were accepted, so there "
        f"may be more: raise max_directions, n_directions={rule}(max_directions="
        f"{n_directions + 3}), or give the number of directions",
        DimensionLimitWarning,
    )


def report(
    gathered: Gathered, method: Method, selection: Selection, found: Estimate
) -> Result:
    """Write the result in the units of the data.

    Parameters
    ----------
    gathered : Gathered
        Sums over all sites.
    method : Method
        Parameters of the fit.
    selection : Selection
        Selected variables and the certificate.
    found : Estimate
        Directions on the common scale.

    Returns
    -------
    Result
        Result, in which constant columns are never selected.
    """
    variables, total = gathered.variables, gathered.evidence.total
    frame, prepared = gathered.frame, gathered.frame.settings
    support = np.zeros(len(variables.names), dtype=bool)
    support[np.flatnonzero(frame.usable)[found.support]] = True
    settings = method.settings()
    settings["response_type"] = response_type(discrete=variables.discrete)
    powers = prepared.powers
    if powers is None:
        powers = np.zeros(len(variables.names), dtype=np.int64)
    if prepared.fills is not None:
        own = powers[list(variables.filled_places)]
        values = np.ldexp(prepared.fills, own).tolist()
        settings["filled_with"] = dict(zip(variables.filled, values, strict=True))
    solution = selection.solution
    table = (*selection.table, *found.table)
    if not found.support.size:
        table = tuple(map(_not_chosen, table))
    weak = selection.weak or found.weak
    scores, scale = prepared.scores, frame.scale
    if scores is not None:
        # Scores have no units; the values that they belong to have.
        scores = NormalScores(np.ldexp(scores.points, powers[:, None]), scores.scores)
    else:
        scale = np.ldexp(scale, powers)
    directions = replace(frame, scale=scale).in_units(found.directions)
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
        scale=scale,
        validation=table,
        settings=settings,
        provenance=provenance(),
        weak=weak,
        at_limit=found.at_limit,
        n_certified=0 if gathered.wide is None else solution.n_certified,
        scores=scores,
        stand_ins={} if weak else _stand_ins(gathered, selection, found),
        agreement={} if found.one_span is None else found.one_span.to_mapping(),
    )


def _stand_ins(
    gathered: Gathered, selection: Selection, found: Estimate
) -> dict[str, tuple[str, ...]]:
    """Name the near-twins that could replace selected variables."""
    total = gathered.evidence.total.mixed(selection.own)
    listed = find_stand_ins(total, found.support, found.directions.shape[1])
    names = [gathered.variables.names[j] for j in np.flatnonzero(gathered.frame.usable)]
    return {names[j]: tuple(names[k] for k in twins) for j, twins in listed.items()}


def provenance() -> dict[str, str]:
    """Return the versions of the software and the current time.

    Returns
    -------
    dict
        Versions and time.
    """
    created = datetime.now(UTC).isoformat(timespec="seconds")
    return {"created": created, **_versions()}


@cache
def _versions() -> dict[str, str]:
    # Looked up in files, which takes as long as a small fit.
    packages = ("fedsdr", "numpy", "scipy", "scikit-learn")
    found = {name: version(name) for name in packages}
    return {"python": platform.python_version(), **found}


def _agree_on_settings(
    terms: Terms, places: tuple[int, ...], powers: Powers | None
) -> Asking[RowSettings]:
    """Compute the values for gaps, and the scores of the columns, if needed."""
    if terms.scored:
        described = yield ColumnShapes(terms, powers)
        cuts = place_cuts(described)
        steps = yield ScoreSteps(terms, cuts, powers)
        fills = fills_from(shape_totals(described, places)) if places else None
        return RowSettings(powers, places, fills, agree_on_scores(cuts, steps))
    if not places:
        return RowSettings(powers)
    totals = yield GapTotals(places, powers)
    return RowSettings(powers, places, fills_from(totals))


def _not_chosen(row: dict[str, Any]) -> dict[str, Any]:
    """Say in the table of the choices that no direction was kept."""
    tests = row["step"] in ("dimension", "sites")
    return {**row, "chosen": False} if tests else row
