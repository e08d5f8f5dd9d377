"""Test every variable: one half of the rows selects, the other half tests."""

from collections import Counter
from dataclasses import replace

import numpy as np

from fedsdr.arrays import Matrix, Vector
from fedsdr.certainty import Certainty
from fedsdr.estimation.directions import Estimate
from fedsdr.inference.half_selection import HalfSelection, plan_test, select_half
from fedsdr.inference.variable_tests import (
    combine,
    count_noise,
    half_p_values,
    q_values,
    split_sums,
)
from fedsdr.method import Method
from fedsdr.questions import Asking, ColumnFrame
from fedsdr.selection import Evidence, Selection
from fedsdr.summaries.cross_fit import HalfTest


def examine_variables(
    evidence: Evidence, frame: ColumnFrame, limit: int
) -> Asking[Certainty]:
    """Test all variables on halves of the rows that have not selected them.

    Parameters
    ----------
    evidence : Evidence
        Sums over all sites, with those of halves of the rows.
    frame : ColumnFrame
        Where the variables are among the sites' columns.
    limit : int
        Largest dimension considered.

    Returns
    -------
    Certainty
        Tests and selection frequencies of the usable variables.

    Yields
    ------
    Question
        One question to the sites.
    """
    found, p_values = yield from split_p_values(evidence, frame, limit)
    chosen = np.zeros_like(p_values)
    for i, one in enumerate(found):
        chosen[i, one.selected] = 1.0
    combined = combine(p_values)
    counts = Counter(one.n_directions for one in found)
    return Certainty(
        p_values=combined,
        q_values=q_values(combined, count_noise(p_values)),
        frequencies=chosen.mean(axis=0),
        dimensions=tuple((k, counts[k] / len(found)) for k in sorted(counts)),
        n_halves=len(found),
    )


def split_p_values(
    evidence: Evidence, frame: ColumnFrame, limit: int
) -> Asking[tuple[list[HalfSelection], Matrix]]:
    """Let every half select, and test on the other half.

    Parameters
    ----------
    evidence : Evidence
        Sums over all sites, with those of halves of the rows.
    frame : ColumnFrame
        Where the variables are among the sites' columns.
    limit : int
        Largest dimension considered.

    Returns
    -------
    found : list of HalfSelection
        What every half has selected.
    p_values : ndarray of shape (n_halves, n_features)
        p-values by half; 1 where a variable was not tested.

    Yields
    ------
    Question
        One question to the sites.
    """
    found, tests, sums = yield from half_sums(evidence, frame, limit)
    p_values = np.ones((len(tests), evidence.total.n_features))
    for i, (test, own) in enumerate(zip(tests, sums, strict=True)):
        p_values[i, test.columns] = half_p_values(test, own)
    return found, p_values


def half_sums(
    evidence: Evidence, frame: ColumnFrame, limit: int
) -> Asking[tuple[list[HalfSelection], list[HalfTest], list[Vector]]]:
    """Let every half select, and ask for the sums of tests on the other half.

    Parameters
    ----------
    evidence : Evidence
        Sums over all sites, with those of halves of the rows.
    frame : ColumnFrame
        Where the variables are among the sites' columns.
    limit : int
        Largest dimension considered.

    Returns
    -------
    found : list of HalfSelection
        What every half has selected.
    tests : list of HalfTest
        What was tested on the other half; columns are indices of variables.
    sums : list of ndarray
        Sums of each test over all sites.

    Yields
    ------
    Question
        One question to the sites.
    """
    halves = evidence.halves
    found = [select_half(half, limit) for half in halves]
    tests = [
        plan_test(number, one, halves[number], halves[number ^ 1])
        for number, one in enumerate(found)
    ]
    sums: Vector = yield frame.split_tests_of(tests)
    return found, tests, split_sums(tests, sums)


def largest_dimension(method: Method) -> int:
    """Return the largest number of directions that a method considers.

    Parameters
    ----------
    method : Method
        Parameters of the fit.

    Returns
    -------
    int
        The number K, or the limit of the rule that chooses it.
    """
    rule = method.n_directions
    return rule if isinstance(rule, int) else int(rule.max_directions)


def select_by_tests(
    selection: Selection, certainty: Certainty, method: Method
) -> Selection:
    """Select variables by their tests, if the method does.

    Parameters
    ----------
    selection : Selection
        What the criteria have selected.
    certainty : Certainty
        Tests of all usable variables.
    method : Method
        Parameters of the fit.

    Returns
    -------
    Selection
        With `Fdr` the variables whose q-values are at most its level, weak if there are
        none; otherwise the selection itself.
    """
    if not method.selects_by_tests:
        return selection
    support = np.flatnonzero(certainty.q_values <= method.select.level)
    if not support.size:
        return replace(selection, weak=True, doubts=())
    return replace(selection, weak=False, support=support)


def describe_certainty(
    certainty: Certainty,
    found: Estimate,
    frame: ColumnFrame,
    by_halves: tuple[Matrix, Vector],
) -> Certainty:
    """Write what is known about usable variables as facts about all columns.

    Parameters
    ----------
    certainty : Certainty
        Tests and frequencies of usable variables.
    found : Estimate
        Directions on the common scale.
    frame : ColumnFrame
        Which columns are usable.
    by_halves : tuple of ndarray
        Errors and angles of `jackknife`.

    Returns
    -------
    Certainty
        The same for all columns, with loadings and their errors where these are known.
    """

    def on_all(values: Matrix, otherwise: float) -> Matrix:
        full = np.full((frame.usable.size, *values.shape[1:]), otherwise)
        full[frame.usable] = values
        return full

    known = found.errors.size > 0
    k = found.directions.shape[1] if known else 0
    loadings, errors = found.directions[:, :k], np.zeros((found.directions.shape[0], k))
    if known:
        errors = found.errors
        largest = loadings[np.abs(loadings).argmax(axis=0), np.arange(k)]
        loadings = loadings * np.where(largest < 0, -1.0, 1.0)
    return replace(
        certainty,
        p_values=on_all(certainty.p_values, 1.0),
        q_values=on_all(certainty.q_values, 1.0),
        frequencies=on_all(certainty.frequencies, 0.0),
        loadings=on_all(loadings, 0.0),
        errors=on_all(errors, 0.0),
        angles=np.degrees(found.angles) if known else np.zeros(0),
        half_errors=on_all(by_halves[0][:, :k], 0.0),
        half_angles=np.degrees(by_halves[1][:k]),
        sites=found.disagreeing,
    )
