"""scikit-learn's own checks, none of them excepted."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from fedsdr.downstream import PerSite

ESTIMATORS = [
    PerSite(LinearRegression()),
    PerSite(Ridge(), unseen="pooled"),
    PerSite(LogisticRegression()),
    PerSite(DecisionTreeClassifier(random_state=0)),
    PerSite(make_pipeline(StandardScaler(), LogisticRegression()), unseen="pooled"),
]


# The checks feed single classes, about which the estimator rightly warns.
@pytest.mark.filterwarnings("ignore::fedsdr.SiteWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_checks(estimator: BaseEstimator, check: object) -> None:
    np.random.seed(0)  # noqa: NPY002 (some checks draw from the global stream)
    check(estimator)
