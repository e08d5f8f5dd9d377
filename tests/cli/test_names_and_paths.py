"""Names with any letters, and folders with blanks in their paths."""

import tomllib
from pathlib import Path

import pytest
from tests.study.consortia import Files, simulate_rows

from fedsdr.spoken import as_toml_key
from fedsdr.study import read_site

#: Names as hospitals have them.
FOREIGN = ("Zürich", "東京", "St. Mary's", "Łódź Śródmieście")


@pytest.mark.parametrize(
    "name",
    ['a"b', "x\ny", "a/b", "..", "north ", "no\u200brth", "Zu\u0308rich", "x" * 64, ""],
)
def test_a_name_that_no_study_can_use_is_refused_at_once(run, tmp_path, name) -> None:
    outcome = run("keygen", "--site", name)
    assert outcome.exit_code == 2
    assert "cannot be the name of a site" in outcome.stderr
    assert not list(tmp_path.iterdir())
    assert run("site", "init", "--name", name).exit_code == 2
    assert not list(tmp_path.iterdir())


def test_a_name_without_accents_is_suggested(run) -> None:
    assert "such as Klinik-Sud" in run("keygen", "--site", "Klinik/Süd").stderr


@pytest.mark.parametrize("name", ["north", "7-hills", "St_Mary", *FOREIGN])
def test_every_file_of_a_new_site_is_toml(run, tmp_path, name) -> None:
    """A name with accents used to make a line that no program reads."""
    assert run("site", "init", "--name", name).exit_code == 0
    table = tomllib.loads((tmp_path / "identity.pub").read_text())
    assert list(table) == [name]
    assert read_site(tmp_path / "site.toml").name == name
    assert as_toml_key("Zürich") == '"Zürich"'


def test_a_study_of_sites_with_any_letters(run, tmp_path, hospitals) -> None:
    """All commands of stewards and coordinator that need no node."""
    pytest.importorskip("nvflare", exc_type=ImportError)
    own = dict(zip(FOREIGN, ("north", "south", "east", "west"), strict=True))
    for name, place in own.items():
        (tmp_path / name).mkdir()
        assert run("site", "init", "--name", name, "--out", f"{name}/site.toml",
                   "--study", "../study.toml").exit_code == 0  # fmt: skip
        rows = hospitals[hospitals["hospital"] == place].drop(columns="hospital")
        rows.to_csv(tmp_path / name / "rows.csv", index=False)
    hospitals.drop(columns="hospital").to_csv(tmp_path / "rows.csv", index=False)
    assert run("study", "init", "--from-csv", "rows.csv").exit_code == 0
    with (tmp_path / "study.toml").open("a") as stream:
        for name in FOREIGN:
            stream.write((tmp_path / name / "identity.pub").read_text())
    for name in FOREIGN:
        outcome = run("site", "accept", f"{name}/site.toml", "study.toml", "--partners")
        assert outcome.exit_code == 0, outcome.output
        assert f"site {name}, study my-study" in outcome.stdout
    outcome = run("study", "simulate", "study.toml",
                  *(f"{name}/site.toml" for name in FOREIGN), "--json")  # fmt: skip
    assert outcome.exit_code == 0, outcome.output
    assert run("study", "provision", "study.toml").exit_code == 0
    requests = [f"{name}/{name}.request" for name in FOREIGN]
    outcome = run("study", "sign", "study.toml", *requests)
    assert outcome.exit_code == 0, outcome.output
    for name in FOREIGN:
        assert f"sites/{name}.kit" in outcome.stdout


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
