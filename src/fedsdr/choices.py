"""Ways of choosing as values, each with its own parameters, and how they are written.

A rule may be given by its short name ("moments"), as text with parameters
("moments(folds=8)"), as in a study file or on the command line, or as a value.
"""

import math
import re
from dataclasses import asdict, dataclass, field, fields
from difflib import get_close_matches
from numbers import Integral, Real
from typing import Any

from fedsdr.exceptions import InputError
from fedsdr.summaries.slicing import Pairs, Slices, Smooth

#: Largest number of splits into halves.
MOST_SPLITS = 7


@dataclass(frozen=True, slots=True)
class _UpTo:
    """A rule that chooses K up to a largest dimension."""

    max_directions: int = 5

    def __post_init__(self) -> None:
        _set_whole(self, "max_directions", 1)


@dataclass(frozen=True, slots=True)
class Auto(_UpTo):
    """Add directions while each is more than noise on the selected variables.

    Parameters
    ----------
    max_directions : int, default=5
        Largest dimension considered.
    min_directions : {0, 1}, default=1
        Smallest dimension. With 1 the first direction is kept even if it cannot be
        distinguished from noise, with a `WeakSignalWarning`, so that a pipeline has a
        column to continue with. With 0 the result then has no direction and no
        variable, and there is no warning.
    """

    # At its default it is not part of the text of a rule: studies keep their digests.
    min_directions: int = field(default=1, metadata={"unsaid": 1})

    def __post_init__(self) -> None:
        _UpTo.__post_init__(self)
        _set_whole(self, "min_directions", 0)
        if self.min_directions > 1:
            raise InputError(
                f"min_directions must be 0 or 1, got {self.min_directions}"
            )


class Bic(_UpTo):
    """Maximise the criterion eq2.14a on the pooled kernel.

    Parameters
    ----------
    max_directions : int, default=5
        Largest dimension considered.
    """

    __slots__ = ()


class Votes(_UpTo):
    """Take the most frequent choice of the sites' own BIC, as in the paper.

    Parameters
    ----------
    max_directions : int, default=5
        Largest dimension that a site may vote for.
    """

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Universal:
    r"""Start from :math:`\frac12\sqrt{\log d / N}`, see `universal_penalty`."""


@dataclass(frozen=True, slots=True)
class Moments:
    """Cross-validate the penalty on moments of rows held out.

    Parameters
    ----------
    folds : int, default=5
        Number of parts into which the rows of every site are divided, at least 2.
    penalties : int, default=20
        Number of penalties in the grid.
    min_ratio : float, default=0.15
        Smallest penalty of the grid, as a fraction of the penalty from which no
        variable is selected.
    """

    folds: int = 5
    penalties: int = 20
    min_ratio: float = 0.15

    def __post_init__(self) -> None:
        _set_whole(self, "folds", 2)
        _set_grid(self)


@dataclass(frozen=True, slots=True)
class HoldOut:
    """Validate the penalty by kernel regression eq2.14 on held-out rows, as the paper.

    Parameters
    ----------
    fraction : float, default=0.3
        Fraction of the rows of every site that is held out.
    penalties : int, default=20
        Number of penalties in the grid.
    min_ratio : float, default=0.15
        Smallest penalty of the grid, as a fraction of the penalty from which no
        variable is selected.
    """

    fraction: float = 0.3
    penalties: int = 20
    min_ratio: float = 0.15

    def __post_init__(self) -> None:
        _set_share(self, "fraction")
        _set_grid(self)


@dataclass(frozen=True, slots=True)
class Criteria:
    """Select by the criteria of the method, and test nothing."""


@dataclass(frozen=True, slots=True)
class Tested:
    """Select in the same way, and test every variable on halves of the rows.

    One half of the rows selects and the other one tests, in several splits.

    Parameters
    ----------
    splits : int, default=4
        Number of splits, from 1 to 7.
    """

    splits: int = 4

    def __post_init__(self) -> None:
        _set_splits(self)


@dataclass(frozen=True, slots=True)
class Fdr:
    """Select the variables whose tests keep the false discovery rate below a level.

    Parameters
    ----------
    level : float, default=0.1
        Largest share of false variables among the selected ones, on average.
    splits : int, default=4
        Number of splits, see `Tested`.
    """

    level: float = 0.1
    splits: int = 4

    def __post_init__(self) -> None:
        _set_share(self, "level")
        _set_splits(self)


#: Rules of each parameter; the short name of a rule is its class name in lower case.
RULES: dict[str, tuple[type, ...]] = {
    "n_directions": (Auto, Bic, Votes),
    "penalty": (Universal, Moments, HoldOut),
    "kernel": (Smooth, Slices, Pairs),
    "select": (Criteria, Tested, Fdr),
}

_NUMBERS = {"n_directions": "a positive whole number", "penalty": "a positive number"}


def rule_text(rule: Any) -> str:
    """Write a rule or a kernel as text, with its parameters.

    Parameters
    ----------
    rule : object
        A rule of this module, or a kernel.

    Returns
    -------
    str
        Text such as "moments(folds=5, penalties=20, min_ratio=0.15)", or "smooth".
        `min_directions` is left out at its default.
    """
    unsaid = {one.name: one.metadata.get("unsaid") for one in fields(rule)}
    given = {key: value for key, value in asdict(rule).items() if value != unsaid[key]}
    listed = ", ".join(f"{key}={value!r}" for key, value in given.items())
    name = type(rule).__name__.lower()
    return f"{name}({listed})" if listed else name


def read_rule(name: str, value: Any) -> Any:
    """Check a rule, and read it if it is text.

    Parameters
    ----------
    name : str
        Name of the parameter, one of `RULES`.
    value : object
        Value that the user gave: a rule, its text, or a number where one is allowed.

    Returns
    -------
    object
        The rule or the number.

    Raises
    ------
    InputError
        If the value is not allowed; the error names the choices.
    """
    kinds = RULES[name]
    if isinstance(value, kinds):
        return value
    if name == "n_directions" and is_number(value, Integral) and value >= 1:
        return int(value)
    if name == "penalty" and is_number(value, Real) and 0.0 < value < math.inf:
        return float(value)
    by_name = {kind.__name__.lower(): kind for kind in kinds}
    word = str(value).lower()
    if isinstance(value, str):
        number = _as_number(value) if name in _NUMBERS else None
        if number is not None:
            return read_rule(name, number)
        match = re.fullmatch(r"\s*(\w+)\s*(?:\((.*)\))?\s*", value)
        word = match[1].lower() if match else word
        if match and word in by_name:
            return _make_rule(by_name[word], match[2] or "", value)
    choices = [repr(one) for one in by_name] + (
        [_NUMBERS[name]] if name in _NUMBERS else []
    )
    close = get_close_matches(word, by_name, n=1)
    hint = f": did you mean {close[0]!r}?" if close else ""
    listed = ", ".join(choices[:-1]) + f" or {choices[-1]}"
    raise InputError(f"{name} must be {listed}, got {value!r}{hint}")


def _make_rule(kind: type, arguments: str, text: str) -> Any:
    """Read arguments such as "folds=8, penalties=30": names and numbers only."""
    known = [one.name for one in fields(kind)]
    given: dict[str, Any] = {}
    for part in arguments.split(",") if arguments.strip() else ():
        match = re.fullmatch(r"\s*(\w+)\s*=\s*([-+.\w]+)\s*", part)
        number = _as_number(match[2]) if match else None
        if match is None or number is None or match[1] in given:
            raise InputError(
                f"{text!r} cannot be read: write parameters as name=number, such as "
                f"{rule_text(kind())!r}"
            )
        given[match[1]] = number
    for name in given:
        if name not in known:
            takes = f"it takes {', '.join(known)}" if known else "it takes none"
            close = get_close_matches(name, known, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise InputError(
                f"{text!r} has an unknown parameter {name!r}: {takes}{hint}"
            )
    return kind(**given)


def _as_number(text: str) -> int | float | None:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return None


def is_number(value: Any, kind: type) -> bool:
    """Tell whether a value is a number; truth values are not.

    Parameters
    ----------
    value : object
        The value.
    kind : type
        Kind of number, such as `numbers.Real`.

    Returns
    -------
    bool
        Whether it is.
    """
    return isinstance(value, kind) and not isinstance(value, bool)


def _set_whole(rule: Any, name: str, low: int) -> None:
    """Check a whole number, and store it as a Python int."""
    value = getattr(rule, name)
    if not (is_number(value, Integral) and value >= low):
        raise InputError(
            f"{name} must be a whole number of at least {low}, got {value!r}"
        )
    object.__setattr__(rule, name, int(value))


def _set_share(rule: Any, name: str) -> None:
    object.__setattr__(rule, name, read_share(name, getattr(rule, name)))


def read_share(name: str, value: Any) -> float:
    """Check a number between 0 and 1.

    Parameters
    ----------
    name : str
        Name of the parameter.
    value : object
        Value that the user gave.

    Returns
    -------
    float
        The number.
    """
    if not (is_number(value, Real) and 0.0 < value < 1.0):
        raise InputError(f"{name} must be a number between 0 and 1, got {value!r}")
    return float(value)


def _set_splits(rule: Tested | Fdr) -> None:
    _set_whole(rule, "splits", 1)
    if rule.splits > MOST_SPLITS:
        raise InputError(f"splits must be at most {MOST_SPLITS}, got {rule.splits}")


def _set_grid(rule: Moments | HoldOut) -> None:
    _set_whole(rule, "penalties", 1)
    _set_share(rule, "min_ratio")
