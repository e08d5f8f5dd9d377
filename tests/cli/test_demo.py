import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from fedsdr.result import Result

SMALL = ("--in-process", "--features", 30)


def test_the_screen_shows_the_answer_beside_the_truth(run, tmp_path) -> None:
    outcome = run("demo", *SMALL)
    assert outcome.exit_code == 0
    for words in (
        "variable", "selected", "true", "direction 2", "2 chosen, 2 true",
        "from the truth", "told the true variables", "proved within",
        "Wrote result.json", "fedsdr fit FILE --target y --site-column hospital",
    ):  # fmt: skip
        assert words in outcome.stdout
    assert "Simulated 10 sites of 200 rows, 30 variables" in outcome.stderr
    assert "\x1b" not in outcome.output
    assert Result.from_json(tmp_path / "result.json").n_directions == 2


def test_a_result_that_is_there_is_kept(run, tmp_path) -> None:
    (tmp_path / "result.json").write_text("of a long study")
    outcome = run("demo", *SMALL)
    assert (tmp_path / "result.1.json").read_text() == "of a long study"
    assert "result.json existed, and was kept as result.1.json" in outcome.stderr


def test_figures_are_those_of_the_result(run) -> None:
    outcome = run("demo", *SMALL, "--json")
    figures = json.loads(outcome.stdout)
    assert outcome.stderr == ""
    result = Result.from_json(json.dumps(figures["result"]))
    assert figures["mode"] == "in-process"
    assert figures["n_directions"] == result.n_directions
    assert figures["selected"] == result.support.nonzero()[0].tolist()
    assert figures["true_variables"] == [0, 1, 2, 3, 4]
    assert 0 < figures["oracle_distance"] < 1
    assert result.gap < 1e-5


def test_the_same_seed_gives_the_same_figures(run) -> None:
    first, again, other = (
        json.loads(run("demo", *SMALL, "--json", "--seed", seed).stdout)
        for seed in (1, 1, 2)
    )
    first["result"].pop("provenance")
    again["result"].pop("provenance")
    assert first == again
    assert first["distance"] != other["distance"]


def test_too_few_variables_are_one_line(run) -> None:
    outcome = run("demo", "--in-process", "--features", 3)
    assert outcome.exit_code == 2
    assert outcome.stdout == ""
    assert "Error: setting 3 has 5 active variables" in outcome.stderr


@pytest.fixture(name="no_engine")
def engine_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide NVFLARE, so that it can be neither found nor imported."""
    monkeypatch.setitem(sys.modules, "nvflare", None)


@pytest.mark.usefixtures("no_engine")
def test_without_the_engine_all_sites_are_in_this_process(run, tmp_path) -> None:
    outcome = run("demo", "--features", 30)
    assert outcome.exit_code == 0
    first, *rest = outcome.stderr.splitlines()
    assert first.startswith("Note: NVIDIA FLARE is not installed")
    assert first.endswith("pip install 'fedsdr[federation]'")
    assert rest[0].startswith("Simulated 10 sites of 200 rows, 30 variables")
    assert (tmp_path / "result.json").exists()


@pytest.mark.usefixtures("no_engine")
def test_the_folder_of_a_demo_without_the_engine_gets_the_result(run, tmp_path) -> None:
    outcome = run("demo", "--features", 30, "--json", "--out", "new/folder")
    assert outcome.stderr.startswith("Note: ")
    figures = json.loads(outcome.stdout)
    assert figures["mode"] == "in-process"
    stored = json.loads((tmp_path / "new/folder/result.json").read_text())
    assert stored == figures["result"]
    (tmp_path / "file").touch()
    outcome = run("demo", "--features", 30, "--out", "file")
    assert outcome.exit_code == 2
    assert "file cannot be the folder" in outcome.stderr


def test_version_and_help(run) -> None:
    assert run("--version").stdout.startswith("fedsdr 0.")
    text = run("--help").stdout
    assert "demo" in text
    assert "fit" in text


def seconds_of_processes() -> float:
    """Return the CPU seconds of child processes."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.mark.e2e
def test_a_real_process_without_a_terminal(tmp_path: Path) -> None:
    """The installed script: plain text, in time, in a locale without box drawing."""
    script = Path(sys.executable).with_name("fedsdr")
    environment = {
        **os.environ,
        "PYTHONIOENCODING": "ascii",
        "OPENBLAS_NUM_THREADS": "1",
    }
    start = seconds_of_processes()
    finished = subprocess.run(
        [script, "demo", "--in-process", "--rows", "60", "--sites", "4",
         "--features", "20"],
        cwd=tmp_path, env=environment, capture_output=True, timeout=600, check=True,
    )  # fmt: skip
    assert seconds_of_processes() - start < 60
    assert b"\x1b" not in finished.stdout + finished.stderr
    assert b"2 true" in finished.stdout
    assert (tmp_path / "result.json").exists()
