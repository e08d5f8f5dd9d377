"""Study and site files, and the messages about mistakes in them."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from tests.study.consortia import NAMES, Files, simulate_rows, write_toml

from fedsdr import FedSSIR
from fedsdr.method import Method
from fedsdr.secure_sum import Identity
from fedsdr.study import CheckError, open_site, read_site, read_study
from fedsdr.study.model import ModelSettings
from fedsdr.study.templates import site_template, study_template

KEYS = {name: bytes([i] * 32).hex() for i, name in enumerate(NAMES)}


def table(**changes: Any) -> dict[str, Any]:
    """Describe a study of two columns, with changes."""
    start: dict[str, Any] = {
        "name": "example",
        "purpose": "to see what is said",
        "target": {"name": "y", "type": "number"},
        "columns": {
            "age": {"type": "number", "unit": "years", "range": [18, 110]},
            "sex": {"type": "category", "levels": ["f", "m", "x"], "baseline": "m"},
        },
        "sites": {"roster": KEYS},
    }
    return {k: v for k, v in (start | changes).items() if v is not None}


def problems(path: Path, **changes: Any) -> list[str]:
    write_toml(path / "study.toml", table(**changes))
    with pytest.raises(CheckError) as caught:
        read_study(path / "study.toml")
    assert caught.value.where == str(path / "study.toml")
    assert str(caught.value).count("\n") == len(caught.value.problems) - 1
    return list(caught.value.problems)


def column(**changes: Any) -> dict[str, Any]:
    return {"columns": {"age": {"type": "number", **changes}}}


def test_a_study_becomes_what_the_protocol_needs(tmp_path: Path) -> None:
    study = read_study(write_toml(tmp_path / "study.toml", table()))
    agreed = study.to_study()
    assert agreed.columns == ("age", "sex=f", "sex=x")
    assert agreed.units == ("years", "", "")
    assert agreed.sites == tuple(sorted(NAMES))
    assert agreed.agreed_threshold == 3
    assert not agreed.terms.discrete
    assert study.digest == agreed.digest


@pytest.mark.parametrize(
    "changes",
    [
        {"purpose": "something else"},
        {"timeout": 30},
        {"missing": "drop"},
        {"model": {"refit": False}},
        {"target": {"name": "y", "type": "number", "range": [0, float("inf")]}},
        {"sites": {"roster": KEYS, "minimum": 4}},
        column(range=[18, 111]),
    ],
)
def test_all_that_is_agreed_on_is_in_the_digest(tmp_path: Path, changes: Any) -> None:
    first = read_study(write_toml(tmp_path / "a.toml", table()))
    other = read_study(write_toml(tmp_path / "b.toml", table(**changes)))
    assert first.digest != other.digest


def test_layout_and_comments_are_not_in_the_digest(tmp_path: Path) -> None:
    path = write_toml(tmp_path / "a.toml", table())
    digest = read_study(path).digest
    lines = path.read_text().splitlines()
    path.write_text("# a comment\n\n" + "\n\n".join(reversed(lines)))
    assert read_study(path).digest == digest


def test_the_defaults_are_those_of_the_estimator() -> None:
    parameters = FedSSIR().get_params()
    own = {one.name: parameters[one.name] for one in fields(Method)}
    # Privacy has a table of its own, and tests are for one analyst.
    others = {"privacy", "select"}
    assert set(ModelSettings().model_dump()) == {*own, "seed"} - others
    assert ModelSettings().method == Method(**own) == Method()


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"purpose": None}, "purpose: is missing: add it"),
        (
            {"purose": {}},
            "purose: is not a key that belongs here; did you mean 'purpose'",
        ),
        ({"weather": 1}, "weather: is not a key that belongs here; remove it"),
        ({"name": "my study"}, "name: must consist of at most 63 letters, digits"),
        ({"name": 3}, "name: must be text, in quotes"),
        ({"protocol": "sums"}, "protocol: must be 'secure'"),
        ({"timeout": -1}, "timeout: must be greater than 0"),
        (
            {"missing": "guess"},
            "missing: must be 'refuse', 'drop', 'mean' or 'mean or drop'",
        ),
        ({"columns": {}}, "columns: "),
        ({"model": {"penalty": "lasso"}}, "model.penalty: must be 'universal', "),
        ({"model": {"n_directions": 0}}, "model.n_directions: must be 'auto', 'bic'"),
        (
            {"model": {"n_directions": 4}},
            "[model] n_directions = 4 is not possible: there are no more directions",
        ),
        (
            {"model": {"n_directions": True}},
            "model.n_directions: must be 'auto', 'bic'",
        ),
        (
            {"model": {"refit": 2}},
            "model.refit: must be true, false, 'pooled' or a number",
        ),
        (
            {"model": {"kernel": "slices(size=1)"}},
            "model.kernel: the size of slices must be a whole number",
        ),
        (
            {"model": {"penalty": "holdout(fraction=1)"}},
            "model.penalty: fraction must be a number",
        ),
        (
            {"model": {"penalty": "momnts(folds=3)"}},
            (
                "model.penalty: must be 'universal', 'moments', 'holdout' or a "
                "positive number, got 'momnts(folds=3)': did you mean 'moments'?"
            ),
        ),
        (
            {"model": {"slice_size": 30}},
            (
                "model: 'slice_size' is now part of kernel: write "
                'kernel = "slices(size=30)"'
            ),
        ),
        (
            {"model": {"n_slices": 10}},
            'is now part of kernel: write kernel = "slices(number=10)"',
        ),
        (
            {"model": {"n_directions": "votes", "max_directions": 3}},
            (
                "'max_directions' is now part of n_directions: write "
                'n_directions = "votes(max_directions=3)"'
            ),
        ),
        (
            {"model": {"penalty": "moments", "n_folds": 3}},
            "'n_folds' is now part of penalty: write penalty = \"moments(folds=3)\"",
        ),
        (
            {"model": {"penalty": "holdout", "validation_fraction": 0.2}},
            'write penalty = "holdout(fraction=0.2)"',
        ),
        (
            {"model": {"penalty": "holdout", "n_penalties": 7, "min_ratio": 0.1}},
            (
                "'n_penalties' is now part of penalty: write "
                'penalty = "holdout(penalties=7)"; '
                "'min_ratio' is now part of penalty: write "
                'penalty = "holdout(min_ratio=0.1)"'
            ),
        ),
        (
            column(type="text"),
            "columns.age.type: must be 'number', 'category', 'boolean', 'date' or",
        ),
        (column(range=[3, 1]), "columns.age.range: must be [lowest, highest]"),
        (column(range=[0]), "columns.age.range: must be [lowest, highest]"),
        (column(levels=["a", "b"]), "columns.age: a number has no levels"),
        (column(type="category"), "columns.age: a category needs levels"),
        (
            column(type="category", levels=["a", "b"], unit="m"),
            "columns.age: a category has neither unit nor range",
        ),
        (
            column(type="category", levels=["a", "a"]),
            "columns.age.levels: must list two or more different levels",
        ),
        (
            column(type="category", levels=["1", 1]),
            "columns.age.levels: must list two or more different levels",
        ),
        (
            column(type="category", levels=["a", "b"], baseline="c"),
            "columns.age: baseline must be one of the levels",
        ),
        (
            column(type="category", levels=["a", "b"], missing="mean"),
            "columns.age: a category has no mean",
        ),
        (
            {"target": {"name": "y", "type": "number", "missing": "mean"}},
            "target: a response is never filled in",
        ),
        ({"target": {"name": "age", "type": "number"}}, "'age' is the target and"),
        (
            {
                "columns": {
                    "sex": {"type": "category", "levels": ["f", "m"]},
                    "sex=m": {"type": "number"},
                }
            },
            "a column has the name of another one's indicator",
        ),
        ({"columns": {" age": {"type": "number"}}}, "a column cannot be called ' age'"),
        (
            {"sites": {"roster": {"a": "ab" * 32, "b": "cd" * 32}}},
            "a secure sum needs at least 3 sites, got 2",
        ),
        (
            {"sites": {"roster": KEYS, "minimum": 2}},
            "the threshold for 4 sites must be",
        ),
        (
            {"sites": {"roster": KEYS | {"east": "0x12"}}},
            "sites.roster: the key of 'east' is not valid",
        ),
        (
            {"sites": {"roster": KEYS | {"coordinator": "ff" * 32}}},
            "sites.roster: a site cannot be called 'coordinator'",
        ),
        (
            {"sites": {"roster": dict.fromkeys(NAMES, "ff" * 32)}},
            "sites.roster: two sites have the same key",
        ),
    ],
)
def test_each_mistake_has_its_line(tmp_path: Path, changes: Any, problem: str) -> None:
    (line,) = problems(tmp_path, **changes)
    assert problem in line


def test_several_mistakes_are_said_at_once(tmp_path: Path) -> None:
    lines = problems(tmp_path, purpose=None, model={"tol": 0, "kernl": "smooth"})
    assert len(lines) == 3
    assert any("model.kernl" in line and "'kernel'" in line for line in lines)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"name = ", "is not valid TOML"),
        (b"name = 1\nname = 2\n", "is not valid TOML"),
        (b'name = "\xff"', "is not UTF-8"),
    ],
)
def test_files_that_are_not_toml(tmp_path: Path, content: bytes, problem: str) -> None:
    path = tmp_path / "study.toml"
    path.write_bytes(content)
    with pytest.raises(CheckError, match=problem):
        read_study(path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(CheckError, match=r"none\.toml: cannot be read: No such file"):
        read_study(tmp_path / "none.toml")


# --- sites ----------------------------------------------------------------------------


@pytest.fixture(name="files", scope="module")
def consortium(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """Return the files of four sites."""
    return Files(tmp_path_factory.mktemp("files"), simulate_rows(n_rows=60))


DATA = {"kind": "csv", "path": "rows.csv"}


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"name": "nowhere", "data": DATA}, "sites.roster: has no site 'nowhere'"),
        ({"data": DATA, "identity": "no.key"}, "cannot read .*no.key"),
        ({"data": DATA, "study": "no.toml"}, "no.toml: cannot be read"),
        ({"data": DATA, "file": "x"}, "site.toml: file: is not a key that belongs"),
        ({"data": DATA, "policy": {"min_row": 3}}, "policy: .*did you mean 'min_rows'"),
        (
            {"data": DATA, "columns": {"z": "x0"}},
            "columns: the study has no column 'z'",
        ),
        ({"data": {"kind": "oracle"}}, "data: kind of the data must be one of"),
        ({"data": {"kind": "csv", "path": "no.csv"}}, "data: .*no.csv"),
        ({"data": DATA, "columns": {"x0": "age"}}, "'age' is not in the data; if it"),
        ({"data": DATA, "columns": {"x0": "X1"}}, "'X1' is not in the data; if it has"),
        ({"data": DATA, "ledger": "."}, "cannot be the ledger"),
        ({}, "data: is missing: add it"),
    ],
)
def test_mistakes_in_a_sites_file(files: Files, changes: Any, problem: str) -> None:
    write_toml(files.site_file("north"), {"name": "north", **changes})
    with pytest.raises(ValueError, match=problem):
        open_site(files.site_file("north"))


def test_another_key_is_refused(files: Files, tmp_path: Path) -> None:
    Identity.generate().save(tmp_path / "other.key")
    files.write_site("north", data=DATA, identity=str(tmp_path / "other.key"))
    with pytest.raises(
        CheckError, match="is not the key that the roster has for 'north"
    ):
        open_site(files.site_file("north"))


def test_columns_may_have_other_names_at_a_site(files: Files) -> None:
    rows = files.rows[files.rows["site"] == "north"].drop(columns="site")
    named = rows.rename(columns={"x0": "AGE", "y": "OUTCOME"})
    named.to_csv(files.root / "north" / "named.csv", index=False)
    files.write_site(
        "north",
        data={"kind": "csv", "path": "named.csv"},
        columns={"x0": "AGE", "y": "OUTCOME"},
    )
    open_site(files.site_file("north"), rehearsal=True)


# --- templates ------------------------------------------------------------------------


def test_a_completed_template_can_be_used(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(study_template())
    with pytest.raises(CheckError, match="has no sites"):
        read_study(path)
    roster = "".join(f'{name} = "{key}"\n' for name, key in KEYS.items())
    path.write_text(study_template("a-study", 'the "y"', ["a b", "c\\d", "ü"]) + roster)
    study = read_study(path)
    assert study.features == ("a b", "c\\d", "ü")
    assert study.target.name == 'the "y"'
    path.write_text(study_template() + roster)
    assert read_study(path).features == ("age", "ldl", "sex=m")
    assert read_study(path).imputed == ("ldl",)


def test_the_template_of_a_site_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "site.toml"
    path.write_text(site_template("south", "../study.toml"))
    site = read_site(path)
    assert site.name == "south"
    assert site.at(site.study) == tmp_path / "../study.toml"
    assert site.read_policy().min_rows == 50
