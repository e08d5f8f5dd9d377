"""Does my site agree: what its own rows say about a published result."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.study.consortia import FILLED, NAMES, Files, simulate_rows
from typer.testing import CliRunner

from fedsdr.cli import app
from fedsdr.exceptions import InputError
from fedsdr.result import Result
from fedsdr.study.steward_view import view_result

DEVIANT = "south"


def with_deviant(rows: pd.DataFrame) -> pd.DataFrame:
    """Let y of one site depend on other variables."""
    rows = rows.copy()
    own = rows["site"] == DEVIANT
    centred = rows.loc[own, "x0":"x5"] - rows.loc[own, "x0":"x5"].mean()
    rows.loc[own, "y"] = np.exp((centred["x0"] - centred["x4"]) / 2)
    return rows


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_deviant_site_is_told_and_the_others_agree(tmp_path: Path) -> None:
    files = Files(tmp_path, with_deviant(simulate_rows(n_rows=120)))
    result = files.run()
    assert result.agreement["p_value"] < 0.05
    assert sum(result.agreement["needs"]) == 4
    views = {name: view_result(files.site_file(name)) for name in NAMES}
    assert {name: one.agrees for name, one in views.items()} == {
        name: name != DEVIANT for name in NAMES
    }
    told = views[DEVIANT]
    assert "Your site disagrees" in told.verdict()
    assert "x4" in told.differing
    assert "x4" in told.verdict()
    # What sites know of each other are counts.
    own = Result.from_json(tmp_path / DEVIANT / "result.json")
    assert own.agreement == result.agreement
    assert "one span" in str(result.summary())


def test_sites_that_agree_hear_it(tmp_path: Path) -> None:
    columns = {f"x{j}": {"type": "number"} for j in range(6)} | {"x3": FILLED}
    rows = simulate_rows(n_rows=120)
    rows.loc[::7, "x3"] = np.nan
    files = Files(tmp_path, rows, columns=columns, model={"scores": "normal"})
    result = files.run()
    assert result.agreement["p_value"] > 0.05
    for name in NAMES:
        found = view_result(files.site_file(name))
        assert found.agrees
        assert found.verdict() == "Your site agrees with the result."
        assert not found.differing


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_silent_site_is_told(tmp_path: Path) -> None:
    rows = simulate_rows(n_rows=120)
    own = np.flatnonzero(rows["site"] == DEVIANT)
    shuffled = np.random.default_rng(0).permutation(own)
    rows.loc[own, "y"] = rows["y"].to_numpy()[shuffled]
    files = Files(tmp_path, rows)
    files.run()
    found = view_result(files.site_file(DEVIANT))
    assert found.silent
    assert "Check that responses belong to their rows" in found.verdict()


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_command_prints_and_writes_a_page(tmp_path: Path) -> None:
    files = Files(tmp_path, with_deviant(simulate_rows(n_rows=120)))
    files.run()
    page = tmp_path / "page.html"
    command = ["site", "agreement", str(files.site_file(DEVIANT)), "--html", str(page)]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    assert "Your site disagrees" in " ".join(done.output.split())
    assert "your site needs" in done.output
    text = page.read_text()
    assert text.startswith("<!doctype html>")
    assert "x4" in text
    assert "<script" not in text
    assert "http" not in text.replace("http-equiv", "")
    # Nothing was recorded or sent.
    before = len(files.ledger(DEVIANT).entries())
    view_result(files.site_file(DEVIANT))
    assert len(files.ledger(DEVIANT).entries()) == before


def test_results_of_other_columns_are_refused(tmp_path: Path) -> None:
    files = Files(tmp_path, simulate_rows(n_rows=120))
    files.run()
    path = tmp_path / "other.json"
    text = (tmp_path / "east" / "result.json").read_text()
    path.write_text(text.replace('"x5"', '"z"'))
    with pytest.raises(InputError, match="a result of other columns"):
        view_result(files.site_file("east"), path)
