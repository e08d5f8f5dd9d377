"""Read questions from messages that are not trusted, and check all of them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from fedsdr.arrays import Matrix, Vector
from fedsdr.exceptions import Refusal
from fedsdr.normal_scores import N_CUTS, NormalScores
from fedsdr.questions.additive_steps import AxesOf, NewtonOf
from fedsdr.questions.checked_arrays import (
    LARGEST_COEFFICIENT,
    LARGEST_PROFILE,
    is_array,
    is_basis,
    read_columns,
    read_covariance,
    read_selected,
)
from fedsdr.questions.column_sums import (
    ColumnPowers,
    ColumnShapes,
    GapTotals,
    ScoreSteps,
)
from fedsdr.questions.held_out import HeldOutOf
from fedsdr.questions.many_columns import BlockOf, ColumnsOf, DiagonalsOf
from fedsdr.questions.moments import CandidateErrors, MomentsOf
from fedsdr.questions.pictures_of import PicturesOf
from fedsdr.questions.private_moments import PrivateMoments
from fedsdr.questions.question import Question, RowSettings
from fedsdr.questions.reading_models import MODELLED, read_modelled
from fedsdr.questions.reading_tests import TESTED, read_split_tests
from fedsdr.questions.second_stage import ProfileOf, RemainderOf, SpreadOf
from fedsdr.questions.site_findings import AgreementOf
from fedsdr.questions.split_tests import SplitTestsOf
from fedsdr.questions.tested_spread import SpreadWithTests
from fedsdr.rows.folds import ScoreFold
from fedsdr.rows.site_rows import LARGEST
from fedsdr.summaries.column_spread import Powers
from fedsdr.summaries.picture_sums import MOST_PICTURED
from fedsdr.summaries.profile import Common, PooledCovariance
from fedsdr.summaries.site_agreement import Expected
from fedsdr.terms import Terms

#: Sums that are asked for once more without each fold.
FOLDED = (
    *(MomentsOf.name, DiagonalsOf.name, BlockOf.name, ColumnsOf.name),
    *(SpreadOf.name, ProfileOf.name, RemainderOf.name, AxesOf.name, NewtonOf.name),
)

# Larger than the power of any number.
LARGEST_POWER = 1100
# Scores of one site are below 10, and those of sites with other means beside them.
LARGEST_SCORE = 1e4


def read_question(
    name: str, request: Mapping[str, Any], terms: Terms, places: tuple[int, ...]
) -> Question[Any]:
    """Read a question from an untrusted message, and check all of it.

    Parameters
    ----------
    name : str
        Name of the sum.
    request : mapping of str to object
        Content of the message; not necessarily one that `Question.request` wrote.
    terms : Terms
        Terms that the site agreed to.
    places : tuple of int
        Indices of the columns whose gaps are filled.

    Returns
    -------
    Question
        Question. A `Refusal` "MALFORMED" is raised if the terms do not allow it.
    """
    if not isinstance(request, Mapping):
        raise Refusal("MALFORMED")
    rest = dict(request)
    if terms.privacy is not None:
        # Every other sum would be exact.
        if name == PrivateMoments.name and not rest:
            return PrivateMoments(terms)
        raise Refusal("MALFORMED", "a study with privacy has one sum, with noise")
    if name == ColumnPowers.name and not rest:
        return ColumnPowers(terms)
    powers = _read_powers(rest, terms.n_features)
    if name == ColumnShapes.name and terms.scored and not rest:
        return ColumnShapes(terms, powers)
    if name == ScoreSteps.name and terms.scored and set(rest) == {"cuts"}:
        shape = (terms.n_features, N_CUTS)
        return ScoreSteps(terms, _read_rising(rest, "cuts", shape, LARGEST), powers)
    # Means of a study with scores are computed from the shapes.
    if name == GapTotals.name and places and not terms.scored and not rest:
        return GapTotals(places, powers)
    fills = _read_fills(rest, len(places)) if places else None
    scores = _read_scores(rest, terms.n_features) if terms.scored else None
    fold = _read_fold(name, rest, terms)
    if fold is not None:
        terms = terms.outside_folds
    question: Any = None
    if name == MomentsOf.name and not rest and not terms.max_columns:
        question = MomentsOf(terms)
    elif name == DiagonalsOf.name and not rest and terms.max_columns:
        question = DiagonalsOf(terms)
    elif name == BlockOf.name and terms.max_columns:
        question = BlockOf(terms, _read_asked(rest, terms, terms.max_columns))
    elif name == ColumnsOf.name and terms.max_columns:
        question = ColumnsOf(terms, _read_asked(rest, terms, terms.columns_at_once))
    elif name == CandidateErrors.name and terms.validation_fraction > 0.0:
        question = CandidateErrors(terms, _read_bases(rest, terms))
    elif name == AgreementOf.name and terms.max_profiles:
        question = _read_agreement(rest, terms)
    elif name == SpreadOf.name and terms.max_profiles:
        question = _read_spread(rest, terms)
    elif name == RemainderOf.name and terms.max_profiles:
        question = _read_remainder(rest, terms)
    elif name == ProfileOf.name and terms.max_profiles:
        question = _read_profile(rest, terms)
    elif name == SplitTestsOf.name and terms.n_splits:
        question = read_split_tests(rest, terms)
    elif name == SpreadWithTests.name and terms.n_splits and terms.max_profiles:
        tests = {key: rest.pop(key) for key in TESTED if key in rest}
        question = SpreadWithTests(
            read_split_tests(tests, terms), _read_spread(rest, terms)
        )
    elif name == PicturesOf.name and terms.picture_rows:
        question = _read_pictures(rest, terms)
    elif name in MODELLED and terms.max_steps:
        question = read_modelled(name, rest, terms)
    elif name == HeldOutOf.name and terms.score_folds and not rest:
        question = HeldOutOf(terms)
    if question is None:
        raise Refusal("MALFORMED", "the study does not ask for such a sum")
    return replace(question, settings=RowSettings(powers, places, fills, scores, fold))


def _read_fold(name: str, rest: dict[str, Any], terms: Terms) -> ScoreFold | None:
    if "fold" not in rest:
        return None
    number, n_folds = rest.pop("fold"), terms.score_folds
    if type(number) is not int or not 1 <= number <= n_folds:
        raise Refusal("MALFORMED")
    if name not in FOLDED:
        raise Refusal("MALFORMED", "the study does not ask for such a sum of a fold")
    return ScoreFold(number, n_folds)


def _read_powers(rest: dict[str, Any], n_features: int) -> Powers | None:
    if "powers" not in rest:
        return None
    powers = rest.pop("powers")
    if not isinstance(powers, np.ndarray) or powers.dtype != np.int64:
        raise Refusal("MALFORMED")
    if powers.shape != (n_features,) or not (np.abs(powers) <= LARGEST_POWER).all():
        raise Refusal("MALFORMED")
    return powers


def _read_fills(rest: dict[str, Any], n_places: int) -> Vector:
    means = rest.pop("means", None)
    if not isinstance(means, np.ndarray) or means.shape != (n_places,):
        raise Refusal("MALFORMED")
    if not np.isfinite(means).all():
        raise Refusal("MALFORMED")
    return means


def _read_scores(rest: dict[str, Any], n_features: int) -> NormalScores:
    shape = (n_features, N_CUTS + 1)
    return NormalScores(
        _read_rising(rest, "points", shape, LARGEST),
        _read_rising(rest, "scores", shape, LARGEST_SCORE),
    )


def _read_rising(
    rest: dict[str, Any], name: str, shape: tuple[int, int], largest: float
) -> Matrix:
    """Read a matrix of bounded numbers that do not decrease in any row."""
    values = rest.pop(name, None)
    if not isinstance(values, np.ndarray) or values.shape != shape:
        raise Refusal("MALFORMED")
    if values.dtype != np.float64 or not (np.abs(values) < largest).all():
        raise Refusal("MALFORMED")
    if (np.diff(values, axis=1) < 0.0).any():
        raise Refusal("MALFORMED")
    return values


def _read_bases(rest: dict[str, Any], terms: Terms) -> list[Matrix]:
    bases = rest.get("bases")
    if not isinstance(bases, list) or set(rest) != {"bases"}:
        raise Refusal("MALFORMED")
    if len(bases) > terms.max_candidates:
        raise Refusal("MALFORMED", "more candidates than were agreed on")
    if not all(is_basis(basis, terms.n_features) for basis in bases):
        raise Refusal("MALFORMED")
    return bases


def _read_asked(rest: dict[str, Any], terms: Terms, most: int) -> Any:
    columns = read_columns(rest, terms)
    if rest:
        raise Refusal("MALFORMED")
    if columns.size > most:
        raise Refusal("MALFORMED", "more columns than were agreed on")
    return columns


def _read_spread(rest: dict[str, Any], terms: Terms) -> SpreadOf:
    columns, scale = read_selected(rest, terms)
    sigma = read_covariance(rest.pop("sigma", None), columns.size)
    if rest:
        raise Refusal("MALFORMED")
    return SpreadOf(terms, columns, scale, sigma)


def _read_remainder(rest: dict[str, Any], terms: Terms) -> RemainderOf:
    columns, scale = read_selected(rest, terms)
    basis = rest.pop("basis", None)
    if rest or not is_basis(basis, columns.size) or not basis.shape[1]:
        raise Refusal("MALFORMED")
    return RemainderOf(terms, columns, scale, basis)


def _read_pictures(rest: dict[str, Any], terms: Terms) -> PicturesOf:
    columns, scale = read_selected(rest, terms)
    basis = rest.pop("basis", None)
    if rest or not is_basis(basis, columns.size):
        raise Refusal("MALFORMED")
    if not 1 <= basis.shape[1] <= MOST_PICTURED:
        raise Refusal("MALFORMED", "more pictures than a study has")
    return PicturesOf(terms, columns, scale, basis)


def _read_agreement(rest: dict[str, Any], terms: Terms) -> AgreementOf:
    columns, scale = read_selected(rest, terms)
    basis, shares = rest.pop("basis", None), rest.pop("shares", None)
    if not is_basis(basis, columns.size) or not basis.shape[1]:
        raise Refusal("MALFORMED")
    if not is_array(shares, (basis.shape[1],)) or not (shares >= 0.0).all():
        raise Refusal("MALFORMED")
    variances = rest.pop("variances", None)
    if rest or not is_array(variances, (terms.n_features,)):
        raise Refusal("MALFORMED")
    return AgreementOf(terms, columns, scale, Expected(basis, shares), variances)


def _read_profile(rest: dict[str, Any], terms: Terms) -> ProfileOf:
    columns, scale = read_selected(rest, terms)
    basis = rest.pop("basis", None)
    if not is_basis(basis, columns.size) or not basis.shape[1]:
        raise Refusal("MALFORMED")
    if basis.size > LARGEST_PROFILE:
        raise Refusal("MALFORMED", "a profile of too many variables and directions")
    target = None
    if "weight" in rest:
        weight = rest.pop("weight")
        if not isinstance(weight, float) or not 0.0 <= weight <= 1.0:
            raise Refusal("MALFORMED")
        target = PooledCovariance(
            weight, read_covariance(rest.pop("sigma", None), columns.size)
        )
    common = _read_common(rest, terms, basis.shape[1]) if rest else None
    return ProfileOf(terms, columns, scale, basis, common, target)


def _read_common(rest: dict[str, Any], terms: Terms, n_directions: int) -> Common:
    if set(rest) != {"own", "common", "n_rows"} or not terms.n_functions:
        raise Refusal("MALFORMED")
    own, n_rows, coefficients = rest["own"], rest["n_rows"], rest["common"]
    if not isinstance(own, float) or not 0.0 <= own <= 1.0:
        raise Refusal("MALFORMED")
    if type(n_rows) is not int or not 1 <= n_rows < LARGEST_COEFFICIENT:
        raise Refusal("MALFORMED")
    if not is_array(coefficients, (n_directions, terms.n_functions)):
        raise Refusal("MALFORMED")
    return Common(own, coefficients, n_rows)
