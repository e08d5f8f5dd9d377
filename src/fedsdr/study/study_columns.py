"""The columns of a study, as all sites declare them."""

import math
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    model_serializer,
    model_validator,
)

from fedsdr.exceptions import InputError
from fedsdr.preparation import ColumnPlan
from fedsdr.preparation.column_plan import read_recode
from fedsdr.preparation.levels import level_text

Missing = Literal["refuse", "drop", "mean", "mean or drop"]

#: Treatments by which gaps are filled.
FILLING = ("mean", "mean or drop")

#: Files are read once and not changed; an unknown key is an error.
FROZEN = ConfigDict(frozen=True, extra="forbid")


def _levels(value: Any) -> tuple[str, ...]:
    plain = isinstance(value, list | tuple) and all(
        isinstance(one, str | int | float | bool) for one in value
    )
    if not plain:
        raise ValueError('must be a list such as ["f", "m"]')
    texts = [level_text(one) for one in value]
    levels = [text for text in texts if text is not None]
    if len(levels) < 2 or len(levels) < len(texts) or len(set(levels)) < len(levels):
        raise ValueError("must list two or more different levels, none of them empty")
    return tuple(levels)


def _range(value: Any) -> tuple[float, float]:
    numbers = isinstance(value, list | tuple) and all(
        isinstance(one, int | float) and not isinstance(one, bool) for one in value
    )
    # The comparison is also false for nan.
    if not numbers or len(value) != 2 or not value[0] < value[1]:
        raise ValueError(
            "must be [lowest, highest], two numbers; use -inf or inf for an open side"
        )
    return float(value[0]), float(value[1])


def _codes(value: Any) -> tuple[str, ...]:
    texts = [level_text(one) for one in value] if isinstance(value, list) else [None]
    if None in texts or len(set(texts)) < len(texts):
        raise ValueError('must be a list such as ["?", -9], without empty entries')
    return tuple(text for text in texts if text is not None)


Codes = Annotated[tuple[str, ...], BeforeValidator(_codes)]
Recode = Annotated[tuple[tuple[str, str], ...], BeforeValidator(read_recode)]
Levels = Annotated[tuple[str, ...], BeforeValidator(_levels)]
Range = Annotated[tuple[float, float], BeforeValidator(_range)]
Baseline = Annotated[str, BeforeValidator(level_text)]


#: Keys that say how values are prepared; they are in digests only where they are used.
_PREPARATION = (
    *("source", "expression", "missing_codes", "recode", "missing_level", "scale"),
    *("offset", "log", "date_format"),
)


class Variable(BaseModel):
    """Declaration of a column, for every site.

    Parameters
    ----------
    type : {"number", "category", "boolean", "date", "ignored"}
        What the column holds; "ignored" for one that only expressions read.
    unit : str, default=""
        Unit of the numbers.
    range : tuple of two float or None, default=None
        Lowest and highest number allowed, both included; None for any number. Needed
        where gaps are filled.
    levels : tuple of str, default=()
        All levels of a category.
    missing : {"refuse", "drop", "mean", "mean or drop"} or None, default=None
        Treatment of missing values at each site: refuse the study, drop these rows, or
        fill in the mean over all sites (numbers only); "mean or drop" fills them, but
        drops the rows at a site where fewer than ``min_level_rows`` have a gap. None
        for the treatment that the study declares.
    source, expression, missing_codes, recode, missing_level : object
        Origin of the values, see `fedsdr.preparation.ColumnPlan`.
    scale, offset, log, date_format : object
        Conversion of numbers and dates, see `fedsdr.preparation.ColumnPlan`.
    """

    model_config = FROZEN

    type: Literal["number", "category", "boolean", "date", "ignored"]
    unit: str = Field(default="", max_length=80)
    range: Range | None = None
    levels: Levels = ()
    missing: Missing | None = None
    source: str | None = Field(default=None, min_length=1, max_length=200)
    expression: str | None = None
    missing_codes: Codes = ()
    recode: Recode = ()
    missing_level: Baseline | None = None
    scale: float = 1.0
    offset: float = 0.0
    log: bool = False
    date_format: str = Field(default="", max_length=40)

    def plan(self, name: str) -> ColumnPlan:
        """Return what a site makes of the column.

        Parameters
        ----------
        name : str
            Name of the column in the study.

        Returns
        -------
        ColumnPlan
            Plan, as `fedsdr fit` has it.
        """
        keys = type(self).model_fields
        given = {key: getattr(self, key) for key in keys if key != "name"}
        if self.missing in FILLING:
            # Which rows a site leaves out is no matter of one column.
            given["missing"] = "mean"
        return ColumnPlan(name, **given)

    @model_serializer(mode="wrap")
    def _without_defaults(self, serialize: Any) -> dict[str, Any]:
        """Leave out keys at their defaults, so that older studies keep their digest."""
        found = serialize(self)
        for key in _PREPARATION:
            if getattr(self, key) == type(self).model_fields[key].default:
                found.pop(key, None)
        return found

    @model_validator(mode="after")
    def _check_variable(self) -> Self:
        if self.type == "number" and self.levels:
            raise InputError("a number has no levels: use range, or type = 'category'")
        if self.type == "category" and (self.unit or self.range):
            raise InputError("a category has neither unit nor range: use levels")
        if self.type == "category" and not self.levels:
            raise InputError("a category needs levels: list all of them")
        if self.type in ("category", "boolean") and self.missing in FILLING:
            raise InputError(
                f"a {self.type} has no mean: use missing = 'refuse' or 'drop', or "
                "declare a level for missing values"
            )
        _ = self._checked_plan
        return self

    @cached_property
    def _checked_plan(self) -> ColumnPlan:
        """Plan of the column under any name; making it checks the keys."""
        return self.plan("column")


class Covariate(Variable):
    """A column of X.

    Parameters
    ----------
    type : {"number", "category", "boolean", "date", "ignored"}
        What the column holds; "ignored" for one that only expressions read.
    unit : str, default=""
        Unit of the numbers.
    range : tuple of two float or None, default=None
        Lowest and highest number allowed.
    levels : tuple of str, default=()
        All levels of a category.
    missing : {"refuse", "drop", "mean", "mean or drop"} or None, default=None
        Treatment of missing values.
    source, expression, missing_codes, recode, missing_level : object
        Origin of the values, see `fedsdr.preparation.ColumnPlan`.
    scale, offset, log, date_format : object
        Conversion of numbers and dates, see `fedsdr.preparation.ColumnPlan`.
    baseline : str or None, default=None
        Level without an indicator; the first level if None.

    Notes
    -----
    A category of L levels becomes L - 1 indicators. All L indicators would add up to
    one in every row, and the covariance would be singular at every site.
    """

    baseline: Baseline | None = None

    @model_validator(mode="after")
    def _check_baseline(self) -> Self:
        if self.baseline is not None and self.baseline not in self.levels:
            raise InputError("baseline must be one of the levels")
        return self

    @property
    def indicators(self) -> tuple[str, ...]:
        """Levels that become an indicator column."""
        return self._checked_plan.indicators

    @property
    def ranges(self) -> tuple[tuple[float, float], ...]:
        """Lowest and highest value of each feature that the column becomes."""
        plan = self._checked_plan
        if self.type in ("number", "date"):
            return (plan.feature_range or (-math.inf, math.inf),)
        # Indicators and truth values are 0 or 1.
        return ((0.0, 1.0),) * len(plan.features)


class Target(Variable):
    """The response.

    Parameters
    ----------
    type : {"number", "category", "boolean"}
        Whether the response is a number, a class or a truth value.
    unit : str, default=""
        Unit of the numbers.
    range : tuple of two float or None, default=None
        Lowest and highest number allowed.
    levels : tuple of str, default=()
        All classes.
    missing : {"refuse", "drop"} or None, default=None
        Treatment of missing values; a response is never filled in.
    source, expression, missing_codes, recode, missing_level : object
        Origin of the values, see `fedsdr.preparation.ColumnPlan`.
    scale, offset, log, date_format : object
        Conversion of numbers and dates, see `fedsdr.preparation.ColumnPlan`.
    name : str
        Name of the column.
    """

    name: str = Field(min_length=1, max_length=200)

    @model_validator(mode="after")
    def _check_target(self) -> Self:
        if self.type in ("date", "ignored"):
            raise InputError("a response is a number, a category or a boolean")
        if self.missing in FILLING:
            raise InputError("a response is never filled in: use 'refuse' or 'drop'")
        return self

    @property
    def classes(self) -> tuple[str, ...]:
        """All classes; none for numbers."""
        return ("false", "true") if self.type == "boolean" else self.levels
