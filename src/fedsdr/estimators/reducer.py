"""Base class of all reducers: transform, names, tags."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from fedsdr.estimators.checks import check_columns, is_dask
from fedsdr.exceptions import InputError
from fedsdr.result import Result
from fedsdr.rows import Rows
from fedsdr.rows.own_sites import OwnSites, split_sites
from fedsdr.rows.row_marks import RowMarks, warn_of_copies
from fedsdr.summaries import check_target, is_discrete
from fedsdr.summaries.dense_blocks import as_dense
from fedsdr.summaries.inputs import refuse_masked
from fedsdr.summaries.slicing import MIN_ROWS
from fedsdr.telling import listening, written_by
from fedsdr.terms import Variables

#: What fit requests of rows, with scikit-learn's metadata routing, where it takes it.
REQUESTED_MARKS = {"sites": True, "sample_weight": True, "groups": True}


class Reducer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Linear reduction ``X @ directions_``.

    Rows are not centred: sites may have different means, and the position of the
    origin adds no information about y to the reduced variables.
    """

    # With scikit-learn's metadata routing, fit requests the labels of sites.
    __metadata_request__fit: ClassVar = {"sites": True}

    # Types of X that are used as they are, others become float64; whether X may be a
    # sparse matrix of scipy.
    _kept_types: ClassVar[Any] = np.float64
    _takes_sparse: ClassVar[bool] = False
    # Whether the rows of a Dask collection stay where they are.
    _takes_dask: ClassVar[bool] = False

    directions_: NDArray[np.float64]
    support_: Any
    penalty_: Any

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Project rows onto the estimated directions.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows with the columns of the fit.

        Returns
        -------
        ndarray of shape (n_rows, n_directions)
            Reduced variables.
        """
        check_is_fitted(self)
        refuse_masked("X", X)
        if not _holds_numbers(X):
            check_columns(X)
        sparse = self._takes_sparse and ("csr", "csc")
        rows = validate_data(
            self, X, reset=False, dtype=self._kept_types, accept_sparse=sparse
        )
        scores = self.result_.scores if hasattr(self, "result_") else None
        if scores is None:
            return rows @ self.directions_
        return scores.apply(as_dense(rows)) @ self.directions_

    def _validate(self, X: Any, y: Any) -> tuple[Any, NDArray[Any]]:
        """Check rows and responses with scikit-learn's validation."""
        refuse_masked("X", X)
        if not _holds_numbers(X):
            check_columns(X)
        # Before scikit-learn's validation, which turns categories into plain values.
        responses = None if y is None else check_target(y)
        rows, responses = validate_data(
            self,
            X,
            responses,
            dtype=self._kept_types,
            accept_sparse=self._takes_sparse and ("csc", "csr"),
            ensure_min_samples=MIN_ROWS,
        )
        return rows, responses

    def _own_sites(
        self,
        X: Any,
        y: Any,
        marks: RowMarks,
        generator: np.random.Generator,
        response: Any,
        *,
        independent: bool = False,
    ) -> OwnSites:
        """Check rows and responses, and group them by site.

        Where rows must be independent, copies among them are worth a warning.
        """
        own: Mapping[str, Rows]
        if is_dask(X) and self._takes_dask:
            own, responses = self._partitions(X, y, marks, generator)
        else:
            rows, responses = self._validate(X, y)
            if independent and marks.groups is None:
                warn_of_copies(rows, responses)
            rows, responses, marks = marks.repeated(rows, responses)
            own = split_sites(rows, responses, marks.sites, generator, marks.groups)
        discrete, strict = is_discrete(responses, response), len(own) == 1
        names = self._feature_names()
        variables = Variables(names, discrete, strict=strict, honest=len(own))
        return OwnSites(own, variables)

    def _partitions(
        self, X: Any, y: Any, marks: RowMarks, generator: np.random.Generator
    ) -> tuple[Mapping[str, Rows], NDArray[Any]]:
        """Group the rows of a Dask collection by site; they stay where they are."""
        for name in ("sample_weight", "groups"):
            if getattr(marks, name) is not None:
                raise InputError(
                    f"rows in a Dask collection cannot have {name}: pass rows that are "
                    "in memory, such as X.compute()"
                )
        from fedsdr.rows.dask_rows import split_partitions

        # The columns of a data frame, or an array, of which only the shape is read.
        columns = X if hasattr(X, "rechunk") else X._meta
        validate_data(self, columns, skip_check_array=True)
        return split_partitions(X, y, marks.sites, generator)

    def _adopt(self, found: Result, **settings: Any) -> None:
        """Set the attributes of the estimator from a result."""
        settings = {"estimator": type(self).__name__, **found.settings, **settings}
        self.result_ = replace(found, settings=settings)
        self.directions_ = np.array(found.directions)
        self.support_ = np.array(found.support)
        self.eigenvalues_ = np.array(found.eigenvalues)
        self.n_directions_ = self.directions_.shape[1]
        self.penalty_ = found.penalty
        self.n_iter_ = found.n_iter
        self.weak_ = found.weak
        self.stand_ins_ = dict(found.stand_ins)
        self.validation_ = pd.DataFrame(list(found.validation))

    def _feature_names(self) -> tuple[str, ...]:
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            return tuple(f"x{j}" for j in range(self.n_features_in_))
        return tuple(str(name) for name in names)

    def _html_repr(self) -> str:
        """Show scikit-learn's box of parameters and, once fitted, what was found."""
        box = str(super()._html_repr())
        found = getattr(self, "result_", None)
        return box if found is None else f"{box}{found._repr_html_()}"

    @property
    def _n_features_out(self) -> int:
        return self.directions_.shape[1]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = self._takes_sparse
        return tags


@contextmanager
def aloud(estimator: Any) -> Iterator[None]:
    """Let what an estimator does be written to stderr, if it is verbose.

    Parameters
    ----------
    estimator : estimator
        With the parameter ``verbose``.

    Yields
    ------
    None
        While it is being fitted.
    """
    with listening(written_by(type(estimator).__name__) if estimator.verbose else None):
        yield


def random_generator(random_state: Any) -> np.random.Generator:
    """Make a Generator from a random state of scikit-learn.

    Parameters
    ----------
    random_state : int, RandomState instance, Generator or None
        Random state that the user passed.

    Returns
    -------
    numpy.random.Generator
        Generator; equal integers give equal generators.
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31 - 1))
    if random_state is None:
        return np.random.default_rng()
    if isinstance(random_state, Integral):
        return np.random.default_rng(int(random_state))
    check_random_state(random_state)  # raises scikit-learn's error
    return np.random.default_rng()


def _holds_numbers(X: Any) -> bool:
    """Return whether X is a numeric array, whose columns need no check."""
    return getattr(getattr(X, "dtype", None), "kind", "O") in "biuf"
