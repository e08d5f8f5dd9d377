"""A study that scores its model: everything is fitted again without each fold."""

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import log_loss, mean_squared_error, r2_score, roc_auc_score
from tests.study.consortia import FILLED, NAMES, Files, simulate_rows
from tests.study.test_predicted_study import (
    POOLED,
    TWO,
    StopError,
    predicted,
    set_policy,
    with_classes,
    with_counts,
)

from fedsdr.exceptions import InputError, UnscoredWarning
from fedsdr.prediction import axes_of, fit_additive
from fedsdr.protocols import IncompleteError
from fedsdr.questions import ask_sites
from fedsdr.result import Result
from fedsdr.rows import MemoryRows, OwnSites
from fedsdr.rows.folds import ScoreFold
from fedsdr.run import Gathered, run
from fedsdr.scored_folds import EVALUATION, ScoredFolds
from fedsdr.study import conduct, open_site, read_study
from fedsdr.study.dry_run import dry_run
from fedsdr.study.outlook import (
    count_rounds,
    leaves_site,
    seen_by_coordinator,
    statistics,
)
from fedsdr.summaries.families import Family
from fedsdr.terms import Terms

#: What stewards allow for three models of one response, of small sites.
ALLOWED = {"max_models": 3, "min_rows": 20}


def scored(folder: Path, rows: Any = None, policy: Any = None, **changes: Any) -> Files:
    """Write a study of two folds, which all sites allow."""
    table = {"folds": 2, **changes.pop("prediction", {})}
    files = predicted(folder, rows, prediction=table, **changes)
    for name in NAMES:
        set_policy(files, name, **{**ALLOWED, **(policy or {})})
    return files


def scores_of(folder: Path) -> ScoredFolds:
    found = ScoredFolds.read(Result.from_json(folder / "result.json").settings)
    assert found is not None
    return found


CASES: dict[str, Any] = {
    "numbers": dict,
    "second stage, three folds": lambda: {
        "model": {}, "prediction": {"folds": 3}, "policy": {"max_models": 4},
    },
    "own intercepts": lambda: {"prediction": {"site_intercepts": True}},
    "classes": lambda: {
        "rows": with_classes(), "target": TWO, "prediction": {"site_intercepts": True},
    },
    "counts": lambda: {
        "rows": with_counts(),
        "target": {"name": "y", "type": "number", "range": [0, 1000]},
        "prediction": {"family": "poisson"},
    },
    "scores": lambda: {"model": {**POOLED, "scores": "normal"}},
    "tested": lambda: {"model": {"select": "tested(splits=2)"}},
    "from columns": lambda: {"model": {"dense_limit": 4}},
}  # fmt: skip


def by_hand(files: Files) -> tuple[np.ndarray, ...]:
    """Delete rows, fit to what is left, and predict each row that was deleted.

    Nothing here knows of folds but which rows they are; preparation is that of all
    rows, as agreed before.
    """
    study = read_study(files.study_file)
    terms = study.to_study().terms
    assert terms.model is not None
    method = replace(study.method, select="criteria")
    held = {
        name: open_site(files.site_file(name), rehearsal=True)._party._rows
        for name in NAMES
    }
    known = replace(study.to_study().variables, strict=False)
    settings = {}

    def remember(gathered: Gathered, result: Result) -> Any:
        settings["all"] = gathered.frame.settings
        settings["scale"] = gathered.frame.scale
        return result
        yield

    def part(fold: ScoreFold) -> OwnSites:
        rows = {}
        for name, own in held.items():
            kept = own.in_fold(fold)
            rows[name] = MemoryRows(
                own.X[kept], own.y[kept], np.random.default_rng(0), name
            )
        return OwnSites(rows, known)

    everyone = OwnSites(
        {
            name: MemoryRows(own.X, own.y, np.random.default_rng(0), name)
            for name, own in held.items()
        },
        known,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run(everyone, study.method, afterwards=remember)
        found = [
            _without(
                ScoreFold(number, terms.score_folds), part, method, terms, settings
            )
            for number in range(1, terms.score_folds + 1)
        ]
    pairs = [pair for fold in found for pair in fold]
    return tuple(np.concatenate(one) for one in zip(*pairs, strict=True))


def _without(fold: ScoreFold, part: Any, method: Any, terms: Terms, known: Any) -> Any:
    left, scales, settings = part(fold), {}, known["all"]
    model = terms.model
    assert model is not None
    plain = replace(terms, model=replace(model, folds=0))

    def remember(gathered: Gathered, result: Result) -> Any:
        scales["own"] = gathered.frame.scale
        return result
        yield

    from fedsdr import run as road

    def prepared(*_: Any) -> Any:
        return settings
        yield

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(road, "_agree_on_settings", prepared)
        reduced = run(left, method, afterwards=remember)
    axes = axes_of(reduced, plain)
    axes = replace(axes, scale=scales["own"][axes.columns], settings=settings)
    fit = ask_sites(left, fit_additive(axes, Family(model.family), model.own))
    own = {name: fit.question.deviation_of(rows) for name, rows in left.rows.items()}
    bare = replace(axes, settings=settings)
    found = []
    for name, rows in part(replace(fold, held=True)).rows.items():
        reduced_rows, numbers = bare.axes_of(rows, grouped=False)
        predictor = fit.question.splines.columns(reduced_rows) @ (
            fit.question.coefficients
        )
        # The intercept of the site, as it stands in its own model.
        predictor += own[name][0] if own[name].size else 0.0
        found.append((numbers, fit.question.family.mean(predictor)))
    return found


@pytest.mark.parametrize("case", CASES)
def test_scores_are_those_of_fits_to_the_other_rows(case: str, tmp_path: Path) -> None:
    files = scored(tmp_path, **CASES[case]())
    result = files.run()
    found, (y, mean) = ScoredFolds.read(result.settings), by_hand(files)
    assert found is not None
    assert found.n_rows == len(files.rows) == len(y)
    assert found.n_folds == files.study["prediction"]["folds"]
    assert found.r2 == pytest.approx(r2_score(y, mean), abs=1e-8)
    assert found.mse == pytest.approx(mean_squared_error(y, mean), rel=1e-8)
    if case == "classes":
        assert found.log_loss == pytest.approx(log_loss(y, mean), rel=1e-8)
        # Groups of ten rows have one prediction each.
        assert found.auc == pytest.approx(roc_auc_score(y, mean), abs=0.02)
        assert found.auc > 0.7
        assert sum(n for n, _, _ in found.calibration) == found.n_rows
        assert "AUC 0." in found.describe()
    else:
        assert (found.log_loss, found.auc, found.calibration) == (None, None, ())
        assert found.describe().startswith("R2 ")
    # Every site has opened the sums itself.
    for name in NAMES:
        own = scores_of(tmp_path / name)
        assert own == found


def test_the_model_of_all_rows_is_the_same(tmp_path: Path) -> None:
    with_scores = scored(tmp_path / "a", prediction={"site_intercepts": True})
    without = predicted(tmp_path / "b", prediction={"site_intercepts": True})
    one, other = with_scores.run(), without.run()
    assert one.settings["prediction"] == other.settings["prediction"]
    assert EVALUATION not in other.settings
    np.testing.assert_array_equal(one.directions, other.directions)


def test_scores_fall_where_the_model_only_knows_its_rows(tmp_path: Path) -> None:
    """Many columns and few rows: scores of rows that were seen would be far better."""
    rows = simulate_rows(n_rows=60, n_features=40)
    rows["y"] = np.random.default_rng(5).normal(size=len(rows))
    files = scored(
        tmp_path, rows, {"max_columns_per_row": 2}, model={"n_directions": 2}
    )
    with pytest.warns(UserWarning, match="signal is weak"):
        files.run()
    assert scores_of(files.coordinator / "run").r2 < 0.05


def test_gaps_and_units_are_those_of_all_rows(tmp_path: Path) -> None:
    rows = simulate_rows(n_rows=120)
    rows["y"] = 2 * np.log(rows["y"])
    rows["x0"] *= 1e9
    # Enough gaps that every fold has some, whoever is dealt to it.
    rows.loc[rows.index[::4], "x2"] = np.nan
    names = [name for name in rows.columns if name.startswith("x")]
    columns = {name: {"type": "number"} for name in names} | {"x2": FILLED}
    files = scored(tmp_path, rows, columns=columns)
    found = ScoredFolds.read(files.run().settings)
    assert found is not None
    assert found.r2 > 0.3
    asked = {one.statistic for one in files.ledger("north").entries()}
    assert {"powers", "means"} <= asked
    assert not {"powers/1", "means/1"} & asked


def test_an_interrupted_study_asks_for_nothing_twice(tmp_path: Path) -> None:
    """It breaks off before the scores, and every site is started again."""
    files = scored(tmp_path)

    def fault(name: str, site: str, packed: bytes) -> bytes:
        if name == "secure.keys" and site == NAMES[0] and b"held_out" in packed:
            raise StopError
        return packed

    with pytest.raises(StopError):
        files.run(files.connect(fault=fault))
    before = [one.statistic for one in files.ledger("north").entries()]
    assert "newton/2" in before
    assert "held_out" not in before
    found = files.run().settings[EVALUATION]
    asked = [one.statistic for one in files.ledger("north").entries()]
    assert asked.count("axes/1") == asked.count("axes") == 3
    (files.coordinator / "run" / "result.json").unlink()
    transport = files.connect()
    assert files.run(transport).settings[EVALUATION] == found
    assert len(files.ledger("north").entries()) == len(asked)
    assert scores_of(tmp_path / "south").to_mapping() == found
    # A result that is only sent again keeps the scores at sites.
    files.run()
    assert scores_of(tmp_path / "south").to_mapping() == found


@pytest.mark.filterwarnings("ignore::fedsdr.exceptions.WeakSignalWarning")
def test_a_study_without_directions_has_no_scores(tmp_path: Path) -> None:
    rows = simulate_rows(n_rows=60)
    rows["y"] = np.random.default_rng(0).normal(size=len(rows))
    result = scored(tmp_path, rows).run()
    assert result.found_nothing
    assert EVALUATION not in result.settings


def test_a_fold_that_cannot_be_fitted_costs_the_scores_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fedsdr.study import scoring_stage

    files = scored(tmp_path)

    def fails(*_: Any) -> Any:
        raise InputError("a reduced variable is constant: there is nothing to fit")
        yield

    monkeypatch.setattr(scoring_stage, "fit_again", fails)
    with pytest.warns(UnscoredWarning, match="without fold 1 a reduced variable"):
        result = files.run()
    assert EVALUATION not in result.settings
    assert result.settings["prediction"]
    assert any("not scored" in text for _, text in result.warnings)


def test_what_warns_without_a_fold_is_not_shown(tmp_path: Path) -> None:
    files = scored(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = files.run()
    assert result.warnings == ()


# --- what is agreed on ----------------------------------------------------------------


def test_what_leaves_is_listed_before(tmp_path: Path) -> None:
    files = scored(tmp_path, prediction={"steps": 12, "folds": 3})
    study = read_study(files.study_file)
    sums = statistics(study)
    without = ["moments/fold", "axes/fold", "newton/fold"]
    assert list(sums) == ["moments", "axes", "newton", *without, "held_out"]
    assert sums["held_out"] == 5
    assert sums["moments/fold"] == sums["moments"]
    once = 6 + 7 + 12 * 7
    assert count_rounds(study) == 2 + once + 3 * once + 7
    leaving = [one for one in leaves_site(study) if one.statistic == "newton/fold"]
    assert {one.times for one in leaving} == {3 * 12}
    seen = " ".join(seen_by_coordinator(study))
    assert "once more without each of 3 folds of the rows" in seen
    assert "rows of each class" not in seen


def test_tests_of_variables_are_not_made_again(tmp_path: Path) -> None:
    files = scored(tmp_path, model={"select": "tested(splits=2)"})
    sums = statistics(read_study(files.study_file))
    assert "tested_spread" in sums
    assert "spread/fold" in sums
    assert sums["moments/fold"] < sums["moments"] / 2
    files.run()
    asked = {one.statistic for one in files.ledger("north").entries()}
    assert {"tested_spread", "spread/1", "profile/2"} <= asked
    assert not any(one.startswith(("tested_spread/", "agreement/")) for one in asked)


def test_the_command_says_how_often_sums_are_asked_for(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from fedsdr.cli import app

    files = scored(tmp_path, with_classes(), target=TWO)
    told = CliRunner().invoke(app, ["study", "check", str(files.study_file)])
    assert told.exit_code == 0, told.output
    said = " ".join(told.output.split())
    assert "newton/fold (236 numbers, at most 20 times, for each of 2 folds)" in said
    assert "how many rows of each class have which prediction" in said


def test_a_study_without_scores_keeps_its_digest(tmp_path: Path) -> None:
    files = predicted(tmp_path)
    digests = {read_study(files.study_file).digest}
    files.write_study(prediction={"folds": 0})
    assert {read_study(files.study_file).digest} == digests
    for folds in (2, 3):
        files.write_study(prediction={"folds": folds})
        digests.add(read_study(files.study_file).digest)
    assert len(digests) == 3


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"prediction": {"folds": 1}}, "folds = 1 leaves no row to fit to"),
        ({"prediction": {"folds": 11}}, "less than or equal to 10"),
        ({"prediction": {"folds": -1}}, "greater than or equal to 0"),
        ({"prediction": {"folds": True}}, "folds"),
        ({"model": {"select": "fdr"}}, "folds needs \\[model\\] select"),
        ({"model": {"penalty": "moments"}}, "a penalty that needs no parts"),
        ({"model": {"penalty": "holdout"}}, "a penalty that needs no parts"),
    ],
)
def test_scores_that_cannot_be_are_refused(
    changes: Any, words: str, tmp_path: Path
) -> None:
    table = {"prediction": {"folds": 5}, **changes}
    with pytest.raises(InputError, match=words):
        predicted(tmp_path, simulate_rows(n_rows=60), **table)


# --- what sites refuse ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "prediction", "rule", "words"),
    [
        ({"max_models": 1}, {}, "MODELS", "fits 3 model(s) of this response: one, and"),
        ({"max_models": 2}, {}, "MODELS", "and fits 2 in all"),
        ({"min_rows": 61}, {}, "ROWS", "60 rows in the smallest part"),
        ({}, {"group_rows": 61}, "MODELS", "has 60 rows in the smallest part"),
    ],
)
def test_a_site_may_want_no_scores(
    policy: Any, prediction: Any, rule: str, words: str, tmp_path: Path
) -> None:
    files = scored(tmp_path, prediction=prediction)
    set_policy(files, "east", **{**ALLOWED, **policy})
    (found,) = dry_run(files.site_file("east")).violations or ()
    assert found.rule == rule
    assert words in found.explanation
    with pytest.raises(IncompleteError):
        files.run()
    assert not files.ledger("east").entries()


def test_models_without_folds_are_counted_in_later_studies(tmp_path: Path) -> None:
    files = scored(tmp_path)
    files.run()
    first = files.study["columns"]
    fewer = {name: first[name] for name in list(first)[:-1]}
    files.write_study(purpose="another look", columns=fewer, prediction={})
    again = files.coordinator / "again"
    with pytest.raises(IncompleteError):
        conduct(files.study_file, files.connect(), again)
    log = (files.root / "north" / "site.log").read_text()
    assert "the site has fitted 3 in other studies, and fits 3 in all" in log
    for name in NAMES:
        set_policy(files, name, **{**ALLOWED, "max_models": 4})
    assert conduct(files.study_file, files.connect(), again).settings["prediction"]


# --- what a result holds --------------------------------------------------------------


def test_a_report_and_a_screen_show_the_scores(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from typer.testing import CliRunner

    from fedsdr.cli import app
    from fedsdr.reporting import make_report

    files = scored(tmp_path, with_classes(), target=TWO)
    result = files.run()
    page = make_report(result)
    found = scores_of(files.coordinator / "run")
    assert f"{found.auc:.3f}" in page
    assert "predicted without its fold" in page
    for n_rows, predicted_share, observed in found.calibration[:2]:
        assert f"<td>{n_rows}</td>" in page or f">{n_rows}<" in page
        assert f"{predicted_share:.2f}" in page
        assert f"{observed:.2f}" in page
    sites = [str(files.site_file(name)) for name in NAMES]
    told = CliRunner().invoke(
        app,
        [
            *("study", "simulate", str(files.study_file), *sites),
            *("--out", str(tmp_path / "out.json")),
        ],
    )
    assert told.exit_code == 0, told.output
    assert f"AUC {found.auc:.3f}" in told.output


@pytest.mark.parametrize(
    "damaged",
    [
        "text",
        {"n_folds": 2},
        {"n_rows": -1},
        {"n_folds": True},
        {"auc": "high"},
        {"r2": None},
        {"calibration": [[1, 2]]},
        {"calibration": "none"},
    ],
)
def test_damaged_scores_are_an_error(damaged: Any) -> None:
    whole = ScoredFolds(2, 100, 0.5, 0.25, 0.4, 0.8, ((50, 0.2, 0.25), (50, 0.8, 0.7)))
    plain = whole.to_mapping()
    assert ScoredFolds.read({EVALUATION: plain}) == whole
    assert ScoredFolds.read({}) is None
    broken = damaged
    if isinstance(damaged, dict):
        broken = {**plain, **damaged} if damaged != {"n_folds": 2} else damaged
    with pytest.raises(InputError, match="'evaluation'"):
        ScoredFolds.read({EVALUATION: broken})
