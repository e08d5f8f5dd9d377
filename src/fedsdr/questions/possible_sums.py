"""Whether opened sums could come from rows at all: one site may have sent anything."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from fedsdr.arrays import Vector
from fedsdr.questions.additive_steps import AxesOf, NewtonOf
from fedsdr.questions.held_out import HeldOutOf
from fedsdr.questions.many_columns import BlockOf, ColumnsOf, DiagonalsOf
from fedsdr.questions.moments import CandidateErrors, MomentsOf
from fedsdr.questions.pictures_of import PicturesOf
from fedsdr.questions.possible_columns import (
    PRECISION,
    ROUNDING,
    check_block_possible,
    check_columns_possible,
    check_definite,
    check_diagonals_possible,
    check_spread,
    impossible,
    is_definite,
)
from fedsdr.questions.question import Question
from fedsdr.questions.split_tests import SplitTestsOf
from fedsdr.questions.tested_spread import SpreadWithTests
from fedsdr.summaries.diagonals import Diagonals
from fedsdr.summaries.prediction_sums import N_PLAIN
from fedsdr.summaries.slicing import Pairs
from fedsdr.summaries.summary import Summary

Covariances = MomentsOf | DiagonalsOf | BlockOf | ColumnsOf


def check_possible(
    question: Question[Any],
    vector: Vector,
    widths: Sequence[float] = (),
    diagonals: Diagonals | None = None,
) -> None:
    r"""Check that a sum could come from the rows of some sites.

    Parameters
    ----------
    question : Question
        What was asked.
    vector : ndarray of shape (n_values,)
        Sum over the sites.
    widths : sequence of float, default=()
        Widths of the ranges that the study declares for its columns, infinite where it
        declares none; empty for no range.
    diagonals : Diagonals, optional
        Diagonals of all columns, over the same sites or more, if they were added
        before.

    Raises
    ------
    Refusal
        "TAMPERED", with a sentence that says what is impossible.

    Notes
    -----
    For rows of any sites, covariance and kernel are positive semi-definite and
    :math:`T \preceq \Sigma` (`Pairs` have kernels with negative eigenvalues);
    :math:`L L' / N^2 \preceq T` for the linear sums L; and a column whose values lie in
    a range of width w has a variance of at most :math:`w^2 / 4`. A site that invents
    rows with such values is not noticed: no sum can show that.
    """
    if not np.isfinite(vector).all():
        raise impossible("it holds numbers that are not finite")
    if isinstance(question, MomentsOf):
        _check_moments(question, vector, _limits(question, widths))
    elif isinstance(question, DiagonalsOf):
        _check_counts(vector[:4], vector[:2])
        check_diagonals_possible(
            question.unpack(vector),
            _limits(question, widths),
            definite=_is_definite_kernel(question),
        )
    elif isinstance(question, BlockOf):
        known = None if diagonals is None else diagonals.scatter[question.columns]
        check_block_possible(
            question.unpack(vector), known, definite=_is_definite_kernel(question)
        )
    elif isinstance(question, ColumnsOf):
        check_columns_possible(
            question.unpack(vector),
            question.columns,
            diagonals,
            definite=_is_definite_kernel(question),
        )
    elif isinstance(question, PicturesOf):
        _check_pictures(question, vector)
    elif isinstance(question, AxesOf | NewtonOf):
        _check_modelled(question, vector)
    elif isinstance(question, HeldOutOf):
        _check_measures(vector)
    elif isinstance(question, CandidateErrors) and (vector < 0.0).any():
        raise impossible("an error of a candidate is negative")
    elif isinstance(question, SplitTestsOf):
        _check_tests(question, vector)
    elif isinstance(question, SpreadWithTests):
        _check_tests(question.tests, question.parts(vector)[0])


def _check_tests(question: SplitTestsOf, vector: Vector) -> None:
    ends = np.cumsum([test.n_values for test in question.tests])[:-1]
    for test, own in zip(question.tests, np.split(vector, ends), strict=True):
        s, k = test.basis.shape
        pairs = k * (k + 1) // 2
        _, squares, fourth, counts = np.split(own, np.cumsum([s * k, s * pairs, s]))
        # Of the pairs of directions, those of a direction with itself.
        first, second = np.triu_indices(k)
        own_squares = squares.reshape(s, pairs)[:, first == second]
        if (own_squares < -PRECISION).any() or (fourth < -PRECISION).any():
            raise impossible("a sum of squares of a test is negative")
        if (counts != np.rint(counts)).any() or not 0 <= counts[1] <= counts[0]:
            raise impossible("the numbers of rows and sites of a test are none")


def _check_pictures(question: PicturesOf, vector: Vector) -> None:
    sums = question.unpack(vector)
    counts = sums if question.terms.classes else sums[:, :, :1]
    if (counts != np.rint(counts)).any():
        raise impossible("its numbers of rows in bins are not whole")
    small = counts < question.terms.picture_rows
    if (sums[np.broadcast_to(small, sums.shape)] != 0.0).any():
        raise impossible("a bin has fewer rows than sites may show")


def _check_modelled(question: AxesOf | NewtonOf, vector: Vector) -> None:
    rows, sites = vector[:2]
    if rows != np.rint(rows) or sites != np.rint(sites) or not 1 <= sites <= rows:
        raise impossible("its numbers of rows and sites are none")
    if isinstance(question, AxesOf):
        sums, squares = np.split(vector[4:], 2)
        totals = [vector[2] ** 2, *(sums**2)]
        limits = rows * np.array([vector[3], *squares])
        if (totals > limits * (1 + ROUNDING) + PRECISION * rows).any():
            raise impossible("its means are larger than its squares allow")
    elif (np.diag(question.read(vector).curvature) < -PRECISION * rows).any():
        raise impossible("its loss bends downwards")


def _check_measures(vector: Vector) -> None:
    rows, _, squares, errors, _ = vector[:N_PLAIN]
    if rows != np.rint(rows) or rows < 1 or squares < 0.0 or errors < 0.0:
        raise impossible("its numbers of rows, or its squares, are none")
    first, second, _ = np.split(vector[N_PLAIN:], 3)
    counts = np.concatenate([first, second])
    whole = (counts == np.rint(counts)).all() and (counts >= 0.0).all()
    if counts.size and not (whole and counts.sum() == rows):
        raise impossible("its numbers of rows in bins are none")


def _is_definite_kernel(question: Covariances) -> bool:
    return not isinstance(question.terms.kernel, Pairs)


def _limits(question: MomentsOf | DiagonalsOf, widths: Sequence[float]) -> Vector:
    """Return the widths of ranges in the units of the sum, infinite without a range."""
    # Scores have a variance of about 1, whatever the range of a column is.
    if not len(widths) or question.settings.scores is not None:
        return np.full(question.terms.n_features, np.inf)
    powers = question.settings.powers
    with np.errstate(over="ignore"):
        return np.ldexp(np.asarray(widths), 0 if powers is None else -powers)


def _check_moments(question: MomentsOf, vector: Vector, limits: Vector) -> None:
    terms = question.terms
    *parts, votes = np.split(vector, np.cumsum(question.lengths))
    for part in parts:
        _check_counts(part[:4], vector[:2])
    halves = parts[len(parts) - 2 * terms.n_splits :]
    for one, other in zip(halves[::2], halves[1::2], strict=True):
        if one[0] + other[0] != vector[0]:
            raise impossible("two halves do not have all rows together")
    if (votes != np.rint(votes)).any() or (votes < 0).any() or votes.sum() > vector[1]:
        raise impossible("the votes are not those of its sites")
    definite = _is_definite_kernel(question)
    for summary in question.unpack(vector).parts.values():
        _check_summary(summary, limits, definite=definite)


def _check_counts(counts: Vector, total: Vector) -> None:
    rows, sites, freedom, squared = counts
    if rows != np.rint(rows) or sites != np.rint(sites):
        raise impossible("its numbers of rows and sites are not whole")
    if not (1 <= rows <= total[0] and 0 <= sites <= total[1]):
        raise impossible("a part of the rows has more rows or sites than all rows")
    if not (-ROUNDING <= freedom <= rows and squared >= -ROUNDING):
        raise impossible("its degrees of freedom are not those of so many rows")


def _check_summary(part: Summary, limits: Vector, *, definite: bool) -> None:
    squares = np.diag(part.scatter)
    check_spread(squares, part.n_rows, limits)
    constant = squares == 0.0
    if (part.scatter[constant].any()) or part.between[constant].any():
        raise impossible("a constant column varies with others")
    scale = np.sqrt(np.where(constant, 1.0, squares))
    scaled = part.scaled(scale)
    check_definite(scaled.scatter, scaled.between, definite=definite)
    if part.linear.shape[1]:
        _check_linear(scaled)


def _check_linear(scaled: Summary) -> None:
    common = scaled.linear @ scaled.linear.T / scaled.n_rows
    if not is_definite(scaled.between - common):
        raise impossible("its linear sums are larger than its kernel")
    limit = np.diag(scaled.scatter) * scaled.response_square
    if (
        scaled.response_square < 0.0
        or (scaled.products**2 > limit * (1 + ROUNDING) + PRECISION).any()
    ):
        raise impossible("its products with the response are too large")
