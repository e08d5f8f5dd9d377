"""Check what files of results and models hold, before anything is made of it."""

from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from fedsdr.arrays import Matrix
from fedsdr.exceptions import InputError


def is_number(value: Any) -> bool:
    """Return whether a value of a JSON file is a finite number.

    Parameters
    ----------
    value : object
        Any value.

    Returns
    -------
    bool
        False for truth values, and for numbers too large to compute with.
    """
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return -1e308 <= value <= 1e308


def read_numbers(value: Any, what: str, shape: tuple[int, ...]) -> Matrix:
    """Read an array of finite numbers of a known shape from lists.

    Parameters
    ----------
    value : object
        What a file holds.
    what : str
        What it is, for the message: "not a fedsdr model: 'centre'".
    shape : tuple of int
        Shape that it must have.

    Returns
    -------
    ndarray of that shape
        Numbers; an `InputError` for anything else.
    """
    if not _has_shape(value, shape):
        wanted = " x ".join(map(str, shape))
        raise InputError(f"{what} must hold {wanted} finite numbers")
    return np.array(value, dtype=np.float64).reshape(shape)


def _has_shape(value: Any, shape: tuple[int, ...]) -> bool:
    if not shape:
        return is_number(value)
    if not isinstance(value, list) or len(value) != shape[0]:
        return False
    return all(_has_shape(one, shape[1:]) for one in value)


def check_result_fields(
    fields: dict[str, Any], known: Collection[str], needed: Collection[str]
) -> None:
    """Check the content of a result file.

    Parameters
    ----------
    fields : dict
        Content, without the format.
    known, needed : collection of str
        Names of the fields that a result may have, and must have.

    Raises
    ------
    InputError
        That names the field which is not as it must be.
    """
    problem = "not a fedsdr result: "
    for name in sorted(set(fields) - set(known)):
        raise InputError(f"{problem}'{name}' is not known to this version")
    for name in sorted(set(needed) - set(fields)):
        raise InputError(f"{problem}there is no '{name}'")
    names = fields["feature_names"]
    if not _is_names(names) or len(set(names)) != len(names) or not names:
        raise InputError(f"{problem}'feature_names' must be different names")
    shares = fields["eigenvalues"]
    if not isinstance(shares, list):
        raise InputError(f"{problem}'eigenvalues' must be a list")
    n_features, n_directions = len(names), len(shares)
    shapes = {
        "eigenvalues": (n_directions,),
        "directions": (n_features, n_directions),
        "scale": (n_features,),
    }
    for name, shape in shapes.items():
        read_numbers(fields[name], f"{problem}'{name}'", shape)
    if not (np.array(fields["scale"]) > 0.0).all():
        raise InputError(f"{problem}'scale' must be positive")
    for name, fits in _SIMPLE.items():
        if name in fields and not fits(fields[name]):
            raise InputError(f"{problem}'{name}' has another type")
    support = fields["support"]
    if not isinstance(support, list) or [type(one) for one in support] != (
        [bool] * n_features
    ):
        raise InputError(f"{problem}'support' must be a truth value for each column")
    if fields.get("scores") is not None:
        _check_scores(fields["scores"], n_features, problem)


def _check_scores(scores: Any, n_features: int, problem: str) -> None:
    if not isinstance(scores, dict) or set(scores) != {"points", "scores"}:
        raise InputError(f"{problem}'scores' must hold points and scores")
    rows = scores["points"]
    first = rows[0] if isinstance(rows, list) and rows else None
    width = len(first) if isinstance(first, list) else 0
    for name in ("points", "scores"):
        what = f"{problem}'{name}' of 'scores'"
        values = read_numbers(scores[name], what, (n_features, width))
        if not width or (np.diff(values, axis=1) < 0.0).any():
            raise InputError(f"{what} must not decrease")


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_table(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(row, dict) for row in value)


def _is_bound(value: Any) -> bool:
    return value is None or is_number(value)


def _lists_names(value: Any) -> bool:
    return isinstance(value, dict) and all(_is_names(one) for one in value.values())


def _lists_pairs(value: Any) -> bool:
    return isinstance(value, list) and all(
        _is_names(one) and len(one) == 2 for one in value
    )


def _is_agreement(value: Any) -> bool:
    if not isinstance(value, dict) or set(value) - {"needs", "p_value"}:
        return False
    counts = value.get("needs", [])
    return not value or (
        isinstance(counts, list)
        and all(map(_is_count, counts))
        and is_number(value.get("p_value"))
    )


_SIMPLE: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("penalty", "objective"), is_number),
    **dict.fromkeys(("dual_bound", "gap"), _is_bound),
    **dict.fromkeys(
        ("converged", "weak", "at_limit"), lambda value: isinstance(value, bool)
    ),
    **dict.fromkeys(("n_rows", "n_sites", "n_iter", "n_certified"), _is_count),
    **dict.fromkeys(("settings", "provenance"), lambda one: isinstance(one, dict)),
    "validation": _is_table,
    "stand_ins": _lists_names,
    "agreement": _is_agreement,
    "warnings": _lists_pairs,
}
