"""Compute a result from sums in four stages: gather, select, estimate, report."""

import platform
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedsdr.arrays import Mask, Matrix, Vector
from fedsdr.data.names import enumerate_names
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
from fedsdr.estimation.site_likelihood import Index, estimate_by_site
from fedsdr.estimation.stand_ins import find_stand_ins
from fedsdr.exceptions import (
    CurvatureWarning,
    DimensionLimitWarning,
    InputError,
    WeakSignalWarning,
    warn_user,
)
from fedsdr.method import Auto, Bic, Method, Terms, Votes, response_type
from fedsdr.normal_scores import NormalScores, agree_on_scores, place_cuts
from fedsdr.questions import (
    Adder,
    AgreementOf,
    CandidateErrors,
    ColumnPowers,
    ColumnShapes,
    GapTotals,
    MomentsOf,
    ProfileOf,
    RemainderOf,
    ScoreSteps,
    SpreadOf,
)
from fedsdr.result import Result
from fedsdr.selection import Evidence, Selection, select
from fedsdr.solver import single_threaded_blas
from fedsdr.summaries.column_spread import Powers
from fedsdr.summaries.profile import N_SPREAD, Common, PooledCovariance, Profile
from fedsdr.summaries.remainder import N_REST
from fedsdr.summaries.site_agreement import Expected, Findings

# Powers of two beyond which squares of numbers are not computed.
EXTREME = 150


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
        Divisor of each column, after it has been divided by the power of two.
    fills : ndarray or None
        Values that gaps were filled with, in the order of `Variables.filled`.
    scores : NormalScores or None, default=None
        Scores that the columns were replaced by.
    powers : ndarray of int, shape (n_features,), or None, default=None
        Powers of two that the columns were divided by first.
    """

    evidence: Evidence
    usable: Mask
    scale: Vector
    fills: Vector | None
    scores: NormalScores | None = None
    powers: Powers | None = None


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
        weak = selection.weak or found.weak
        if not weak and reaches_limit(adder, method, gathered, found):
            warn_of_limit(found.directions.shape[1], method)
            found = replace(found, at_limit=True)
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
    powers = agree_on_powers(adder, terms, standardize=method.standardize)
    fills, scores = _agree_on_rows(adder, terms, places, powers)
    sums = adder(MomentsOf(terms, places, fills, scores, powers))
    variances = np.diag(sums.parts["total"].sigma)
    # Sites send zeros for a column that is constant up to rounding.
    usable = variances > 0.0
    if not usable.any():
        raise InputError(
            "every column of X is constant at every site: there is nothing to reduce"
        )
    scale = np.where(usable & method.standardize, np.sqrt(variances), 1.0)

    def ask_errors(bases: Sequence[Matrix]) -> Vector:
        candidates = [_in_units(basis, usable, scale) for basis in bases]
        return adder(CandidateErrors(terms, candidates, places, fills, scores, powers))

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
    return Gathered(evidence, usable, scale, fills, scores, powers)


def agree_on_powers(
    adder: Adder, terms: Terms, *, standardize: bool = True
) -> Powers | None:
    """Agree on powers of two by which columns are divided, if numbers need it.

    Parameters
    ----------
    adder : Adder
        Function that computes sums over the sites.
    terms : Terms
        Terms that all parties agreed on.
    standardize : bool, default=True
        Whether columns are put on a common scale; otherwise they keep their units.

    Returns
    -------
    ndarray of int, shape (n_features,), or None
        Average over the sites of the power of two nearest to a column's standard
        deviation. None if no site has columns far from 1, which are all squares of
        numbers that can be computed, and added under masks, as they are.
    """
    if not adder.is_wide:
        return None
    sums, counts = adder(ColumnPowers(terms))
    powers = np.rint(sums / np.maximum(np.rint(counts), 1.0)).astype(np.int64)
    if standardize:
        return powers
    extreme = np.flatnonzero(np.abs(powers) > EXTREME)
    if extreme.size:
        listed = enumerate_names([repr(adder.variables.names[j]) for j in extreme])
        raise InputError(
            "with standardize=False columns keep their units, and squares of the "
            f"numbers of {listed} cannot be computed: rescale them, or standardize"
        )
    return None


class _SecondStage:
    """Asks the sites of an adder for the sums of the second stage."""

    def __init__(self, adder: Adder, method: Method, gathered: Gathered) -> None:
        variables = adder.variables
        self._adder, self._terms = adder, method.terms(variables)
        self._prepared = (
            variables.filled_places,
            gathered.fills,
            gathered.scores,
            gathered.powers,
        )
        self._usable, self._scale = np.flatnonzero(gathered.usable), gathered.scale
        self._n_rows = gathered.evidence.total.n_rows
        self._usual = np.zeros(len(variables.names))
        #: What `warn_of_covariances` needs to know.
        self.distances: tuple[Vector, int, int] = (np.zeros(N_SPREAD), 0, 0)

    def profile(
        self,
        support: Index,
        basis: Matrix,
        common: Common | None,
        target: PooledCovariance | None,
    ) -> Profile:
        """Ask for the sums at some directions."""
        columns, scale = self._selected(support)
        return self._adder(
            ProfileOf(
                self._terms, columns, scale, basis, common, target, *self._prepared
            )
        )

    def spread(self, support: Index, sigma: Matrix) -> Vector:
        """Ask how far covariances, and variances of all columns, are apart."""
        columns, scale = self._selected(support)
        spread = self._adder(
            SpreadOf(self._terms, columns, scale, sigma, *self._prepared)
        )
        self.distances = spread[:N_SPREAD], self._n_rows, support.size
        logarithms, counts = np.split(spread[N_SPREAD:], 2)
        self._usual = np.exp2(logarithms / np.maximum(counts, 1.0)) * (counts > 0.5)
        return spread

    def remainder(self, support: Index, basis: Matrix) -> Vector:
        """Ask what y has to do with every usable column beside directions."""
        columns, scale = self._selected(support)
        sums = self._adder(
            RemainderOf(self._terms, columns, scale, basis, *self._prepared)
        )
        return np.concatenate([sums[:-N_REST][self._usable], sums[-N_REST:]])

    def agreement(
        self, found: Estimate, usually: Vector
    ) -> tuple[Findings, NDArray[np.intp]]:
        """Ask whether the sites agree, and return the columns that were named."""
        support = np.flatnonzero(found.directions.any(axis=1))
        columns, scale = self._selected(support)
        expected = Expected(found.directions[support], usually)
        findings = self._adder(
            AgreementOf(
                self._terms, columns, scale, expected, self._usual, *self._prepared
            )
        )
        return findings, columns

    def _selected(self, support: Index) -> tuple[NDArray[np.intp], Vector]:
        columns = self._usable[support]
        return columns, self._scale[columns]


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
    if selection.by_response:
        total = total.by_response()
    solution, rule = selection.solution, method.n_directions
    if selection.weak and method.allows_nothing:
        return Estimate.nothing(total.n_features)
    if not method.whitens_by_site or selection.weak:
        return estimate_pooled(total.mixed(own), solution, method)
    support = solution.active if selection.support is None else selection.support
    sites = _SecondStage(adder, method, gathered)
    chosen = isinstance(rule, Auto)
    k = solution.n_directions
    found = estimate_by_site(
        total,
        support,
        own,
        sites,
        n_directions=None if chosen else k,
        limit=rule.max_directions if chosen else k,
        prune=not isinstance(method.penalty, float),
    )
    if not chosen:
        warn_if_fewer(found.directions.shape[1], k, support.size)
    warn_of_covariances(*sites.distances)
    if not found.weak:
        noise = total.mixed(own).noise_floor
        shares = np.clip(found.eigenvalues - noise, 0.0, None)
        usually = usual_at_sites(shares, found.unevenness, total.n_sites)
        findings, columns = sites.agreement(found, usually)
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


def reaches_limit(
    adder: Adder, method: Method, gathered: Gathered, found: Estimate
) -> bool:
    """Return whether a rule accepted the largest dimension that it considered.

    Parameters
    ----------
    adder : Adder
        Adder, which knows whether y holds classes.
    method : Method
        Parameters of the fit.
    gathered : Gathered
        Sums over all sites.
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
    if adder.variables.discrete and total.freedom:
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
    settings["response_type"] = response_type(discrete=variables.discrete)
    powers = gathered.powers
    if powers is None:
        powers = np.zeros(len(variables.names), dtype=np.int64)
    if gathered.fills is not None:
        own = powers[list(variables.filled_places)]
        values = np.ldexp(gathered.fills, own).tolist()
        settings["filled_with"] = dict(zip(variables.filled, values, strict=True))
    solution = selection.solution
    table = (*selection.table, *found.table)
    if not found.support.size:
        table = tuple(map(_not_chosen, table))
    weak = selection.weak or found.weak
    scores, scale = gathered.scores, gathered.scale
    if scores is not None:
        # Scores have no units; the values that they belong to have.
        scores = NormalScores(np.ldexp(scores.points, powers[:, None]), scores.scores)
    else:
        scale = np.ldexp(scale, powers)
    directions = _in_units(found.directions, gathered.usable, scale)
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
        scores=scores,
        stand_ins={} if weak else _stand_ins(adder, gathered, selection, found),
    )


def _stand_ins(
    adder: Adder, gathered: Gathered, selection: Selection, found: Estimate
) -> dict[str, tuple[str, ...]]:
    """Name the near-twins that could replace selected variables."""
    total = gathered.evidence.total.mixed(selection.own)
    listed = find_stand_ins(total, found.support, found.directions.shape[1])
    names = [adder.variables.names[j] for j in np.flatnonzero(gathered.usable)]
    return {names[j]: tuple(names[k] for k in twins) for j, twins in listed.items()}


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
    adder: Adder, terms: Terms, places: tuple[int, ...], powers: Powers | None
) -> tuple[Vector | None, NormalScores | None]:
    """Compute the values for gaps, and the scores of the columns, if needed."""
    if not terms.scored:
        totals = adder(GapTotals(places, powers)) if places else None
        return None if totals is None else _pooled_means(totals), None
    described = adder(ColumnShapes(terms, powers))
    totals = np.ravel(described[:2, list(places)])
    fills = _pooled_means(totals) if places else None
    cuts = place_cuts(described)
    return fills, agree_on_scores(cuts, adder(ScoreSteps(terms, cuts, powers)))


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
