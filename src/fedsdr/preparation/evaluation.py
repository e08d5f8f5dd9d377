"""Evaluate expressions on columns, with missing values as in SQL.

A comparison with a missing value is missing; "and" and "or" are missing only where the
other side does not decide. An operation without a result, such as the logarithm of a
negative number, gives infinity, so that it is counted as a problem and not as a gap.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fedsdr.arrays import Vector
from fedsdr.data.columns import kind_of, to_floats
from fedsdr.exceptions import InputError
from fedsdr.preparation.expressions import Apply, Constant, Expression, Node, Reference
from fedsdr.preparation.levels import level_texts
from fedsdr.preparation.tokens import expression_error

_ARITHMETIC: dict[str, Callable[..., Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "^": np.power,
    "abs": np.abs,
    "exp": np.exp,
    "log": np.log,
    "max": np.maximum,
    "min": np.minimum,
    "negative": np.negative,
    "sqrt": np.sqrt,
}

_COMPARE: dict[str, Callable[..., Any]] = {
    "=": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


@dataclass(frozen=True, slots=True, eq=False)
class Evaluated:
    """The value of an expression in each row.

    Parameters
    ----------
    kind : {"number", "truth", "text"}
        Truth values are 1 and 0.
    values : ndarray of shape (n_rows,)
        Numbers with NaN where one is missing; for text, objects with None.
    """

    kind: str
    values: NDArray[Any]

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Rows without a value."""
        if self.kind == "text":
            return np.asarray(pd.isna(self.values), dtype=bool)
        return np.isnan(self.values)

    def as_column(self) -> pd.Series:
        """Return a column that is read like one of a file.

        Returns
        -------
        Series
            Numbers, truth values (as objects, if one is missing) or text.
        """
        if self.kind == "number":
            return pd.Series(self.values)
        if self.kind == "text":
            return pd.Series(self.values, dtype=object)
        truths = np.array([False, True], dtype=object)[(self.values == 1.0).astype(int)]
        truths[self.missing] = None
        return pd.Series(truths, dtype=object)


def evaluate(
    expression: Expression, columns: Mapping[str, pd.Series], n_rows: int
) -> Evaluated:
    """Evaluate an expression in each row.

    Parameters
    ----------
    expression : Expression
        Parsed expression.
    columns : mapping of str to Series
        Its columns, after missing codes have been removed.
    n_rows : int
        Number of rows.

    Returns
    -------
    Evaluated
        Values. An `InputError` names position and column where an operation does not
        fit what a column holds; it shows no value.
    """
    return _Evaluator(expression.text, columns, n_rows).value(expression.root)


class _Evaluator:
    def __init__(self, text: str, columns: Mapping[str, pd.Series], n_rows: int):
        self._text = text
        self._columns = columns
        self._n_rows = n_rows

    def value(self, node: Node) -> Evaluated:
        if isinstance(node, Constant):
            kind = "text" if isinstance(node.value, str) else "number"
            dtype: Any = object if kind == "text" else np.float64
            return Evaluated(kind, np.full(self._n_rows, node.value, dtype=dtype))
        if isinstance(node, Reference):
            return self._column(node)
        values = [self.value(argument) for argument in node.arguments]
        if node.operation == "missing":
            return Evaluated("truth", values[0].missing.astype(np.float64))
        if node.operation in ("and", "or", "not"):
            return self._logic(node, values)
        if node.operation in _COMPARE:
            return self._compare(node, *values)
        return self._arithmetic(node, values)

    def _error(self, node: Node, problem: str) -> InputError:
        return expression_error(self._text, node.position, problem)

    def _column(self, node: Reference) -> Evaluated:
        if node.name not in self._columns:
            raise self._error(node, f"there is no column '{node.name}'")
        column = self._columns[node.name]
        kind = kind_of(column)
        if kind in ("number", "truth"):
            return Evaluated(kind, to_floats(column))
        if kind == "other":
            problem = f"'{node.name}' holds neither numbers nor text"
            raise self._error(node, problem)
        return Evaluated("text", level_texts(column))

    def _numbers(self, node: Apply, values: list[Evaluated]) -> list[Vector]:
        for argument, value in zip(node.arguments, values, strict=True):
            if value.kind == "text":
                name = argument.name if isinstance(argument, Reference) else "this"
                raise self._error(
                    argument, f"'{name}' is text, and '{node.operation}' needs numbers"
                )
        return [value.values for value in values]

    def _arithmetic(self, node: Apply, values: list[Evaluated]) -> Evaluated:
        numbers = self._numbers(node, values)
        apply = _ARITHMETIC[node.operation]
        with np.errstate(all="ignore"):
            found = apply(*numbers[:2])
            for more in numbers[2:]:
                found = apply(found, more)
        missing = np.logical_or.reduce([value.missing for value in values])
        undefined = np.isnan(found) & ~missing
        found = np.where(missing, np.nan, found)
        return Evaluated("number", np.where(undefined, np.inf, found))

    def _compare(self, node: Apply, left: Evaluated, right: Evaluated) -> Evaluated:
        missing = left.missing | right.missing
        texts = [value.kind == "text" for value in (left, right)]
        if all(texts):
            if node.operation not in ("=", "!="):
                raise self._error(node, "texts have no order: compare them by = or !=")
        elif any(texts):
            place = texts.index(True)
            other = node.arguments[1 - place]
            raise self._error(
                node.arguments[place],
                "a text is compared with a number"
                + (": put the number in quotes" if isinstance(other, Constant) else ""),
            )
        with np.errstate(invalid="ignore"):
            found = _COMPARE[node.operation](left.values, right.values)
        return Evaluated("truth", np.where(missing, np.nan, found.astype(np.float64)))

    def _logic(self, node: Apply, values: list[Evaluated]) -> Evaluated:
        for argument, value in zip(node.arguments, values, strict=True):
            if value.kind != "truth":
                raise self._error(
                    argument,
                    f"'{node.operation}' needs a comparison, such as smoker = 1",
                )
        if node.operation == "not":
            return Evaluated("truth", 1.0 - values[0].values)
        decisive = 0.0 if node.operation == "and" else 1.0
        left, right = (value.values for value in values)
        found = np.where(np.isnan(left) | np.isnan(right), np.nan, 1.0 - decisive)
        decided = (left == decisive) | (right == decisive)
        return Evaluated("truth", np.where(decided, decisive, found))
