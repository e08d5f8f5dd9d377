r"""Sums that test single variables on rows that have not selected them, at one site.

One half of the rows learns what the directions have to do with y: the functions
:math:`g_k(y)` that best predict :math:`v_k'x`. On the other half these functions of y
are regressed on x. A variable that y does not depend on, given the others, has the
coefficient zero there, whatever was selected on the first half.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from fedsdr.arrays import Mask, Matrix, Vector
from fedsdr.summaries.kernels import group_members

#: Returns batches of rows, centred and scaled.
Batches = Callable[[], Iterable[Matrix]]

#: Rows of each half that a site needs to contribute.
FEWEST = 2


@dataclass(frozen=True, slots=True, eq=False)
class HalfTest:
    r"""What one half of all rows has selected, to be tested on the other half.

    Parameters
    ----------
    half : int
        Which half has selected: 2 b or 2 b + 1 for the two halves of split b.
    columns : ndarray of int
        Places of the s tested variables among the columns that are read, ascending.
    basis : ndarray of shape (s, K)
        Directions V, of unit variance.
    slopes : ndarray of shape (s, K)
        Expected coefficients of the functions of y on x.
    inverse : ndarray of shape (s, s)
        Inverse :math:`\Theta = (\sum_i X_i'X_i)^{-1}` over the testing half of all
        sites.
    own : float
        Weight of the site's own functions of y, from 0 to 1.
    common : ndarray of shape (K, n_functions)
        Coefficients of the functions that all sites have in common; without columns if
        there are none.
    """

    half: int
    columns: NDArray[np.int64]
    basis: Matrix
    slopes: Matrix
    inverse: Matrix
    own: float
    common: Matrix

    @property
    def n_values(self) -> int:
        """Number of values in the sums: of each variable, and two counts."""
        s, k = self.basis.shape
        return s * (k + k * (k + 1) // 2 + 1) + 2


def cross_fit(
    batches: Batches,
    functions: Matrix,
    halves: Sequence[Mask],
    test: HalfTest,
    subjects: NDArray[np.intp] | None = None,
) -> Vector:
    r"""Compute the sums of one test at one site, in two passes over its rows.

    Parameters
    ----------
    batches : callable
        Returns batches of rows of all columns that are read, centred and on the common
        scale.
    functions : ndarray of shape (n_rows, n_functions)
        Values of the functions Q of y in all rows.
    halves : sequence of ndarray of bool, shape (n_rows,)
        Rows of every half.
    test : HalfTest
        What is tested.
    subjects : ndarray of int, shape (n_rows,), optional
        Subject of each row; all rows of a subject are in one batch and in one half.

    Returns
    -------
    ndarray of shape (n_values,)
        For all variables :math:`\sum r_j g_k`, then :math:`\sum r_j^2 e_k e_l` for
        k <= l, then :math:`\sum r_j^4`; the number of testing rows, and 1 for the site.
        Zeros if a half has fewer than two rows, or subjects. Not finite where the
        numbers of the test are too large: zeros in their place would show a site by the
        difference of two sums.

    Notes
    -----
    Over the testing rows, x and g about their means there, :math:`r = \Theta x` and
    :math:`e = g - B'x` with the slopes B. Summed over all sites, :math:`\sum r_j g_k`
    are the coefficients of least squares with one intercept a site, and
    :math:`\sum r_j^2 e_k e_l` their covariance for rows of any variances (White 1980).
    The slopes come from the other half, so no degrees of freedom are lost by them: if
    they are wrong the residuals are too large, never too small.

    Rows of one subject depend on each other. With subjects the products
    :math:`r_j e_k` are added over the rows of each before they are squared (Liang and
    Zeger 1986), and :math:`r_j^2` is: what counts is the number of subjects.
    """
    learning = halves[test.half]
    testing = halves[test.half ^ 1]
    nothing = np.zeros(test.n_values)
    n_learning, n_testing = np.count_nonzero(learning), np.count_nonzero(testing)
    if min(_n_units(learning, subjects), _n_units(testing, subjects)) < FEWEST:
        return nothing
    k, start = test.basis.shape[1], 0
    level, total = np.zeros(functions.shape[1]), np.zeros(test.columns.size)
    reduced, moved = np.zeros(k), np.zeros((functions.shape[1], k))
    for rows in batches():
        place = slice(start, start + len(rows))
        start += len(rows)
        x, kept = rows[:, test.columns], np.flatnonzero(learning[place])
        own, values = (
            (x @ test.basis).take(kept, axis=0),
            functions[place].take(kept, axis=0),
        )
        ones = np.ones(kept.size)
        total += testing[place].astype(float) @ x
        reduced += ones @ own
        level += ones @ values
        moved += values.T @ own
    # The functions are of mean zero over all rows of the site, not over a half.
    moved -= np.outer(level, reduced / n_learning)
    coefficients = _mixed(test, moved * (start / n_learning), start)
    fitted = functions @ coefficients
    fitted -= testing.astype(float) @ fitted / n_testing
    mean = total / n_testing
    return _add_up(batches, testing, test, fitted, mean, subjects)


@cache
def _pairs(k: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return all pairs of directions, the first at most the second."""
    return np.triu_indices(k)


def _mixed(test: HalfTest, own: Matrix, n_rows: int) -> Matrix:
    """Mix a site's own coefficients with common ones, in the units of its functions."""
    if not test.common.shape[1]:
        return own
    shared = np.zeros_like(own)
    width = min(own.shape[0], test.common.shape[1])
    # Functions of a site have squares that add up to 1, common ones of mean 1.
    shared[:width] = np.sqrt(n_rows) * test.common.T[:width]
    return np.asarray(test.own * own + (1.0 - test.own) * shared)


def _n_units(half: Mask, subjects: NDArray[np.intp] | None) -> int:
    """Count the subjects of a half."""
    return (
        int(np.count_nonzero(half))
        if subjects is None
        else np.unique(subjects[half]).size
    )


def _add_up(
    batches: Batches,
    testing: Mask,
    test: HalfTest,
    fitted: Matrix,
    mean: Vector,
    subjects: NDArray[np.intp] | None,
) -> Vector:
    """Add up coefficients, their covariances, and fourth powers over testing rows."""
    s, k = test.basis.shape
    first, second = _pairs(k)
    scores = np.zeros((s, k))
    squares = np.zeros((s, first.size))
    fourth = np.zeros(s)
    start = 0
    for rows in batches():
        place = slice(start, start + len(rows))
        kept = np.flatnonzero(testing[place])
        g = fitted[place].take(kept, axis=0)
        start += len(rows)
        x = rows[:, test.columns].take(kept, axis=0) - mean
        beside, left = x @ test.inverse, g - x @ test.slopes
        scores += beside.T @ g
        own = beside**2
        if subjects is None:
            squares += own.T @ (left[:, first] * left[:, second])
        elif kept.size:
            _, members = group_members(subjects[place][kept])
            sums = [members @ (beside * one[:, None]) for one in left.T]
            squares += np.stack(
                [
                    (sums[a] * sums[b]).sum(axis=0)
                    for a, b in zip(first, second, strict=True)
                ],
                axis=1,
            )
            own = members @ own
        fourth += np.einsum("ij,ij->j", own, own)
    n_testing, n_units = np.count_nonzero(testing), _n_units(testing, subjects)
    # A site's mean takes one of its rows, or subjects.
    squares *= n_units / (n_units - 1)
    return np.concatenate([scores.ravel(), squares.ravel(), fourth, [n_testing, 1.0]])
