"""Checking what users pass to the constructors."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from fedsdr.exceptions import InputError
from fedsdr.selection import Choices

DIMENSION_RULES = ("auto", "bic", "votes")
PROTOCOLS = ("sums", "secure", "paper")
PENALTY_RULES = ("universal", "moments", "holdout")


def check_choices(estimator: Any) -> Choices:
    """Turn an estimator's parameters into choices.

    Parameters
    ----------
    estimator : FedSSIR
        With its parameters as attributes.

    Returns
    -------
    Choices
        Checked.
    """
    p = estimator
    check_value(p.n_directions, "n_directions", DIMENSION_RULES, Integral, low=1)
    check_value(p.penalty, "penalty", PENALTY_RULES, Real, low=0.0, strict=True)
    if not isinstance(p.refit, bool | np.bool_) and not (
        isinstance(p.refit, Real) and 0.0 < float(p.refit) < 1.0
    ):
        raise InputError(
            f"refit must be True, False or a number between 0 and 1, got {p.refit!r}"
        )
    check_value(p.max_directions, "max_directions", (), Integral, low=1)
    check_value(p.max_iter, "max_iter", (), Integral, low=1)
    check_value(p.n_folds, "n_folds", (), Integral, low=2)
    check_value(p.n_penalties, "n_penalties", (), Integral, low=1)
    check_value(p.tol, "tol", (), Real, low=0.0, strict=True)
    for name in ("min_ratio", "validation_fraction"):
        value = getattr(p, name)
        if not (isinstance(value, Real) and 0.0 < float(value) < 1.0):
            raise InputError(f"{name} must be a number between 0 and 1, got {value!r}")
    if p.protocol not in PROTOCOLS:
        raise InputError(f"protocol must be one of {PROTOCOLS}, got {p.protocol!r}")
    is_flag = isinstance(p.refit, bool | np.bool_)
    return Choices(
        n_directions=p.n_directions,
        penalty=p.penalty,
        refit=bool(p.refit) if is_flag else float(p.refit),
        standardize=bool(p.standardize),
        max_directions=p.max_directions,
        n_penalties=p.n_penalties,
        min_ratio=float(p.min_ratio),
        tol=float(p.tol),
    )


def random_generator(random_state: Any) -> np.random.Generator:
    """Make a Generator from what scikit-learn calls a random state.

    Parameters
    ----------
    random_state : int, RandomState instance, Generator or None
        As users pass it.

    Returns
    -------
    numpy.random.Generator
        Equal for equal integers.
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31 - 1))
    if random_state is None:
        return np.random.default_rng()
    if isinstance(random_state, Integral):
        return np.random.default_rng(int(random_state))
    check_random_state(random_state)  # raises, in scikit-learn's words
    return np.random.default_rng()


def check_value(
    value: Any,
    name: str,
    words: tuple[str, ...],
    kind: type,
    *,
    low: float,
    strict: bool = False,
) -> None:
    """Check that a parameter is one of some words, or a number that is large enough.

    Parameters
    ----------
    value : object
        As the user passed it.
    name : str
        Of the parameter.
    words : tuple of str
        Allowed instead of a number.
    kind : type
        Of the number, Integral or Real.
    low : float
        Smallest number.
    strict : bool, default=False
        Whether `low` itself is too small.

    Raises
    ------
    InputError
        Saying what is allowed.
    """
    number = isinstance(value, kind) and not isinstance(value, bool | np.bool_)
    if number and np.isfinite(value) and (value > low or (value == low and not strict)):
        return
    if isinstance(value, str) and value in words:
        return
    what = "an integer" if kind is Integral else "a number"
    bound = f"{what} {'above' if strict else 'of at least'} {low:g}"
    options = ", ".join([*(repr(word) for word in words), bound])
    raise InputError(f"{name} must be one of {options}; got {value!r}")
