"""Names with any letters, and folders with blanks in their paths."""

import tomllib
from pathlib import Path

import pytest
from tests.study.consortia import Files, simulate_rows

from fedsdr.spoken import as_toml_key


@pytest.mark.parametrize("name", ["Zürich", "Klinik Süd", "łódź", 'a"b', "x\ny"])
def test_a_name_that_no_study_can_use_is_refused_at_once(run, tmp_path, name) -> None:
    outcome = run("keygen", "--site", name)
    assert outcome.exit_code == 2
    assert "cannot be the name of a site" in outcome.stderr
    assert not list(tmp_path.iterdir())
    assert run("site", "init", "--name", name).exit_code == 2
    assert not list(tmp_path.iterdir())


def test_a_name_without_accents_is_suggested(run) -> None:
    assert "such as Klinik-Sud" in run("keygen", "--site", "Klinik Süd").stderr


@pytest.mark.parametrize("name", ["north", "7-hills", "St_Mary"])
def test_the_line_for_the_roster_is_toml(run, tmp_path, name) -> None:
    assert run("keygen", "--site", name).exit_code == 0
    table = tomllib.loads((tmp_path / "identity.pub").read_text())
    assert list(table) == [name]
    assert as_toml_key("Zürich") == '"Zürich"'


def test_a_folder_with_blanks_and_accents(run, tmp_path: Path) -> None:
    """Every command of a steward that needs no node, and the rehearsal."""
    folder = tmp_path / "Daten für die Studie"
    files = Files(folder, simulate_rows(n_rows=60), model={"refit": "pooled"})
    file = files.site_file("north")
    outcome = run("site", "check", file)
    assert outcome.exit_code == 0, outcome.output
    assert f"fedsdr site accept '{file}'" in outcome.stdout
    assert run("site", "ledger", "show", file).exit_code == 0
    assert run("site", "peers", "list", file).exit_code == 0
    sites = files.site_files.values()
    outcome = run("study", "simulate", files.study_file, *sites, "--json")
    assert outcome.exit_code == 0, outcome.output
