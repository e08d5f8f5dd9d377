"""Read tests on halves of the rows from messages that are not trusted."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from fedsdr.exceptions import Refusal
from fedsdr.questions.checked_arrays import (
    LARGEST_PROFILE,
    MOST_DIRECTIONS,
    is_array,
    is_basis,
    read_columns,
    read_covariance,
    read_selected,
)
from fedsdr.questions.split_tests import SplitTestsOf
from fedsdr.summaries.cross_fit import HalfTest
from fedsdr.terms import Terms

#: Fields of a message that hold tests.
TESTED = ("tested", "tested_scale", "tests")


def read_split_tests(rest: dict[str, Any], terms: Terms) -> SplitTestsOf:
    """Take the tests of a study from a message, and check all of them.

    Parameters
    ----------
    rest : dict
        What has not been read of the message; nothing may be left.
    terms : Terms
        Terms that the site agreed to.

    Returns
    -------
    SplitTestsOf
        The question. A `Refusal` "MALFORMED" if a half is named twice or is none of
        those agreed on, or if numbers are none, too large, or do not fit each other.

    Notes
    -----
    A message names halves by their numbers. Which rows they hold is decided at the
    site, see `fedsdr.rows.half_samples`.
    """
    if set(rest) != set(TESTED):
        raise Refusal("MALFORMED")
    own = {"columns": rest["tested"], "scale": rest["tested_scale"]}
    columns, scale = read_selected(own, terms)
    sent = rest["tests"]
    if not isinstance(sent, list):
        raise Refusal("MALFORMED")
    if not 1 <= len(sent) <= 2 * terms.n_splits:
        raise Refusal("MALFORMED", "more halves than were agreed on")
    tests = tuple(_read_test(one, columns.size, terms) for one in sent)
    if len({test.half for test in tests}) < len(tests):
        raise Refusal("MALFORMED", "a half is named twice")
    return SplitTestsOf(terms, columns, scale, tests)


def _read_test(sent: Any, n_columns: int, terms: Terms) -> HalfTest:
    names = {one.name for one in fields(HalfTest)}
    if not isinstance(sent, Mapping) or set(sent) != names:
        raise Refusal("MALFORMED")
    half, own, common = sent["half"], sent["own"], sent["common"]
    if type(half) is not int or not 0 <= half < 2 * terms.n_splits:
        raise Refusal("MALFORMED", "no such half was agreed on")
    columns = _read_places(sent["columns"], n_columns)
    basis, slopes = sent["basis"], sent["slopes"]
    if not is_basis(basis, columns.size) or not basis.shape[1]:
        raise Refusal("MALFORMED")
    if not is_basis(slopes, columns.size) or slopes.shape != basis.shape:
        raise Refusal("MALFORMED")
    if basis.shape[1] > (terms.most_directions or MOST_DIRECTIONS):
        # The numbers of a test grow with their square.
        raise Refusal("MALFORMED", "more directions than the study considers")
    if basis.size > LARGEST_PROFILE:
        raise Refusal("MALFORMED", "a test of too many variables and directions")
    if not isinstance(own, float) or not 0.0 <= own <= 1.0:
        raise Refusal("MALFORMED")
    k = basis.shape[1]
    if not any(is_array(common, (k, width)) for width in (0, terms.half_functions)):
        raise Refusal("MALFORMED")
    return HalfTest(
        half=half,
        columns=columns,
        basis=basis,
        slopes=slopes,
        inverse=read_covariance(sent["inverse"], columns.size),
        own=own,
        common=np.asarray(common),
    )


def _read_places(sent: Any, n_columns: int) -> Any:
    """Read places of columns among those of the question."""
    return read_columns({"columns": sent}, Terms(n_features=n_columns))
