"""Preparation of columns as a scikit-learn transformer."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from fedsdr.arrays import Matrix
from fedsdr.exceptions import InputError
from fedsdr.preparation.column_guess import GuessOptions, guess_column
from fedsdr.preparation.column_plan import GAPS, ColumnPlan
from fedsdr.preparation.prepared_table import prepare_table


class Preparation(TransformerMixin, BaseEstimator):
    """Turn columns as people have them into numbers.

    Parameters
    ----------
    columns : sequence of ColumnPlan or None, default=None
        What is made of each column; guessed from the rows of `fit` if None.
    missing : {"mean", "refuse", "drop"}, default="mean"
        What is done about missing values in columns without a rule of their own. A
        transformer cannot drop rows: with "drop", `transform` refuses them.
    categorical : sequence of str, default=()
        Columns to be taken for categories, whatever they hold, when guessing.
    log : sequence of str, default=()
        Columns of which the logarithm is taken, when guessing.
    drop : sequence of str, default=()
        Columns to leave out, when guessing.

    Attributes
    ----------
    plans_ : tuple of ColumnPlan
        What is made of each column.
    reasons_ : dict of str to str
        For each column that was guessed, why.
    means_ : ndarray of shape (n_features_out,)
        Means of the rows of `fit`, which fill gaps.

    Notes
    -----
    `fedsdr fit` and the sites of a study apply the same plans.

    Examples
    --------
    >>> import pandas as pd
    >>> from fedsdr.preparation import Preparation
    >>> rows = pd.DataFrame({"age": [51.0, None, 63.0, 48.0], "sex": list("fmfm")})
    >>> Preparation().fit(rows).get_feature_names_out().tolist()
    ['age', 'sex=m']
    """

    def __init__(
        self,
        columns: Sequence[ColumnPlan] | None = None,
        *,
        missing: str = "mean",
        categorical: Sequence[str] = (),
        log: Sequence[str] = (),
        drop: Sequence[str] = (),
    ) -> None:
        self.columns = columns
        self.missing = missing
        self.categorical = categorical
        self.log = log
        self.drop = drop

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002 - scikit-learn's
        """Learn what columns hold, and the means that fill gaps.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_rows, n_columns)
            Rows.
        y : object, default=None
            Not used.

        Returns
        -------
        Preparation
            Itself.
        """
        if self.missing not in GAPS:
            raise InputError(f"missing must be one of {', '.join(GAPS)}")
        frame = self._frame(X, reset=True)
        if len(frame) < 2 and self.columns is None:
            raise InputError("a guess needs more than 1 sample: give `columns`")
        self.reasons_: dict[str, str] = {}
        self.plans_ = self._plans(frame)
        table = prepare_table(frame, self.plans_, self.missing)
        if not table.X.shape[1]:
            raise InputError("no column is left that could be used: give `columns`")
        counts = np.maximum(table.X.notna().sum().to_numpy(), 1)
        self.means_ = np.nansum(table.X.to_numpy(), axis=0) / counts
        return self

    def transform(self, X: Any) -> Matrix:
        """Prepare rows.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_rows, n_columns)
            Rows with the columns of `fit`.

        Returns
        -------
        ndarray of shape (n_rows, n_features_out)
            Numbers and indicators, without gaps.
        """
        check_is_fitted(self)
        frame = self._frame(X, reset=False)
        table = prepare_table(frame, self.plans_, self.missing)
        if not table.kept.all():
            raise InputError(
                f"{int((~table.kept).sum())} row(s) have gaps in columns with missing "
                "= 'drop', and a transformer cannot drop rows: drop them first"
            )
        values = table.X.to_numpy()
        return np.where(np.isnan(values), self.means_, values)

    def get_feature_names_out(
        self,
        input_features: Any = None,  # noqa: ARG002 - scikit-learn's
    ) -> NDArray[Any]:
        """Return the names of the prepared columns.

        Parameters
        ----------
        input_features : object, default=None
            Not used: names are those of the plans.

        Returns
        -------
        ndarray of str
            Names, "column=level" for indicators.
        """
        check_is_fitted(self)
        names = [name for plan in self.plans_ for name in plan.features]
        return np.asarray(names, dtype=object)

    def _plans(self, frame: pd.DataFrame) -> tuple[ColumnPlan, ...]:
        if self.columns is not None:
            return tuple(self.columns)
        options = GuessOptions(
            self.missing, frozenset(self.categorical), frozenset(self.log)
        )
        guesses = [
            guess_column(str(name), frame[name], options)
            for name in frame.columns
            if name not in self.drop
        ]
        self.reasons_ = {one.plan.name: one.reason for one in guesses}
        return tuple(one.plan for one in guesses)

    def _frame(self, X: Any, *, reset: bool) -> pd.DataFrame:
        if isinstance(X, pd.DataFrame) and len(X) and X.shape[1]:
            validate_data(self, X, reset=reset, skip_check_array=True)
            return X.reset_index(drop=True)
        values = validate_data(
            self, X, reset=reset, dtype=None, ensure_all_finite="allow-nan"
        )
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            names = [f"x{j}" for j in range(values.shape[1])]
        return pd.DataFrame(values, columns=list(names)).infer_objects()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags
