"""Records of fits to hard designs, and the page that is made of them."""

import pandas as pd
import pytest

from benchmarks import designs, designs_runs
from benchmarks.designs_bounds import Bound, judge
from benchmarks.designs_page import write_page
from benchmarks.designs_runs import (
    choose_designs,
    find_commits,
    fit_missing,
    list_tasks,
    open_records,
    read_fits,
)
from benchmarks.hard_designs import DESIGNS

COMMITS = dict.fromkeys(designs_runs.METHODS, "abc")
NOISE = choose_designs(["pure noise", "d=20"])


class StoppedError(Exception):
    """Stands in for whatever ends a process."""


def stop_after(count: int):
    def report(done: int, _total: int, _failed: int) -> None:
        if done == count:
            raise StoppedError

    return report


def fits_of(method: str, seeds: int = 20, **columns: object) -> pd.DataFrame:
    plain = {
        "family": "covariances differ",
        "design": "linear, both, n=200, d=60",
        "method": method,
        "seed": [designs_runs.FIRST_SEED + seed for seed in range(seeds)],
        "dist": 0.1,
        "k": 1.0,
        "tpr": 1.0,
        "fpr": 0.0,
        "selected": 3.0,
        "nothing": 0.0,
        "warned": "-",
        "date": "2026-01-02",
        "command": "python -m benchmarks.designs",
        "seconds": 0.1,
        "commit": "abc",
        "failed": "",
    }
    return pd.DataFrame({**plain, **columns})


def line_of(page: str, design: str) -> str:
    return next(line for line in page.splitlines() if line.startswith(f"| {design} |"))


def test_what_is_recorded_is_not_fitted_again(tmp_path) -> None:
    tasks = list_tasks(NOISE, range(3), ["fedsdr", "old default"])
    assert len(tasks) == 6
    with pytest.raises(StoppedError):
        fit_missing(tasks, tmp_path, COMMITS, report=stop_after(4))
    first = read_fits(tmp_path)
    assert len(first) == 4
    # What a process that is killed while it writes leaves behind.
    open_records(tmp_path).journal.write_bytes(b"condition,sett")
    done: list[int] = []
    fit_missing(tasks, tmp_path, COMMITS, report=lambda *count: done.append(count[1]))
    assert done == [2, 2]
    second = read_fits(tmp_path)
    assert len(second) == 6
    pd.testing.assert_frame_equal(second[:4], first)
    assert set(second.warned) <= {"-", "WeakSignalWarning"}


def test_what_other_code_has_fitted_is_fitted_again_and_not_mixed(tmp_path) -> None:
    tasks = list_tasks(NOISE, range(2), ["fedsdr", "old default"])
    fit_missing(tasks, tmp_path, COMMITS)
    newer = {**COMMITS, "fedsdr": "def"}
    with pytest.raises(StoppedError):
        fit_missing(tasks, tmp_path, newer, report=stop_after(1))
    found = read_fits(tmp_path)
    assert found[found.method == "fedsdr"].commit.tolist() == ["def"]
    assert found[found.method == "old default"].commit.tolist() == ["abc"] * 2
    fit_missing(tasks, tmp_path, newer)
    assert read_fits(tmp_path).groupby("method").size().tolist() == [2, 2]


def test_a_failed_fit_is_recorded_and_tried_again(tmp_path, monkeypatch) -> None:
    def fail(*_: object) -> None:
        raise ValueError("too bad")

    tasks = list_tasks(NOISE, [1], ["fedsdr"])
    with monkeypatch.context() as patch:
        patch.setattr(designs_runs, "measure", fail)
        assert fit_missing(tasks, tmp_path, COMMITS) == 1
    failed = read_fits(tmp_path)
    assert failed.failed.tolist() == ["ValueError: too bad"]
    page = write_page(failed, tmp_path / "page.md")
    assert "1 of 1 fits failed: **not met**" in page
    assert "ValueError: too bad" in page
    assert fit_missing(tasks, tmp_path, COMMITS) == 0
    assert read_fits(tmp_path).failed.tolist() == [""]


def test_commits_are_those_of_the_files_that_a_method_needs(monkeypatch) -> None:
    asked: list[tuple[str, ...]] = []
    monkeypatch.setattr(
        designs_runs, "last_commit", lambda *paths: asked.append(paths) or "abc"
    )
    assert set(find_commits()) == set(designs_runs.METHODS)
    for paths in asked:
        for path in paths:
            name = path.removeprefix(":!")
            assert (designs.RESULTS.parents[1] / name).exists(), name
    assert all("benchmarks/hard_designs" in paths for paths in asked)


def test_a_missed_bound_is_shown_as_missed(tmp_path) -> None:
    good = "linear, both, n=200, d=60"
    bad = "linear, scales, n=200, d=60"
    frame = pd.concat(
        [
            fits_of("fedsdr", dist=0.12),
            fits_of("oracle", dist=0.1),
            fits_of("fedsdr", design=bad, dist=1.6, k=3.0),
            fits_of("oracle", design=bad, dist=0.1),
        ],
        ignore_index=True,
    )
    page = write_page(frame, tmp_path / "page.md")
    assert (tmp_path / "page.md").read_text() == page
    assert "Dist 0.120, at most 0.130 (1.3 x oracle): met" in line_of(page, good)
    assert "not met" not in line_of(page, good)
    missed = line_of(page, bad)
    assert "Dist 1.600, at most 0.130 (1.3 x oracle): **not met**" in missed
    assert "K right 0%, at least 95%: **not met**" in missed
    assert "| covariances differ | 2 | 0 | 2 | 0 |" in page
    assert "`python -m benchmarks.designs`, 2026-01-02" in page
    assert "abc (fedsdr, oracle)" in page


def test_a_bound_is_missed_within_noise_or_not() -> None:
    distances = [0.7, 0.55] * 10
    bound = Bound("Dist", 0.6)
    assert judge(bound, fits_of("fedsdr", dist=distances), 1).word == "within noise"
    assert judge(bound, fits_of("fedsdr", dist=0.61), 1).word == "not met"
    assert judge(bound, fits_of("fedsdr", dist=0.59), 1).word == "met"
    right = Bound("K right", 0.95)
    for wrong, word in ((1, "met"), (2, "within noise"), (5, "not met")):
        found = [2.0] * wrong + [1.0] * (20 - wrong)
        assert judge(right, fits_of("fedsdr", k=found), 1).word == word


def test_distances_are_compared_on_the_same_samples() -> None:
    frame = pd.concat(
        [
            fits_of("fedsdr", seeds=2, dist=0.1),
            fits_of("oracle", dist=[0.1] * 2 + [9] * 18),
        ]
    )
    bound = Bound("Dist", 0.9, times="oracle")
    assert judge(bound, frame, 1).text == (
        "Dist 0.100, at most 0.090 (0.9 x oracle): **not met**"
    )
    assert judge(bound, frame[frame.method == "fedsdr"], 1).word == "not run"


def test_warnings_of_odd_sites_are_counted_by_name(tmp_path) -> None:
    frame = fits_of("fedsdr", warned=["DisagreementWarning SiteWarning"] * 19 + ["-"])
    frame = frame.assign(family="odd sites", design="y shuffled at one site")
    line = line_of(write_page(frame, tmp_path / "a.md"), "y shuffled at one site")
    assert "warned 95%, at least 90%: met" in line
    line = line_of(
        write_page(frame, tmp_path / "a.md", "OtherWarning"), "y shuffled at one site"
    )
    assert "warned 0%, at least 90%: **not met**" in line


def test_noise_is_counted_design_by_design_and_in_total(tmp_path) -> None:
    weak = {
        "warned": "WeakSignalWarning",
        "nothing": 1.0,
        "k": 1.0,
        "dist": float("nan"),
    }
    silent = {**weak, "warned": ["-"] * 4 + ["WeakSignalWarning"] * 16}
    parts = [
        fits_of(method, **(silent if name == "t3" else weak)).assign(
            family=family, design=name
        )
        for family, name in DESIGNS
        for method in ("fedsdr", "fedsdr or nothing", "old default")
        if family == "pure noise"
    ]
    page = write_page(pd.concat(parts, ignore_index=True), tmp_path / "page.md")
    assert "silent 0%, at most 1%: met" in line_of(page, "normal")
    assert "silent 20%, at most 1%: **not met**" in line_of(page, "t3")
    assert "silent 1%, at most 1%: not met, within noise" in line_of(page, "all")
    assert "nothing found 100%, at least 95%: met" in line_of(page, "all")


def test_the_command_runs_and_resumes(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(designs, "find_commits", lambda: COMMITS)
    words = ["--seed", "5", "--runs", "2", "--only", "pure noise", "d=20"]
    words += ["--methods", "fedsdr", "--out", str(tmp_path)]
    assert designs.main(words) == 0
    first = read_fits(tmp_path / "designs")
    assert designs.main([*words, "--runs", "3"]) == 0
    second = read_fits(tmp_path / "designs")
    assert second.seed.tolist() == [5, 6, 7]
    pd.testing.assert_frame_equal(second[:2], first)
    assert designs.main(["--page", "--out", str(tmp_path)]) == 0
    assert "| d=20 | 3 |" in capsys.readouterr().out
    assert "| d=20 | 3 |" in (tmp_path / "designs.md").read_text()


@pytest.mark.parametrize(
    "words", [["--seed", "5"], ["--fresh", "--only", "noise"], ["--methods", "best"]]
)
def test_tuning_seeds_and_unknown_methods_are_refused(words, capsys) -> None:
    with pytest.raises(SystemExit):
        designs.main(words)
    assert "error" in capsys.readouterr().err


def test_the_designs_can_be_listed(capsys) -> None:
    assert designs.main(["--list", "--only", "pure noise"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 14
