import pickle
from collections.abc import Callable

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning as SklearnConvergenceWarning

import fedsdr
from fedsdr import (
    ConvergenceWarning,
    FedSSIR,
    InputError,
    SiteError,
    SiteWarning,
    WeakSignalWarning,
    exceptions,
)
from fedsdr.choices import RULES
from fedsdr.exceptions import warn_user


def test_public_names_exist_once():
    # Their order is ruff's business (RUF022).
    assert len(set(fedsdr.__all__)) == len(fedsdr.__all__)
    assert all(hasattr(fedsdr, name) for name in fedsdr.__all__)


def test_every_rule_and_every_warning_is_public() -> None:
    rules = {kind.__name__ for kinds in RULES.values() for kind in kinds}
    assert rules <= set(fedsdr.__all__)
    warnings = {name for name in vars(exceptions) if name.endswith("Warning")}
    assert warnings <= set(fedsdr.__all__) & set(exceptions.__all__)


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


def calling_from(modules: list[str]) -> Callable[[], None]:
    """Build a chain of calls through modules with these names; the last one warns."""
    function: Callable[..., None] = warn_user
    arguments = "'careful', category"
    for name in reversed(modules):
        namespace = {"__name__": name, "inner": function, "category": SiteWarning}
        source = f"def outer():\n    inner({arguments})"
        exec(compile(source, f"{name}.py", "exec"), namespace)
        function, arguments = namespace["outer"], ""
    return function


@pytest.mark.parametrize(
    "modules",
    [
        ["fedsdr.room"],
        ["fedsdr", "fedsdr.solver", "fedsdr.room"],
        ["fedsdr.room", "sklearn.utils.parallel", "joblib.parallel", "fedsdr.room"],
    ],
)
def test_a_warning_points_at_the_code_that_called_the_package(
    modules: list[str],
) -> None:
    function = calling_from(modules)
    with pytest.warns(SiteWarning, match="careful") as caught:
        function()
    assert [record.filename for record in caught] == [__file__]


def test_a_package_whose_name_begins_alike_is_the_user_s() -> None:
    function = calling_from(["fedsdr_helpers", "fedsdr.room"])
    with pytest.warns(SiteWarning) as caught:
        function()
    assert [record.filename for record in caught] == ["fedsdr_helpers.py"]


def test_a_fit_on_noise_warns_in_the_file_that_called_it(
    rng: np.random.Generator,
) -> None:
    X, y = rng.normal(size=(300, 20)), rng.normal(size=300)
    with pytest.warns(WeakSignalWarning) as caught:
        FedSSIR().fit(X, y, sites=np.arange(300) % 5)
    assert {record.filename for record in caught} == {__file__}
