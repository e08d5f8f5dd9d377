"""Convert inputs of users (numpy, pandas, polars, Arrow) to plain arrays."""

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedsdr.arrays import Vector
from fedsdr.exceptions import InputError
from fedsdr.summaries.dense_blocks import SUMMED_TYPES, is_sparse

_NUMBERS_IN_OBJECTS = {"integer", "floating", "mixed-integer-float", "decimal"}


def check_rows(X: Any, y: Any) -> tuple[Any, NDArray[Any]]:
    """Validate the rows of one site with the checks of scikit-learn.

    Whether the numbers of an array are finite is left to `require_finite`.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
        Covariates: numpy, pandas, polars, Arrow or scipy.sparse; finite numbers.
    y : array-like of shape (n_rows,)
        Response: numbers, strings, booleans or categories.

    Returns
    -------
    X : ndarray or sparse matrix of shape (n_rows, n_features)
        The covariates in one of the `SUMMED_TYPES`; a sparse matrix by its rows.
    y : ndarray of shape (n_rows,)
        The response, see `check_target`.
    """
    if _is_matrix(X) and _is_plain(y, 1) and len(X) == len(y):
        return X, y
    from sklearn.utils import check_array, check_consistent_length

    refuse_masked("X", X)
    X = check_array(X, dtype=list(SUMMED_TYPES), accept_sparse="csr", input_name="X")
    y = check_target(y)
    check_consistent_length(X, y)
    return X, y


def require_finite(X: Any, sums: Vector) -> None:
    """Refuse values that are not finite, without a pass over X where all are.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_rows, n_features)
        Covariates.
    sums : ndarray of shape (n_features,)
        Sum or mean of each column, which a value that is not finite makes so.
    """
    if not np.isfinite(sums).all():
        from sklearn.utils import assert_all_finite

        assert_all_finite(X.data if is_sparse(X) else X, input_name="X")


def refuse_masked(name: str, values: Any) -> None:
    """Refuse a masked array of numpy, whose masks would be lost in silence.

    Parameters
    ----------
    name : str
        What the user calls the array.
    values : object
        What the user passed; an `InputError` counts the values that are masked.
    """
    count = int(np.sum(np.ma.getmaskarray(values))) if np.ma.isMA(values) else 0
    if count:
        raise InputError(
            f"{name} is a masked array with {count} masked value(s): leave those rows "
            "out or fill them in"
        )


def check_target(y: Any) -> NDArray[Any]:
    """Validate a response and reduce its types to numbers or classes.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Numbers, strings, booleans or categories, without missing values.

    Returns
    -------
    ndarray of shape (n_rows,)
        float64 for numbers; anything else (text, booleans) denotes classes. Categories
        become text even if they look like numbers, because a column that is declared
        categorical has no scale.
    """
    if y is None:
        raise InputError("y is missing: sliced inverse regression needs a response")
    if _is_plain(y, 1):
        return np.asarray(y)
    refuse_masked("y", y)
    from sklearn.utils import assert_all_finite
    from sklearn.utils.validation import column_or_1d

    categories = _is_categorical(y)
    values = column_or_1d(_as_array(y), warn=True)
    if values.dtype.kind == "O":
        import pandas as pd

        if pd.isna(values).any():
            raise InputError("Input y contains missing values: drop those rows first")
        if pd.api.types.infer_dtype(values) in _NUMBERS_IN_OBJECTS and not categories:
            values = values.astype(np.float64)
    if categories:
        return values.astype(str)
    if values.dtype.kind in "iuf":
        assert_all_finite(values, input_name="y")
        return np.asarray(values, dtype=np.float64)
    if values.dtype.kind not in "bOUST":
        raise InputError(
            f"y has type {values.dtype}, which is neither a number nor a class: "
            "convert it to numbers, text or booleans"
        )
    return values


def _is_matrix(values: Any) -> bool:
    """Return whether an array can be summed as it is."""
    return (
        type(values) is np.ndarray
        and values.dtype in SUMMED_TYPES
        and values.ndim == 2
        and values.size > 0
    )


def _is_plain(values: Any, n_axes: int) -> bool:
    """Return whether an array needs no checks, and so no import of scikit-learn."""
    return (
        type(values) is np.ndarray
        and values.dtype == np.float64
        and values.ndim == n_axes
        and values.size > 0
        and bool(np.isfinite(values).all())
    )


def _as_array(y: Any) -> NDArray[Any]:
    arrow = _arrow_of(y)
    if arrow is None:
        return np.asarray(y)
    # Arrow returns text as objects only through to_numpy; in some versions np.asarray
    # makes an array of Arrow scalars from a ChunkedArray.
    if isinstance(y, arrow.ChunkedArray):
        return np.asarray(y.to_numpy())
    return np.asarray(y.to_numpy(zero_copy_only=False))


def _is_categorical(y: Any) -> bool:
    arrow = _arrow_of(y)
    if arrow is not None:
        return bool(arrow.types.is_dictionary(y.type))
    import pandas as pd

    return isinstance(getattr(y, "dtype", None), pd.CategoricalDtype)


def _arrow_of(y: Any) -> Any:
    """Return pyarrow if `y` is one of its arrays: then it has been imported."""
    arrow = sys.modules.get("pyarrow")
    if arrow is None or not isinstance(y, arrow.Array | arrow.ChunkedArray):
        return None
    return arrow
