"""How warnings are counted."""

import pytest

from benchmarks.alarms import main, write_page
from benchmarks.hard_designs.alarm_designs import ALARM_DESIGNS, ALARMS

NULL, ODD = "linear, 3 x 100", "y shuffled at one site"


def rows_of(design: str, raised: list[str]) -> list[dict[str, object]]:
    stamp = {"commit": "abc", "date": "2026-01-01", "seconds": "0.5", "k": "1"}
    return [
        {**stamp, "design": design, "seed": str(seed), "raised": one}
        for seed, one in enumerate(raised)
    ]


def test_false_and_right_alarms_are_counted() -> None:
    null = rows_of(NULL, ["silent", "-", "units silent", "-"])
    odd = rows_of(ODD, ["silent"] * 9 + ["units"])
    page = write_page([*null, *odd], "a command")
    assert "| silent | 4 | 2 | 50.0% | linear, 3 x 100: 50% |" in page
    assert f"| units | 14 | 2 | 14.3% | {NULL}: 25% |" in page
    assert f"| {NULL} | 4 | units 1, silent 2 |" in page
    assert f"| {ODD} | silent or outside or groups | 10 | 9 | met |" in page
    page = write_page(rows_of(ODD, ["silent"] * 8 + ["-"] * 2), "a command")
    assert "| 10 | 8 | **not met** |" in page


def test_designs_want_and_allow_known_alarms() -> None:
    for design in ALARM_DESIGNS.values():
        assert {*design.wanted, *design.free} <= set(ALARMS)
        assert set(design.wanted).isdisjoint(design.null_for)


def test_a_second_call_measures_nothing_again(tmp_path, capsys) -> None:
    words = [
        "--runs",
        "1",
        "--seed",
        "5",
        "--only",
        "linear, 3",
        "--out",
        str(tmp_path),
    ]
    assert main(words) == 0
    assert f"design={NULL} seed=5" in capsys.readouterr().out
    assert main(words) == 0
    assert "seed=5" not in capsys.readouterr().out
    assert f"| {NULL} | 1 | none |" in (tmp_path / "alarms.md").read_text()


def test_tuning_seeds_are_not_reported() -> None:
    with pytest.raises(SystemExit):
        main(["--seed", "1300000"])
