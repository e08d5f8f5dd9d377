"""How good predictions are, as the paper measures it."""

from typing import Any

import numpy as np

from fedsdr.exceptions import InputError
from fedsdr.rows.own_sites import group_by_site


def relative_error(y: Any, prediction: Any, sites: Any = None) -> float:  # noqa: ARG001
    r"""Measure squared errors against those of the mean.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Responses.
    prediction : array-like of shape (n_rows,)
        What was predicted.
    sites : array-like of shape (n_rows,), optional
        Not looked at: there is one denominator for all rows.

    Returns
    -------
    float
        0 is perfect; 1 is as good as the mean of these rows.

    Notes
    -----
    :math:`\sum_i (\hat y_i - y_i)^2 / \sum_i (y_i - \bar y)^2`, one minus R squared.
    The paper prints one sum of fractions, which is undefined as soon as one response
    equals the mean, and gives values that only two sums explain.

    Examples
    --------
    >>> from fedsdr.downstream import relative_error
    >>> relative_error([1.0, 2.0, 3.0], [1.0, 2.0, 4.0])
    0.5
    """
    actual = np.asarray(y, dtype=np.float64)
    errors = np.asarray(prediction, dtype=np.float64) - actual
    spread = ((actual - actual.mean()) ** 2).sum()
    if not spread > 0.0:
        raise InputError("the relative error needs responses that are not all equal")
    return float((errors**2).sum() / spread)


def site_accuracy(y: Any, prediction: Any, sites: Any = None) -> float:
    """Average over sites their shares of rows predicted right.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Classes.
    prediction : array-like of shape (n_rows,)
        What was predicted.
    sites : array-like of shape (n_rows,), optional
        Label of each row's site; one site if not given.

    Returns
    -------
    float
        Between 0 and 1; a small site counts as much as a large one.

    Examples
    --------
    >>> from fedsdr.downstream import site_accuracy
    >>> site_accuracy([0, 0, 0, 1], [0, 0, 0, 0], sites=["a", "a", "a", "b"])
    0.5
    """
    right = np.asarray(y) == np.asarray(prediction)
    groups = group_by_site(sites, len(right))
    return float(np.mean([right[rows].mean() for _, rows in groups]))
