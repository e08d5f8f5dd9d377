"""Parameter names of version 0.1 give the same method, and a warning."""

import warnings
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from fedsdr import SIR, SSIR, FedSSIR
from fedsdr.choices import Auto, Bic, HoldOut, Moments, Votes
from fedsdr.exceptions import InputError
from fedsdr.method import FORMER, Method
from fedsdr.summaries.slicing import Slices

PAIRS = [
    ({"kernel": "slices", "slice_size": 10}, {"kernel": Slices(size=10)}),
    ({"kernel": "slices", "n_slices": 6}, {"kernel": Slices(number=6)}),
    ({"max_directions": 3}, {"n_directions": Auto(max_directions=3)}),
    (
        {"n_directions": "bic", "max_directions": 3},
        {"n_directions": Bic(max_directions=3)},
    ),
    (
        {"n_directions": "votes", "max_directions": 3},
        {"n_directions": Votes(max_directions=3)},
    ),
    ({"penalty": "moments", "n_folds": 3}, {"penalty": Moments(folds=3)}),
    (
        {"penalty": "holdout", "validation_fraction": 0.2},
        {"penalty": HoldOut(fraction=0.2)},
    ),
    ({"penalty": "moments", "n_penalties": 7}, {"penalty": Moments(penalties=7)}),
    ({"penalty": "holdout", "n_penalties": 7}, {"penalty": HoldOut(penalties=7)}),
    ({"penalty": "moments", "min_ratio": 0.1}, {"penalty": Moments(min_ratio=0.1)}),
    ({"penalty": "holdout", "min_ratio": 0.1}, {"penalty": HoldOut(min_ratio=0.1)}),
]


def method_of(model: FedSSIR) -> Method:
    return Method(**{one.name: getattr(model, one.name) for one in fields(Method)})


def test_every_former_name_is_among_the_pairs() -> None:
    names = {name for former, _ in PAIRS for name in former}
    assert names >= set(FORMER)


@pytest.mark.parametrize(("former", "now"), PAIRS)
@pytest.mark.parametrize("estimator", [FedSSIR, SSIR])
def test_a_former_name_means_the_same_and_warns(
    estimator: type, former: dict[str, Any], now: dict[str, Any]
) -> None:
    if estimator is SSIR:
        # Its own defaults choose by other rules.
        former = {"n_directions": "auto", **former}
    with pytest.warns(FutureWarning) as seen:
        model = estimator(**former)
    (warning,) = seen
    (name,) = set(former) & set(FORMER)
    where = FORMER[name][0]
    assert str(warning.message) == (
        f"the parameter {name!r} is now part of {where!r}: write "
        f"{where}={now[where]!r}; version 0.3 removes the old name"
    )
    assert warning.filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        new = estimator(**{**former_free(former), **now})
        again = clone(model)
    assert method_of(model) == method_of(new) == method_of(again)
    assert name not in model.get_params()


def former_free(given: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name not in FORMER}


def test_several_former_names_are_put_together() -> None:
    with pytest.warns(FutureWarning) as seen:
        model = FedSSIR(
            "votes",
            penalty="holdout",
            max_directions=2,
            n_penalties=7,
            validation_fraction=0.25,
            min_ratio=0.2,
        )
    assert len(seen) == 4
    expected = Method(
        n_directions=Votes(max_directions=2),
        penalty=HoldOut(fraction=0.25, penalties=7, min_ratio=0.2),
    )
    assert method_of(model) == expected


@pytest.mark.parametrize(
    "given", [{"n_slices": 6, "slice_size": 10}, {"slice_size": 10, "n_slices": 6}]
)
def test_the_number_of_slices_goes_before_their_size(given: dict[str, Any]) -> None:
    with pytest.warns(FutureWarning):
        model = FedSSIR(kernel="slices", **given)
    assert model.kernel == Slices(number=6)


@pytest.mark.parametrize(
    ("given", "parameters"),
    [
        ({"slice_size": 10}, {}),
        ({"n_slices": None}, {"kernel": "slices"}),
        ({"n_folds": 3}, {}),
        ({"n_folds": 3}, {"penalty": "holdout"}),
        ({"validation_fraction": 0.2}, {"penalty": "moments"}),
        ({"n_penalties": 3}, {"penalty": 0.1}),
        ({"max_directions": 3}, {"n_directions": 2}),
    ],
)
def test_what_had_no_effect_still_has_none(
    given: dict[str, Any], parameters: dict[str, Any]
) -> None:
    with pytest.warns(FutureWarning, match="leave it out, it has no effect on"):
        model = FedSSIR(**given, **parameters)
    assert method_of(model) == Method(**parameters)
    for name, value in parameters.items():
        assert getattr(model, name) == value


def test_a_bad_value_under_a_former_name_is_refused() -> None:
    with pytest.raises(InputError, match="the size of slices must be a whole number"):
        FedSSIR(kernel="slices", slice_size=1)
    with pytest.raises(InputError, match="folds must be a whole number"):
        FedSSIR(penalty="moments", n_folds="5")


@pytest.mark.parametrize(
    ("estimator", "name", "hint"),
    [
        (FedSSIR, "penality", "did you mean 'penalty'?"),
        (FedSSIR, "n_direction", "did you mean 'n_directions'?"),
        (FedSSIR, "standardise", "did you mean 'standardize'?"),
        (SSIR, "kernal", "did you mean 'kernel'?"),
        (SIR, "kernels", "did you mean 'kernel'?"),
        (FedSSIR, "gamma", "it has dense_limit, kernel, max_seconds, "),
        (SIR, "n_folds", "it has kernel, n_directions"),
        (SIR, "penalty", "it has kernel, n_directions"),
        (SSIR, "protocol", "it has kernel, n_directions"),
    ],
)
def test_a_name_that_never_was_is_refused(
    estimator: type, name: str, hint: str
) -> None:
    with pytest.raises(TypeError) as caught:
        estimator(**{name: 1})
    start = f"{estimator.__name__} has no parameter {name!r}: "
    assert str(caught.value).startswith(start + hint)


def test_sir_takes_former_names_too(rng) -> None:
    X = rng.normal(size=(120, 4))
    y = X[:, 0] + 0.1 * rng.normal(size=120)
    with pytest.warns(FutureWarning, match=r"write kernel=Slices\(size=None, number=6"):
        former = SIR(1, n_slices=6)
    now = SIR(1, kernel=Slices(number=6))
    np.testing.assert_array_equal(
        former.fit(X, y).directions_, now.fit(X, y).directions_
    )


def test_sir_takes_a_limit_for_its_dimension(rng) -> None:
    X = rng.normal(size=(4000, 6))
    y = np.where(X[:, 0] > 0, 1.0, -1.0) * np.exp(X[:, 1])
    assert SIR("bic").fit(X, y).n_directions_ == 2
    assert SIR(Bic(max_directions=1)).fit(X, y).n_directions_ == 1
    for wrong in (Auto(), "auto", 0, 7, 1.5, None):
        with pytest.raises(InputError, match="must be 'bic' or an integer from 1 to 6"):
            SIR(wrong).fit(X, y)


def test_a_protocol_that_never_was_is_refused(rng) -> None:
    X = rng.normal(size=(40, 4))
    with pytest.raises(
        InputError, match="protocol must be 'sums' or 'secure', got 'x'"
    ):
        FedSSIR(protocol="x").fit(X, X[:, 0])


def test_estimators_are_found_where_version_0_1_had_them() -> None:
    import fedsdr
    from fedsdr import estimators

    with pytest.warns(FutureWarning, match="import LassoSIR from fedsdr"):
        assert estimators.LassoSIR is fedsdr.LassoSIR
    with pytest.raises(AttributeError, match="no attribute 'Lasso'"):
        _ = estimators.Lasso
