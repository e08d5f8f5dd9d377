import numpy as np
import pytest

from fedsdr import (
    SIR,
    SSIR,
    SSIRCV,
    FedSSIR,
    FedSSIRClassifier,
    FedSSIRRegressor,
    LassoSIR,
    PaperFedSSIR,
)
from fedsdr.telling import Doing, listening, tell


def test_whoever_listens_hears_the_steps_of_a_fit(rng) -> None:
    X = rng.normal(size=(300, 5))
    y = X[:, 0] + 0.1 * rng.normal(size=300)
    heard: list[Doing] = []
    with listening(heard.append):
        FedSSIR(penalty="moments", random_state=0).fit(X, y, np.arange(300) % 3)
    steps = [doing.step for doing in heard]
    assert steps.index("adding over the sites: moments") < steps.index(
        "selecting variables, with proof"
    )
    parts = [(one.done, one.total) for one in heard if "penalties" in one.step]
    assert parts == [(fold, 5) for fold in range(5)]
    sites = [one for one in heard if one.step.endswith(": moments") and one.total]
    assert [one.done for one in sites] == [0, 1, 2]


def test_many_columns_say_that_they_are_proved(rng) -> None:
    X = rng.normal(size=(400, 40))
    heard: list[Doing] = []
    with listening(heard.append):
        FedSSIR(dense_limit=20).fit(X, X[:, 0] + 0.1 * rng.normal(size=400))
    assert "proving the selection on all 40 variables" in [one.step for one in heard]


def test_nobody_has_to_listen_and_listening_ends() -> None:
    heard: list[Doing] = []
    tell("before")
    with listening(heard.append):
        tell("counting", 1, 3)
        with listening(None):
            tell("still")
    tell("after")
    assert [str(one) for one in heard] == ["counting, 1 of 3", "still"]


def test_verbose_writes_each_step_once(rng, capsys) -> None:
    X = rng.normal(size=(300, 5))
    y = X[:, 0] + 0.1 * rng.normal(size=300)
    FedSSIR().fit(X, y)
    assert capsys.readouterr() == ("", "")
    FedSSIR(verbose=1).fit(X, y, np.arange(300) % 4)
    shown = capsys.readouterr()
    assert shown.out == ""
    lines = shown.err.splitlines()
    assert all(line.startswith("[FedSSIR] ") for line in lines)
    assert sum("selecting variables" in line for line in lines) == 1
    assert sum(line.endswith(": moments") for line in lines) == 1


@pytest.mark.parametrize(
    ("model", "step"),
    [
        (SIR(1), "adding over the sites"),
        (SSIR(1, penalty=0.1), "selecting variables, with proof"),
        (SSIRCV(1, n_folds=2), "cross-validating dimensions and penalties"),
        (LassoSIR(1), "cross-validating the penalties of 1 direction(s)"),
        (PaperFedSSIR(1, penalty=0.1, tol=1e-2), "adding covariances"),
        (FedSSIRRegressor(), "adding over the sites: newton"),
        (FedSSIRClassifier(), "adding over the sites: newton"),
    ],
    ids=lambda one: type(one).__name__ if hasattr(one, "fit") else "",
)
def test_every_supervised_estimator_says_what_it_does(rng, capsys, model, step) -> None:
    X = rng.normal(size=(300, 5))
    y = X[:, 0] + X[:, 1] + 0.1 * rng.normal(size=300)
    y = np.where(y > 0, "up", "down") if isinstance(model, FedSSIRClassifier) else y
    model.fit(X, y)
    assert capsys.readouterr() == ("", "")
    model.set_params(verbose=1).fit(X, y)
    shown = capsys.readouterr()
    assert shown.out == ""
    name = type(model).__name__
    lines = shown.err.splitlines()
    assert all(line.startswith(f"[{name}] ") for line in lines)
    assert any(line.endswith(step) for line in lines)
