import pickle

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning as SklearnConvergenceWarning

import fedsdr
from fedsdr import ConvergenceWarning, InputError, SiteError, SiteWarning


def test_public_names_exist_once():
    # Their order is ruff's business (RUF022).
    assert len(set(fedsdr.__all__)) == len(fedsdr.__all__)
    assert all(hasattr(fedsdr, name) for name in fedsdr.__all__)


@pytest.mark.parametrize(
    ("site", "subject"),
    [
        (None, "The data set"),
        ("north", "Site 'north'"),
        (np.str_("north"), "Site 'north'"),
        (np.int64(3), "Site 3"),
    ],
)
def test_site_error_names_the_site_and_the_remedy(site: object, subject: str) -> None:
    error = SiteError(site, "has 3 rows", "leave it out")
    assert str(error) == f"{subject} has 3 rows: leave it out"
    assert error.site == site


def test_site_error_survives_a_process_boundary() -> None:
    error = pickle.loads(pickle.dumps(SiteError("north", "is empty", "leave it out")))
    assert error.site == "north"
    assert str(error) == "Site 'north' is empty: leave it out"


def test_one_except_clause_catches_every_input_complaint() -> None:
    assert issubclass(SiteError, InputError)
    assert issubclass(InputError, ValueError)
    assert issubclass(SiteWarning, UserWarning)
    assert ConvergenceWarning is SklearnConvergenceWarning
