"""The runner of all benchmarks, and its report."""

import csv
import importlib.util
import sys
from pathlib import Path

import pytest

from benchmarks.bench import choose_parts, part_command
from benchmarks.bench_report import PARTS, commits_since, parts_table, write_report


def test_parts_are_programs_and_keep_their_order() -> None:
    for name in PARTS:
        assert importlib.util.find_spec(f"benchmarks.{name}") is not None
    assert choose_parts("peers,growth") == ["growth", "peers"]
    assert choose_parts(None) == list(PARTS)
    with pytest.raises(SystemExit, match="no part 'solver'"):
        choose_parts("growth,solver")


def test_only_growth_has_a_limit() -> None:
    growth = part_command("growth", fresh=True, limit=20.0)
    assert growth[1:] == ["-m", "benchmarks.growth", "--fresh", "--limit", "20.0"]
    peers = part_command("peers", fresh=False, limit=20.0)
    assert peers == [sys.executable, "-m", "benchmarks.peers", "--runs", "1"]


def test_the_table_of_parts_says_what_is_missing_and_of_which_code() -> None:
    rows = [{"commit": "nonsense", "date": "2026-01-02"}]
    lines = "\n".join(parts_table({"scale": rows}))
    assert "| growth | times against rivals as d, N, m and K grow | | not" in lines
    assert "| 1 | nonsense | 2026-01-02 | ? |" in lines
    assert commits_since("HEAD") == "0"


def test_the_report_has_a_plot_for_every_part_that_was_measured(tmp_path: Path) -> None:
    stamp = {"commit": "HEAD", "date": "2026-01-02"}
    share = {"part": "memory", "case": "float64", "n": 100, "d": 5, "threads": 1}
    fit = {"part": "genes", "d": 9, "seconds": 1.0, "gap": 1e-4, "certified": 9}
    _write(tmp_path / "summaries.csv", {**stamp, **share, "ratio": 0.5})
    _write(tmp_path / "fits.csv", {**stamp, **fit, "megabytes": 1.0})
    text = write_report(tmp_path).read_text()
    for name in ("shares", "bytes", "certificates"):
        assert f"({name}.png)" in text
        assert (tmp_path / f"{name}.png").stat().st_size > 1_000
    assert "growth.png" not in text


def _write(path: Path, row: dict[str, object]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(row))
        writer.writeheader()
        writer.writerow(row)
