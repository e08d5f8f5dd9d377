"""What is made of one column, as a value that people can write down."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np

from fedsdr.exceptions import InputError
from fedsdr.preparation.expressions import parse_expression
from fedsdr.preparation.levels import level_text

#: What a column may be taken for.
TYPES = ("number", "category", "boolean", "date", "id", "ignored")

#: Types that become columns of X.
USED = ("number", "category", "boolean", "date")

#: What may be done about missing values.
GAPS = ("refuse", "drop", "mean")

#: Keys that have a meaning for some types only.
_ONLY = {
    "range": ("number", "date"),
    "unit": ("number",),
    "scale": ("number",),
    "offset": ("number",),
    "log": ("number",),
    "levels": ("category",),
    "baseline": ("category",),
    "missing_level": ("category",),
    "date_format": ("date",),
}


@dataclass(frozen=True, slots=True)
class ColumnPlan:
    """Preparation of one column.

    Parameters
    ----------
    name : str
        Name of the prepared column.
    type : {"number", "category", "boolean", "date", "id", "ignored"}
        What the column is taken for. A category becomes one indicator per level but
        the baseline, a boolean 1 and 0, a date a number of years; "id" and "ignored"
        are left out, but expressions may read them.
    source : str or None, default=None
        Name in the data; `name` if None.
    expression : str or None, default=None
        Expression that the column is computed by, instead of a source.
    missing_codes : tuple of str, default=()
        Entries that mean "missing", as `level_text` writes them.
    recode : tuple of tuple of two str, default=()
        Pairs of an entry and what replaces it, after missing codes are removed.
    missing_level : str or None, default=None
        Level of a category for its missing values.
    scale, offset : float, default=1.0 and 0.0
        Conversion of a unit: a number becomes ``scale * number + offset``.
    log : bool, default=False
        Whether the natural logarithm is taken, after the conversion.
    unit : str, default=""
        Unit of the numbers, after the conversion and before the logarithm.
    range : tuple of two float or None, default=None
        Lowest and highest number allowed, in this unit; of a date, in years.
    levels : tuple of str, default=()
        All levels of a category.
    baseline : str or None, default=None
        Level without an indicator; the first level if None.
    missing : {"refuse", "drop", "mean"} or None, default=None
        What is done about missing values; the common rule if None.
    date_format : str, default=""
        Format of dates that are text, such as "%d.%m.%Y"; ISO 8601 if empty.
    """

    name: str
    type: str = "number"
    source: str | None = None
    expression: str | None = None
    missing_codes: tuple[str, ...] = ()
    recode: tuple[tuple[str, str], ...] = ()
    missing_level: str | None = None
    scale: float = 1.0
    offset: float = 0.0
    log: bool = False
    unit: str = ""
    range: tuple[float, float] | None = None
    levels: tuple[str, ...] = ()
    baseline: str | None = None
    missing: str | None = None
    date_format: str = ""

    def __post_init__(self) -> None:
        if self.type not in TYPES:
            raise InputError(f"type must be one of {', '.join(TYPES)}")
        for one in fields(self):
            types = _ONLY.get(one.name, TYPES)
            if self.type not in types and getattr(self, one.name) != one.default:
                raise InputError(
                    f"{one.name} is for type = '{types[0]}', not '{self.type}'"
                )
        if self.expression is not None:
            self._check_derived()
        if not (
            math.isfinite(self.scale) and self.scale and math.isfinite(self.offset)
        ):
            raise InputError("scale and offset must be finite, and scale not 0")
        if self.missing not in (None, *GAPS):
            raise InputError(f"missing must be one of {', '.join(GAPS)}")
        self._check_levels()

    def _check_derived(self) -> None:
        parse_expression(self.expression or "")
        if self.source is not None:
            raise InputError("a column has a source or an expression, not both")

    def _check_levels(self) -> None:
        if self.baseline is not None and self.baseline not in self.levels:
            raise InputError("baseline must be one of the levels")
        if self.missing_level is not None and self.missing_level not in self.levels:
            raise InputError("missing_level must be one of the levels")
        if self.type == "category" and self.missing == "mean":
            raise InputError(
                "a category has no mean: use missing = 'refuse' or 'drop', or declare "
                "a level for missing values"
            )
        replaced = {old for old, _ in self.recode}
        if replaced & set(self.missing_codes):
            raise InputError("an entry of missing_codes cannot be recoded too")

    @property
    def used(self) -> bool:
        """Whether it becomes columns of X."""
        return self.type in USED

    @property
    def reads(self) -> tuple[str, ...]:
        """Names that it is made of: a source, or the columns of its expression."""
        if self.expression is not None:
            return parse_expression(self.expression).references
        return (self.source or self.name,)

    @property
    def indicators(self) -> tuple[str, ...]:
        """Levels that become an indicator column."""
        if not self.levels:
            return ()
        baseline = self.levels[0] if self.baseline is None else self.baseline
        return tuple(level for level in self.levels if level != baseline)

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the columns of X that it becomes."""
        if not self.used:
            return ()
        if self.type == "category":
            return tuple(f"{self.name}={level}" for level in self.indicators)
        return (self.name,)

    @property
    def feature_range(self) -> tuple[float, float] | None:
        """Range of the prepared numbers: that of the logarithm where it is taken."""
        if self.range is None or not self.log:
            return self.range
        with np.errstate(divide="ignore"):
            low, high = np.log(np.maximum(self.range, 0.0))
        return float(low), float(high)

    def table(self) -> dict[str, Any]:
        """Return the keys of a schema or study file, without those left at default.

        Returns
        -------
        dict
            Plain values; `from_table` reads them.
        """
        found: dict[str, Any] = {"type": self.type}
        for one in fields(self):
            value = getattr(self, one.name)
            if one.name not in ("name", "type") and value != one.default:
                found[one.name] = value
        if self.recode:
            found["recode"] = dict(self.recode)
        return found

    @classmethod
    def from_table(cls, name: str, table: Mapping[str, Any]) -> Self:
        """Read the keys of a schema file.

        Parameters
        ----------
        name : str
            Name of the column.
        table : mapping of str
            Keys and values; lists for tuples, and a table for `recode`.

        Returns
        -------
        ColumnPlan
            An `InputError` names the column and the key.
        """
        known = [one.name for one in fields(cls) if one.name != "name"]
        strange = [key for key in table if key not in known]
        try:
            if strange:
                raise InputError(f"has no key '{strange[0]}'; keys are {known}")
            return cls(name, **{key: _read(key, value) for key, value in table.items()})
        except InputError as error:
            raise InputError(f"column '{name}': {error}") from None


def _read(key: str, value: Any) -> Any:
    readers = {
        "missing_codes": _read_texts,
        "levels": _read_texts,
        "recode": read_recode,
        "range": _read_range,
        "scale": _read_number,
        "offset": _read_number,
        "log": _read_truth,
        "baseline": level_text,
        "missing_level": level_text,
    }
    if key in readers:
        try:
            return readers[key](value)
        except (TypeError, ValueError) as error:
            raise InputError(f"{key} {error}") from None
    if not isinstance(value, str):
        raise InputError(f"{key} must be text, in quotes")
    return value


def _read_texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise InputError('must be a list such as ["a", "b"]')
    texts = [level_text(one) for one in value]
    if None in texts or len(set(texts)) < len(texts):
        raise InputError("must be a list of different entries, none of them empty")
    return tuple(text for text in texts if text is not None)


def read_recode(value: Any) -> tuple[tuple[str, str], ...]:
    """Read a table of entries and what replaces them.

    Parameters
    ----------
    value : object
        Mapping of entries to their replacements, texts or numbers.

    Returns
    -------
    tuple of tuple of two str
        Pairs of texts, see `level_text`.
    """
    if not isinstance(value, Mapping):
        raise InputError('must be a table such as { "1" = "m", "2" = "f" }')
    pairs = [(level_text(old), level_text(new)) for old, new in value.items()]
    if any(None in pair for pair in pairs):
        raise InputError("has an empty entry: name it in missing_codes instead")
    return tuple((str(old), str(new)) for old, new in pairs)


def _read_range(value: Any) -> tuple[float, float]:
    low, high = (_read_number(one) for one in value)
    if not low < high:
        raise InputError("must be [lowest, highest], two numbers")
    return low, high


def _read_number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError("must be a number")
    return float(value)


def _read_truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise InputError("must be true or false")
    return value
