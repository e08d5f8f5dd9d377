"""What is promised to every row, and the bounds of rows that the promise rests on."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from numbers import Real
from typing import Any

from fedsdr.exceptions import InputError

#: Lowest and highest value of a column.
Pair = tuple[float, float]

#: Ends of ranges must be smaller, so that widths can be squared.
LARGEST = 1e100


@dataclass(frozen=True, slots=True, kw_only=True)
class Privacy:
    r"""Differential privacy of a fit, for adding or removing one row of one site.

    Parameters
    ----------
    epsilon : float
        Bound of the privacy loss, positive.
    delta : float
        Probability of a larger loss, below 1; much smaller than 1 / N.
    ranges : pair of float, or sequence of pairs
        Lowest and highest value of every column, or of all columns alike. They must be
        known without looking at the rows. Values outside are moved to the nearer end.
    response : pair of float, optional
        Lowest and highest value of y, where y is a number.
    classes : sequence, default=()
        All classes of y, where y is a class.
    radius : float, default=0.3
        Length at which rows are shortened, in units of :math:`\sqrt d` times half the
        width of the range, after the site's noisy mean is subtracted. Columns whose
        range is four standard deviations to each side have a length of about 0.25.

    Notes
    -----
    The noise of all sums is proportional to the square of `radius`: what is too large
    costs accuracy, what is too small shortens rows. See ``docs/privacy.md``.
    """

    epsilon: float
    delta: float
    ranges: tuple[Pair, ...]
    response: Pair | None = None
    classes: tuple[Any, ...] = ()
    radius: float = 0.3

    def __post_init__(self) -> None:
        _set_number(self, "epsilon", math.inf)
        _set_number(self, "delta", 1.0)
        _set_number(self, "radius", 1.0, included=True)
        given: Any = self.ranges
        alike = _is_pair(given)
        pairs = (_pair("ranges", given),) if alike else _pairs(given)
        object.__setattr__(self, "ranges", pairs)
        if self.response is not None:
            object.__setattr__(self, "response", _pair("response", self.response))
        classes = tuple(self.classes)
        object.__setattr__(self, "classes", classes)
        if (self.response is None) == (not classes):
            raise InputError(
                "privacy needs the range of y, response=(low, high), or for classes "
                "all of them, classes=(...), and not both"
            )
        if classes and (len(classes) < 2 or len(set(classes)) < len(classes)):
            raise InputError("classes must list two or more different classes of y")

    def pairs(self, n_features: int) -> tuple[Pair, ...]:
        """Return the range of every column.

        Parameters
        ----------
        n_features : int
            Number of columns d.

        Returns
        -------
        tuple of pairs
            Lowest and highest values, one pair per column.
        """
        if len(self.ranges) == 1:
            return self.ranges * n_features
        if len(self.ranges) != n_features:
            raise InputError(
                f"privacy has ranges of {len(self.ranges)} columns, and there are "
                f"{n_features}: give one pair per column, or one pair for all"
            )
        return self.ranges

    def to_mapping(self) -> dict[str, Any]:
        """Write as plain values.

        Returns
        -------
        dict
            Values from which ``Privacy(**values)`` makes an equal one.
        """
        found = asdict(self)
        found["ranges"] = [list(pair) for pair in self.ranges]
        found["response"] = None if self.response is None else list(self.response)
        found["classes"] = list(self.classes)
        return found


def read_privacy(value: Any) -> Privacy | None:
    """Read the parameter `privacy` of a method.

    Parameters
    ----------
    value : Privacy, mapping or None
        What the user gave; a mapping has the parameters of `Privacy`.

    Returns
    -------
    Privacy or None
        The value; None for sums without noise.
    """
    if value is None or isinstance(value, Privacy):
        return value
    known = [one.name for one in fields(Privacy)]
    if not isinstance(value, Mapping):
        raise InputError(
            "privacy must be None or Privacy(epsilon=..., delta=..., ranges=..., "
            f"response=...), got {value!r}"
        )
    for name in value:
        if name not in known:
            raise InputError(f"privacy has no {name!r}: it takes {', '.join(known)}")
    missing = [name for name in ("epsilon", "delta", "ranges") if name not in value]
    if missing:
        raise InputError(f"privacy needs {', '.join(missing)}")
    return Privacy(**value)


def _set_number(
    owner: Privacy, name: str, high: float, *, included: bool = False
) -> None:
    value = getattr(owner, name)
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    # Comparisons are also false for nan.
    within = (
        is_number and value > 0.0 and (value < high or (included and value == high))
    )
    if not within:
        end = "" if high == math.inf else f" and at most {high:g}"
        if high < math.inf and not included:
            end = f" and below {high:g}"
        raise InputError(f"{name} must be a number above 0{end}, got {value!r}")
    object.__setattr__(owner, name, float(value))


def _is_pair(value: Any) -> bool:
    try:
        return len(value) == 2 and all(isinstance(one, Real) for one in value)
    except TypeError:
        return False


def _pair(name: str, value: Any) -> Pair:
    if not _is_pair(value) or not -LARGEST < value[0] < value[1] < LARGEST:
        raise InputError(
            f"{name} must be (lowest, highest), two finite numbers, got {value!r}"
        )
    return float(value[0]), float(value[1])


def _pairs(value: Any) -> tuple[Pair, ...]:
    try:
        pairs = tuple(_pair("ranges", one) for one in value)
    except TypeError:
        pairs = ()
    if not pairs:
        raise InputError(
            "ranges must be (lowest, highest), or one such pair for every column"
        )
    return pairs
