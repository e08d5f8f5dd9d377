"""The columns of a study, as all sites declare them."""

import math
from decimal import Decimal
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from fedsdr.exceptions import InputError

Missing = Literal["refuse", "drop", "mean"]

#: Files are read once and not changed; an unknown key is an error.
FROZEN = ConfigDict(frozen=True, extra="forbid")


def level_text(value: Any) -> str | None:
    """Return the text by which levels are compared.

    Parameters
    ----------
    value : object
        Text, a number or a truth value, from a study file or from data.

    Returns
    -------
    str or None
        Text of the level, None if it is missing. 1, 1.0 and "1" are the same level, and
        so are true and "True"; blanks around text are ignored.
    """
    if value is None:
        return None
    if isinstance(value, float | Decimal):
        number = float(value)
        if math.isnan(number):
            return None
        value = int(number) if number.is_integer() else number
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    text = text.strip()
    if text.lower() in ("true", "false"):
        text = text.lower()
    return text or None


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


Levels = Annotated[tuple[str, ...], BeforeValidator(_levels)]
Range = Annotated[tuple[float, float], BeforeValidator(_range)]
Baseline = Annotated[str, BeforeValidator(level_text)]


class Variable(BaseModel):
    """Declaration of a column, for every site.

    Parameters
    ----------
    type : {"number", "category"}
        Whether the column holds numbers or one of a few levels.
    unit : str, default=""
        Unit of the numbers.
    range : tuple of two float or None, default=None
        Lowest and highest number allowed, both included; None for any number. Needed
        where gaps are filled.
    levels : tuple of str, default=()
        All levels of a category.
    missing : {"refuse", "drop", "mean"} or None, default=None
        Treatment of missing values at each site: refuse the study, drop these rows, or
        fill in the mean over all sites (numbers only). None for the treatment that the
        study declares.
    """

    model_config = FROZEN

    type: Literal["number", "category"]
    unit: str = Field(default="", max_length=80)
    range: Range | None = None
    levels: Levels = ()
    missing: Missing | None = None

    @model_validator(mode="after")
    def _check_variable(self) -> Self:
        if self.type == "number" and self.levels:
            raise InputError("a number has no levels: use range, or type = 'category'")
        if self.type == "category" and (self.unit or self.range):
            raise InputError("a category has neither unit nor range: use levels")
        if self.type == "category" and not self.levels:
            raise InputError("a category needs levels: list all of them")
        if self.type == "category" and self.missing == "mean":
            raise InputError(
                "a category has no mean: use missing = 'refuse' or 'drop', or declare "
                "a level for missing values"
            )
        return self


class Covariate(Variable):
    """A column of X.

    Parameters
    ----------
    type : {"number", "category"}
        Whether the column holds numbers or one of a few levels.
    unit : str, default=""
        Unit of the numbers.
    range : tuple of two float or None, default=None
        Lowest and highest number allowed.
    levels : tuple of str, default=()
        All levels of a category.
    missing : {"refuse", "drop", "mean"} or None, default=None
        Treatment of missing values.
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
        if not self.levels:
            return ()
        baseline = self.levels[0] if self.baseline is None else self.baseline
        return tuple(level for level in self.levels if level != baseline)

    @property
    def ranges(self) -> tuple[tuple[float, float], ...]:
        """Lowest and highest value of each feature that the column becomes."""
        if self.type == "number":
            return (self.range or (-math.inf, math.inf),)
        return ((0.0, 1.0),) * len(self.indicators)


class Target(Variable):
    """The response.

    Parameters
    ----------
    type : {"number", "category"}
        Whether the response is a number or a class.
    unit : str, default=""
        Unit of the numbers.
    range : tuple of two float or None, default=None
        Lowest and highest number allowed.
    levels : tuple of str, default=()
        All classes.
    missing : {"refuse", "drop"} or None, default=None
        Treatment of missing values; a response is never filled in.
    name : str
        Name of the column.
    """

    name: str = Field(min_length=1, max_length=200)

    @model_validator(mode="after")
    def _check_target(self) -> Self:
        if self.missing == "mean":
            raise InputError("a response is never filled in: use 'refuse' or 'drop'")
        return self
