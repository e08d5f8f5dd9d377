"""Whether opened sums could come from rows at all: one site may have sent anything."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from fedsdr.arrays import Matrix, Vector
from fedsdr.exceptions import Refusal
from fedsdr.method import Pairs
from fedsdr.questions.moments import CandidateErrors, MomentsOf
from fedsdr.questions.question import Question
from fedsdr.summaries.summary import Summary

#: Largest negative eigenvalue that is taken for rounding, where diagonals are 1.
ROUNDING = 1e-7
#: Relative rounding of single sums.
PRECISION = 1e-9


def check_possible(
    question: Question[Any], vector: Vector, widths: Sequence[float] = ()
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
        raise _impossible("it holds numbers that are not finite")
    if isinstance(question, MomentsOf):
        _check_moments(question, vector, widths)
    elif isinstance(question, CandidateErrors) and (vector < 0.0).any():
        raise _impossible("an error of a candidate is negative")


def _check_moments(
    question: MomentsOf, vector: Vector, widths: Sequence[float]
) -> None:
    terms = question.terms
    length = (vector.size - terms.max_votes) // len(terms.parts)
    for start in range(0, length * len(terms.parts), length):
        _check_counts(vector[start : start + 4], vector[:2])
    votes = vector[length * len(terms.parts) :]
    if (votes != np.rint(votes)).any() or (votes < 0).any() or votes.sum() > vector[1]:
        raise _impossible("the votes are not those of its sites")
    # Scores have a variance of about 1, whatever the range of a column is.
    limits = np.full(terms.n_features, np.inf)
    if len(widths) and question.settings.scores is None:
        powers = question.settings.powers
        with np.errstate(over="ignore"):
            limits = np.ldexp(np.asarray(widths), 0 if powers is None else -powers)
    definite = not isinstance(terms.kernel, Pairs)
    for part in question.unpack(vector).parts.values():
        _check_summary(part, limits, definite=definite)


def _check_counts(counts: Vector, total: Vector) -> None:
    rows, sites, freedom, squared = counts
    if rows != np.rint(rows) or sites != np.rint(sites):
        raise _impossible("its numbers of rows and sites are not whole")
    if not (1 <= rows <= total[0] and 0 <= sites <= total[1]):
        raise _impossible("a part of the rows has more rows or sites than all rows")
    if not (-ROUNDING <= freedom <= rows and squared >= -ROUNDING):
        raise _impossible("its degrees of freedom are not those of so many rows")


def _check_summary(part: Summary, limits: Vector, *, definite: bool) -> None:
    squares = np.diag(part.scatter)
    if (squares < 0.0).any():
        raise _impossible("the variance of a column is negative")
    # Roots: the square of a range in small units may be too large for a number.
    largest = np.sqrt(part.n_rows) * limits / 2 * (1 + PRECISION / 2)
    if (np.sqrt(squares) > largest).any():
        raise _impossible("a column varies more than its declared range allows")
    constant = squares == 0.0
    if (part.scatter[constant].any()) or part.between[constant].any():
        raise _impossible("a constant column varies with others")
    scale = np.sqrt(np.where(constant, 1.0, squares))
    scaled = part.scaled(scale)
    if not _is_definite(scaled.scatter):
        raise _impossible("its covariance is not positive semi-definite")
    if not _is_definite(scaled.scatter - scaled.between):
        raise _impossible("its kernel is larger than its covariance")
    if definite and not _is_definite(scaled.between):
        raise _impossible("its kernel is not positive semi-definite")
    if part.linear.shape[1]:
        _check_linear(scaled)


def _check_linear(scaled: Summary) -> None:
    common = scaled.linear @ scaled.linear.T / scaled.n_rows
    if not _is_definite(scaled.between - common):
        raise _impossible("its linear sums are larger than its kernel")
    limit = np.diag(scaled.scatter) * scaled.response_square
    if (
        scaled.response_square < 0.0
        or (scaled.products**2 > limit * (1 + ROUNDING) + PRECISION).any()
    ):
        raise _impossible("its products with the response are too large")


def _is_definite(matrix: Matrix) -> bool:
    """Return whether a matrix on the scale of 1 is positive semi-definite."""
    try:
        np.linalg.cholesky(matrix + ROUNDING * np.eye(len(matrix)))
    except np.linalg.LinAlgError:
        return False
    return True


def _impossible(what: str) -> Refusal:
    return Refusal(
        "TAMPERED",
        f"the sum cannot come from rows of the sites: {what}. A site has sent other "
        "numbers than its sums: let every steward run 'fedsdr site check', with the "
        "same version, and leave out a site that cannot explain its answer",
    )
