import pandas as pd
import pytest

FAST = ("--methods", "default,oracle-smooth", "--jobs", 1)


def test_table1_in_short(run, tmp_path) -> None:
    outcome = run("reproduce", "table1", "--runs", 1, *FAST)
    assert outcome.exit_code == 0
    assert "24 new runs" in outcome.stderr
    assert "geometric mean of our Dist over the paper's" in outcome.stdout
    folder = tmp_path / "reproduction" / "table1"
    assert {file.name for file in folder.iterdir()} == {
        "config.json", "results.csv", "verdict.md", "picture.png",
    }  # fmt: skip
    results = pd.read_csv(folder / "results.csv")
    assert len(results) == 24
    easy = results[results.setting.isin((1, 2, 5))]
    assert (easy.Dist < 0.4).all()
    assert (easy.TPR == 1).all()
    overall = (tmp_path / "reproduction" / "README.md").read_text()
    assert "[table1](table1/verdict.md)" in overall
    assert "| clients | Figure 7" in overall

    again = run("reproduce", "table1", "--runs", 1, *FAST)
    assert "0 new runs" in again.stderr


def test_the_list_names_experiments_and_methods(run) -> None:
    lines = run("reproduce", "list").stdout
    for word in ("table1:", "error-rate:", "dimension:", "ssir-shipped (3)"):
        assert word in lines


def test_a_verdict_can_be_written_anew(run, tmp_path) -> None:
    options = ("--methods", "votes", "--jobs", 1, "--out", "there")
    assert run("reproduce", "dimension", "--runs", 1, *options).exit_code == 0
    page = tmp_path / "there" / "dimension" / "verdict.md"
    page.unlink()
    outcome = run("reproduce", "dimension", "--runs", 0, "--out", "there")
    assert outcome.exit_code == 0
    assert "the sites' votes" in page.read_text()


def test_fresh_leaves_what_an_experiment_builds_on(run, tmp_path) -> None:
    own = ("--methods", "votes,oracle-slices", "--runs", 1, "--jobs", 1)
    first = run("reproduce", "dimension", *own)
    assert "dimension: 36 new runs" in first.stderr
    below = (tmp_path / "reproduction" / "table1" / "results.csv").read_text()
    again = run("reproduce", "dimension", "--fresh", *own)
    assert "table1: 0 new runs" in again.stderr
    assert "dimension: 36 new runs" in again.stderr
    assert (tmp_path / "reproduction" / "table1" / "results.csv").read_text() == below


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("tabel1",), "there is no experiment 'tabel1'"),
        (("table1", "--methods", "magic"), "table1 has no method magic"),
        (("table1", "--fresh", "--runs", 0), "--fresh with --runs 0 would only drop"),
    ],
)
def test_what_there_is_not_is_one_line(run, tmp_path, words, complaint) -> None:
    outcome = run("reproduce", *words)
    assert outcome.exit_code == 2
    assert f"Error: {complaint}" in outcome.stderr
    assert not (tmp_path / "reproduction").exists()
