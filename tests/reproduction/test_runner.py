import json
from dataclasses import replace

import joblib
import pandas as pd
import pytest
from tests.reproduction.tiny import TINY, draw_number

from fedsdr.exceptions import InputError
from reproduction.page import read_results, write_verdict
from reproduction.records import Records
from reproduction.runner import forget, run_missing


def test_any_backend_of_joblib_will_do(tmp_path) -> None:
    seen = []
    # Multiprocessing, like Ray, does not return results one by one.
    for backend in ("threading", "multiprocessing"):
        with joblib.parallel_config(backend=backend, n_jobs=2):
            run_missing(TINY, tmp_path / backend, runs=2)
        frame = Records(tmp_path / backend, TINY.measures).read()
        seen.append(frame.sort_values("value").value.tolist())
    assert len(seen[0]) == 16
    assert seen[0] == seen[1]


def test_progress_counts_up_and_expects_an_end(tmp_path) -> None:
    seen = []
    run_missing(TINY, tmp_path, jobs=1, runs=1, report=seen.append)
    assert [p.done for p in seen] == list(range(9))
    assert {p.total for p in seen} == {8}
    assert seen[0].seconds_left is None
    assert seen[-1].seconds_left == 0.0
    assert all(p.seconds_left > 0 for p in seen[1:-1])


def test_only_what_is_missing_is_run(tmp_path) -> None:
    run_missing(TINY, tmp_path, jobs=1, runs=1, methods=["a"])
    assert run_missing(TINY, tmp_path, jobs=1, runs=2).total == 12
    assert run_missing(TINY, tmp_path, jobs=1, runs=2).total == 0
    forget(TINY, tmp_path, ["b"])
    assert run_missing(TINY, tmp_path, jobs=1, runs=2).total == 8


def test_the_configuration_says_how_results_came_about(tmp_path) -> None:
    run_missing(TINY, tmp_path, jobs=1, runs=1, command="fedsdr reproduce tiny")
    run_missing(TINY, tmp_path, jobs=1, runs=2)
    config = json.loads((tmp_path / "config.json").read_text())
    first, second = config["sessions"]
    assert first["command"] == "fedsdr reproduce tiny"
    assert (first["tasks"], second["tasks"]) == (8, 8)
    assert {"commit", "date", "versions", "python"} <= set(first)
    assert config["methods"] == {"a": 5, "b": 5}


def fail_once_in_two(task):
    if task.run % 2:
        raise InputError("no, thank you")
    return draw_number(task)


def test_an_error_is_written_down_and_tried_again(tmp_path) -> None:
    shaky = replace(TINY, run=fail_once_in_two)
    assert run_missing(shaky, tmp_path / "tiny", jobs=1, runs=2).failed == 8
    frame = Records(tmp_path / "tiny", TINY.measures).read()
    assert set(frame.failed) == {"", "InputError: no, thank you"}
    assert len(read_results(TINY, tmp_path)) == 8
    again = run_missing(TINY, tmp_path / "tiny", jobs=1, runs=2)
    assert (again.total, again.failed) == (8, 0)


def test_reasons_given_by_hand_are_in_the_verdict(tmp_path) -> None:
    assert write_verdict(TINY, tmp_path) is None
    run_missing(TINY, tmp_path / "tiny", jobs=1)
    (tmp_path / "tiny" / "why.md").write_text("Because.")
    write_verdict(TINY, tmp_path)
    page = (tmp_path / "tiny" / "verdict.md").read_text()
    assert page.startswith("# forty numbers")
    assert "| the mean is near 0 |" in page
    assert "## Why\n\nBecause.\n" in page


def test_unknown_methods_are_refused() -> None:
    with pytest.raises(InputError, match="tiny has no method c: choose from a, b"):
        TINY.tasks(methods=["c"])


def test_a_verdict_says_how_much_the_paper_ran_and_what_is_missing(tmp_path) -> None:
    tiny = replace(TINY, paper_runs=4, labels={"a": "the first"})
    records = Records(tmp_path / "tiny", tiny.measures)
    records.journal.parent.mkdir()
    for task in tiny.tasks(2, ["a"])[:5]:
        row = {"value": 0.5, "double": 1.0, "seconds": 1800.0, "commit": "abc"}
        where = zip(("condition", "setting", "method", "run"), task.key, strict=True)
        records.append({**dict(where), "seed": task.seed, **row})
    write_verdict(tiny, tmp_path)
    page = (tmp_path / "tiny" / "verdict.md").read_text()
    # Four cells: one with 2 of 4 runs, three with 1; 11 of half an hour are missing.
    assert "| `a` | the first | 1 to 2 | 1800.00 | 4 | 5.5 | abc |" in page
    assert "| `b` | b | 0 |  | 4 |  |  |" in page
    write_verdict(replace(tiny, paper_runs=0), tmp_path)
    assert "hours to go" not in (tmp_path / "tiny" / "verdict.md").read_text()


def test_a_row_with_another_seed_does_not_count(tmp_path) -> None:
    run_missing(TINY, tmp_path, jobs=1, runs=1)
    results = tmp_path / "results.parquet"
    frame = pd.read_parquet(results)
    seed = frame.seed[0]
    frame["seed"] = frame.seed.replace(seed, 12345)
    frame.to_parquet(results, index=False)
    # Both methods of that cell, since they see the same data.
    assert run_missing(TINY, tmp_path, jobs=1, runs=1).done == 2
    now = pd.read_parquet(results)
    kept = frame[frame.seed != 12345].reset_index(drop=True)
    pd.testing.assert_frame_equal(now[:-2], kept)
    assert now.seed[-2:].tolist() == [seed, seed]


def test_results_are_one_file_also_after_an_interruption(tmp_path) -> None:
    def interrupt(progress) -> None:
        if progress.done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_missing(TINY, tmp_path, jobs=1, report=interrupt)
    assert {file.name for file in tmp_path.iterdir()} == {
        "config.json", "results.parquet",
    }  # fmt: skip
    assert len(pd.read_parquet(tmp_path / "results.parquet")) == 3
