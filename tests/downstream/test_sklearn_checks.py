"""scikit-learn's own checks, two of which none of its pipelines passes."""

from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from fedsdr import SIR, FedPCA
from fedsdr.downstream import PerSite, SitePipeline, reduced_model

ESTIMATORS = [
    PerSite(LinearRegression()),
    PerSite(Ridge(), unseen="pooled"),
    PerSite(LogisticRegression()),
    PerSite(DecisionTreeClassifier(random_state=0)),
    PerSite(make_pipeline(StandardScaler(), LogisticRegression()), unseen="pooled"),
    SitePipeline([("scale", StandardScaler()), ("model", PerSite(LinearRegression()))]),
    SitePipeline([("scale", StandardScaler()), ("reducer", FedPCA(1))]),
    reduced_model(SIR(1), LinearRegression()),
]

#: A pipeline of scikit-learn fits its steps in place, which these forbid.
IN_PLACE = ("check_estimators_overwrite_params", "check_dont_overwrite_parameters")


# The checks feed single classes, about which the estimator rightly warns.
@pytest.mark.filterwarnings("ignore::fedsdr.SiteWarning")
@pytest.mark.filterwarnings("ignore::fedsdr.WeakSignalWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_checks(estimator: BaseEstimator, check: Any) -> None:
    np.random.seed(0)  # noqa: NPY002 (some checks draw from the global stream)
    if isinstance(estimator, SitePipeline) and check.func.__name__ in IN_PLACE:
        with pytest.raises(AssertionError, match="steps"):
            check(estimator)
    else:
        check(estimator)
