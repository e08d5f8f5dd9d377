"""Every rule can be given as a word, as text with parameters and as a value."""

from dataclasses import FrozenInstanceError, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedsdr.choices import Auto, Bic, HoldOut, Moments, Universal, Votes
from fedsdr.exceptions import InputError
from fedsdr.method import FORMER, Method, read_parameter
from fedsdr.privacy.privacy_value import Privacy
from fedsdr.summaries.slicing import Pairs, Slices, Smooth
from fedsdr.terms import MOST_PROFILES, AgreedModel, Terms, Variables

# --- reading --------------------------------------------------------------------------

SAME = [
    ("n_directions", "auto", Auto(max_directions=5)),
    ("n_directions", "auto(max_directions=8)", Auto(max_directions=8)),
    ("n_directions", "bic", Bic(max_directions=5)),
    ("n_directions", "bic(max_directions=2)", Bic(max_directions=2)),
    ("n_directions", "votes", Votes(max_directions=5)),
    ("n_directions", "votes(max_directions=3)", Votes(max_directions=3)),
    ("n_directions", "2", 2),
    ("n_directions", np.int64(2), 2),
    ("penalty", "universal", Universal()),
    ("penalty", "universal()", Universal()),
    ("penalty", "moments", Moments(folds=5, penalties=20, min_ratio=0.15)),
    ("penalty", "moments(folds=8)", Moments(folds=8, penalties=20, min_ratio=0.15)),
    ("penalty", " Moments( folds = 8 ,penalties=30 ) ", Moments(folds=8, penalties=30)),
    ("penalty", "moments(min_ratio=1e-2)", Moments(min_ratio=0.01)),
    ("penalty", "holdout", HoldOut(fraction=0.3, penalties=20, min_ratio=0.15)),
    (
        "penalty",
        "holdout(fraction=.25, penalties=4)",
        HoldOut(fraction=0.25, penalties=4),
    ),
    ("penalty", "0.03", 0.03),
    ("penalty", "1e-3", 0.001),
    ("penalty", 1, 1.0),
    ("penalty", np.float32(0.5), 0.5),
    ("kernel", "smooth", Smooth()),
    ("kernel", "SLICES", Slices(size=20)),
    ("kernel", "slices(size=10)", Slices(size=10)),
    ("kernel", "slices(number=6)", Slices(number=6)),
    ("kernel", "pairs", Pairs()),
    ("refit", True, True),
    ("refit", np.False_, False),
    ("refit", 0.5, 0.5),
    ("refit", "pooled", "pooled"),
    ("refit", " Pooled ", "pooled"),
    ("kernel", "smooth(own=1)", Smooth(own=1.0)),
    ("kernel", "smooth(own=0.25)", Smooth(own=0.25)),
    ("kernel", "smooth()", Smooth(own=None)),
    ("standardize", np.True_, True),
    ("tol", 1e-3, 1e-3),
    ("scores", "none", "none"),
    ("scores", " Normal", "normal"),
    ("response", "auto", "auto"),
    ("response", " Ordered", "ordered"),
    ("response", "classes", "classes"),
]


@pytest.mark.parametrize(("name", "given", "value"), SAME)
def test_words_text_and_values_mean_the_same(name: str, given: Any, value: Any) -> None:
    found = read_parameter(name, given)
    assert found == value
    assert type(found) is type(value)
    assert read_parameter(name, found) == found
    assert Method(**{name: given}) == Method(**{name: value})


def test_the_defaults() -> None:
    method = Method()
    assert method.n_directions == Auto(max_directions=5)
    assert method.penalty == Universal()
    assert method.kernel == Smooth()
    assert (method.refit, method.standardize, method.tol) == (True, True, 1e-6)
    assert method.scores == "none"
    assert method.response == "auto"
    with pytest.raises(FrozenInstanceError):
        method.tol = 0.1


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        (
            "n_directions",
            "atuo",
            (
                "n_directions must be 'auto', 'bic', 'votes' or a positive whole "
                "number, got 'atuo': did you mean 'auto'?"
            ),
        ),
        ("n_directions", 0, "or a positive whole number, got 0"),
        ("n_directions", 1.5, "or a positive whole number, got 1.5"),
        ("n_directions", True, "or a positive whole number, got True"),
        ("n_directions", None, "or a positive whole number, got None"),
        ("n_directions", Universal(), "or a positive whole number, got Universal()"),
        (
            "penalty",
            "momnets(folds=3)",
            (
                "penalty must be 'universal', 'moments', 'holdout' or a positive "
                "number, got 'momnets(folds=3)': did you mean 'moments'?"
            ),
        ),
        ("penalty", "lasso", "or a positive number, got 'lasso'"),
        ("penalty", -1.0, "or a positive number, got -1.0"),
        ("penalty", "-1", "or a positive number, got -1"),
        ("penalty", float("nan"), "or a positive number, got nan"),
        ("penalty", "inf", "or a positive number, got inf"),
        ("penalty", True, "or a positive number, got True"),
        ("penalty", Slices(), "or a positive number, got Slices(size=20, number=None)"),
        (
            "kernel",
            "slice",
            (
                "kernel must be 'smooth', 'slices' or 'pairs', got 'slice': did you "
                "mean 'slices'?"
            ),
        ),
        ("kernel", 3, "kernel must be 'smooth', 'slices' or 'pairs', got 3"),
        ("refit", 1.0, "refit must be true, false, 'pooled' or a number between 0 and"),
        ("refit", "yes", "between 0 and 1, got 'yes'"),
        ("refit", "true", "between 0 and 1, got 'true'"),
        ("kernel", "smooth(own=2)", "own must be a number from 0 to 1, got 2"),
        ("kernel", "smooth(own=-0.1)", "own must be a number from 0 to 1"),
        ("kernel", "smooth(own=yes)", "smooth(own=yes)"),
        ("standardize", 1, "standardize must be True or False, got 1"),
        ("tol", 0.0, "tol must be a number between 0 and 1, got 0.0"),
        ("tol", 1, "tol must be a number between 0 and 1, got 1"),
        ("tol", True, "tol must be a number between 0 and 1, got True"),
        (
            "scores",
            "normals",
            (
                "scores must be 'none' or 'normal', got 'normals': did you mean "
                "'normal'?"
            ),
        ),
        (
            "response",
            "class",
            (
                "response must be 'auto', 'ordered' or 'classes', got 'class': did you "
                "mean 'classes'?"
            ),
        ),
        ("response", 3, "response must be 'auto', 'ordered' or 'classes', got 3"),
        ("scores", True, "scores must be 'none' or 'normal', got True"),
        ("scores", None, "scores must be 'none' or 'normal', got None"),
    ],
)
def test_what_cannot_be_used_is_answered_with_the_choices(
    name: str, given: Any, message: str
) -> None:
    with pytest.raises(InputError) as caught:
        Method(**{name: given})
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "penalty",
            "moments(fold=3)",
            (
                "'moments(fold=3)' has an unknown parameter 'fold': it takes folds, "
                "penalties, min_ratio; did you mean 'folds'?"
            ),
        ),
        ("penalty", "universal(folds=3)", "unknown parameter 'folds': it takes none"),
        ("kernel", "slices(size=9, number=9)", "a size or a number, not both"),
        ("kernel", "slices(size=1)", "the size of slices must be a whole number of at"),
        ("n_directions", "auto(max_directions=0)", "whole number of at least 1, got 0"),
        ("penalty", "moments(folds=1)", "folds must be a whole number of at least 2"),
        ("penalty", "moments(folds=2.5)", "folds must be a whole number of at least 2"),
        ("penalty", "moments(folds=inf)", "folds must be a whole number of at least 2"),
        ("penalty", "moments(penalties=0)", "penalties must be a whole number of at"),
        ("penalty", "moments(min_ratio=1)", "min_ratio must be a number between 0 and"),
        ("penalty", "holdout(fraction=nan)", "fraction must be a number between 0 and"),
    ],
)
def test_parameters_of_rules_are_checked(name: str, text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_parameter(name, text)
    assert message in str(caught.value)


HOSTILE = [
    "__import__('os')",
    "open('{path}', 'w')",
    "[].append(1)",
    "(lambda: 8)()",
    "8 if True else 9",
    "2**9**9**9",
    "'8'",
    "True",
    "None",
    "1+2j",
    "(8)",
    "-" * 100_000 + "1",
    "(" * 5000 + "8" + ")" * 5000,
    "9" * 5000,
    "8\x00",
    "8\n",
]


@pytest.mark.parametrize("value", HOSTILE)
def test_text_is_read_and_never_run(value: str, tmp_path: Path) -> None:
    path = tmp_path / "made"
    with pytest.raises(InputError):
        read_parameter("penalty", f"moments(folds={value.format(path=path)})")
    assert not path.exists()


@pytest.mark.parametrize(
    "text",
    [
        "moments(8)",
        "moments(folds)",
        "moments(folds=)",
        "moments(folds=8,)",
        "moments(folds=8",
        "moments folds=8",
        "moments(folds=8)(penalties=3)",
        "moments(folds=8)+universal()",
        "moments(folds=8) # why)",
        "moments(folds=8, folds=9)",
        "moments(**{'folds': 8})",
        "moments(folds:=8)",
        "moments[folds=8]",
        "os.moments(folds=8)",
        "",
        "()",
    ],
)
def test_text_that_is_nearly_right_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"cannot be read|must be"):
        read_parameter("penalty", text)


# --- writing --------------------------------------------------------------------------

counts, from_two = st.integers(1, 10**6), st.integers(2, 10**6)
shares = st.floats(0, 1, exclude_min=True, exclude_max=True)
methods = st.builds(
    Method,
    n_directions=st.one_of(
        counts,
        st.builds(Auto, max_directions=counts),
        st.builds(Bic, max_directions=counts),
        st.builds(Votes, max_directions=counts),
    ),
    penalty=st.one_of(
        st.floats(0, exclude_min=True, allow_infinity=False),
        st.just(Universal()),
        st.builds(Moments, folds=from_two, penalties=counts, min_ratio=shares),
        st.builds(HoldOut, fraction=shares, penalties=counts, min_ratio=shares),
    ),
    kernel=st.one_of(
        st.just(Smooth()),
        st.just(Pairs()),
        st.builds(Slices, size=from_two),
        st.builds(Slices, number=from_two),
    ),
    refit=st.booleans() | shares | st.just("pooled"),
    standardize=st.booleans(),
    tol=shares,
    scores=st.sampled_from(["none", "normal"]),
)


@given(methods)
def test_settings_give_the_method_back(method: Method) -> None:
    settings = method.settings()
    names = [one.name for one in fields(Method)]
    absent = ("privacy",) if method.tests else ("privacy", "select")
    assert list(settings) == [name for name in names if name not in absent]
    assert all(type(value) in (str, int, float, bool) for value in settings.values())
    assert Method(**settings) == method


def test_settings_say_every_parameter() -> None:
    method = Method(n_directions="votes", penalty="moments", kernel="slices")
    assert method.settings() == {
        "n_directions": "votes(max_directions=5)",
        "penalty": "moments(folds=5, penalties=20, min_ratio=0.15)",
        "kernel": "slices(size=20)",
        "refit": True,
        "standardize": True,
        "tol": 1e-6,
        "scores": "none",
        "response": "auto",
        "dense_limit": 300,
        "max_seconds": 15.0,
    }


def test_numbers_of_numpy_become_plain_ones() -> None:
    rules = (
        Auto(max_directions=np.int64(3)),
        Moments(folds=np.int32(4), penalties=np.int64(5), min_ratio=np.float32(0.25)),
        HoldOut(fraction=np.float64(0.5)),
        Slices(number=np.int64(6)),
    )
    for rule in rules:
        values = [getattr(rule, one.name) for one in fields(rule)]
        assert all(type(one) in (int, float, type(None)) for one in values), rule
    method = Method(n_directions=rules[0], penalty=rules[1], kernel=rules[3])
    assert Method(**method.settings()) == method


# --- what sites are asked for ---------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "asked"),
    [
        ({}, {}),
        ({"n_directions": "bic", "penalty": 0.1}, {}),
        ({"n_directions": Votes(max_directions=3)}, {"max_votes": 3}),
        ({"penalty": Moments(folds=4)}, {"n_folds": 4}),
        (
            {"penalty": HoldOut(fraction=0.25, penalties=7)},
            {"validation_fraction": 0.25, "max_candidates": 7},
        ),
        ({"kernel": Slices(number=4)}, {"kernel": Slices(number=4)}),
    ],
)
def test_sites_are_asked_for_no_more_than_the_method_needs(
    parameters: dict[str, Any], asked: dict[str, Any]
) -> None:
    variables = Variables(("a", "b", "c"), discrete=True, strict=True)
    expected = Terms(3, discrete=True, strict=True, **asked)
    for refit in ("pooled", False, 0.5):
        assert Method(**parameters, refit=refit).terms(variables) == expected
    method = Method(**parameters)
    rule = method.n_directions
    most = rule if isinstance(rule, int) else rule.max_directions
    assert method.terms(variables) == replace(expected, max_profiles=6 * most)


def test_only_sites_with_functions_of_y_have_a_second_stage() -> None:
    variables = Variables(("a", "b"))
    assert Method(kernel=Pairs()).terms(variables).max_profiles == 0
    for kernel in (Smooth(), Smooth(own=0.5), Slices(number=4)):
        terms = Method(kernel=kernel).terms(variables)
        assert terms.n_questions("profile") == terms.max_profiles == 30
        for statistic in ("means", "moments", "errors", "spread", "agreement"):
            assert terms.n_questions(statistic) == 1
    assert Method(refit="pooled").terms(variables).n_questions("profile") == 0


def test_profiles_are_bounded_by_the_directions_that_there_may_be() -> None:
    variables = Variables(("a", "b"))
    for rule, most in (
        (1, 6),
        (2, 12),
        (Auto(max_directions=3), 18),
        (7, 40),
        (20, 40),
    ):
        assert Method(n_directions=rule).terms(variables).max_profiles == most
    assert MOST_PROFILES == 40


def test_functions_that_all_sites_have_are_those_of_numbers() -> None:
    assert Terms(3, Smooth()).n_functions == 12
    assert Terms(3, Smooth(), discrete=True).n_functions == 0
    assert Terms(3, Slices()).n_functions == Terms(3, Pairs()).n_functions == 0


def test_parts_are_named_in_the_order_in_which_they_travel() -> None:
    assert Terms(2).parts == ("total",)
    assert Terms(2, n_folds=2, validation_fraction=0.3).parts == (
        "total", "fit:0", "held:0", "fit:1", "held:1", "fitting",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_features", 4),
        ("kernel", Slices(size=20)),
        ("kernel", Slices(size=21)),
        ("kernel", Slices(number=20)),
        ("discrete", True),
        ("max_votes", 1),
        ("n_folds", 2),
        ("validation_fraction", 0.5),
        ("max_candidates", 1),
        ("strict", True),
        ("max_profiles", 1),
        ("max_columns", 24),
        ("max_steps", 40),
        ("picture_rows", 10),
        ("kernel", Smooth(own=0.5)),
    ],
)
def test_every_term_shows_in_what_the_digest_is_of(name: str, value: Any) -> None:
    others = [Terms(3), Terms(3, kernel=Slices(size=22))]
    changed = Terms(**{"n_features": 3, name: value})
    plain = changed.to_payload()
    assert all(plain != other.to_payload() for other in others)
    assert all(type(one) in (str, int, float, bool) for one in plain.values())
    unsaid = {"privacy", "honest", "n_splits", "max_steps", "picture_rows"} - {name}
    unsaid |= {"classes", "model"}
    assert set(plain) == {one.name for one in fields(Terms)} - unsaid


def test_classes_of_pictures_show_in_what_the_digest_is_of() -> None:
    pictured = Terms(3, discrete=True, picture_rows=10, classes=("ill", "well"))
    plain = pictured.to_payload()
    assert plain["classes"] == ["ill", "well"]
    other = replace(pictured, classes=("well", "ill"))
    assert plain != other.to_payload()


def test_a_model_shows_in_what_the_digest_is_of() -> None:
    model = AgreedModel("linear", "nothing", 10)
    models = (
        None,
        model,
        replace(model, family="poisson"),
        replace(model, own="intercepts"),
        replace(model, group_rows=11),
    )
    payloads = [Terms(3, max_steps=20, model=one).to_payload() for one in models]
    assert all(payloads.count(one) == 1 for one in payloads)


@pytest.mark.parametrize(
    "changes", [{"epsilon": 2.0}, {"delta": 1e-5}, {"ranges": (0, 2)}, {"radius": 0.2}]
)
def test_a_promise_shows_in_what_the_digest_is_of(changes: dict[str, Any]) -> None:
    given = {"epsilon": 1.0, "delta": 1e-6, "ranges": (0, 1), "response": (0, 1)}
    one, other = Privacy(**given), Privacy(**{**given, **changes})
    plain = Terms(3, privacy=one).to_payload()
    assert plain != Terms(3).to_payload()
    assert plain != Terms(3, privacy=other).to_payload()
    assert plain != Terms(3, privacy=one, honest=2).to_payload()
    method = Method(privacy=one)
    assert Method(**method.settings()) == method


@pytest.mark.parametrize(
    "changes",
    [
        {"n_directions": "votes"},
        {"penalty": "moments"},
        {"penalty": "holdout"},
        {"kernel": "slices"},
        {"scores": "normal"},
        {"standardize": False},
    ],
)
def test_privacy_has_one_sum_only(changes: dict[str, Any]) -> None:
    privacy = Privacy(epsilon=1, delta=1e-6, ranges=(0, 1), response=(0, 1))
    with pytest.raises(InputError, match=next(iter(changes))):
        Method(privacy=privacy, **changes)
    assert not Method(privacy=privacy).whitens_by_site


def test_filled_columns_have_places() -> None:
    variables = Variables(("a", "b", "c", "d"), filled=("b", "d"))
    assert variables.filled_places == (1, 3)
    assert Variables(("a", "b")).filled_places == ()


def test_former_names_lead_to_parameters_that_there_are() -> None:
    kinds = {kind.__name__: kind for kind in (
        Auto, Bic, Votes, Universal, Moments, HoldOut, Smooth, Slices, Pairs
    )}  # fmt: skip
    for where, inside, names in FORMER.values():
        assert where in {one.name for one in fields(Method)}
        for name in names:
            assert inside in {one.name for one in fields(kinds[name])}
