"""Functions that work with the core dependencies alone, and errors for missing extras.

Every test runs a new interpreter that refuses to import what only extras install.
Typer itself may import pydantic; modules of fedsdr may not.
"""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tools.check_dist import ROOT, TESTS

from fedsdr.extras import EXTRAS, require

REFUSED = (
    *("pyarrow", "pydantic", "cryptography", "msgpack", "nvflare", "matplotlib"),
    *("psutil", "adbc_driver_postgresql", "adbc_driver_manager", "polars", "openpyxl"),
)

GUARD = f"""
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        package = name.partition(".")[0]
        if package not in {REFUSED!r}:
            return
        frame = sys._getframe(1)
        while frame.f_globals["__name__"].partition(".")[0] == "importlib":
            frame = frame.f_back
        importer = frame.f_globals["__name__"].partition(".")[0]
        if package != "pydantic" or importer not in ("typer", "pydantic"):
            raise ModuleNotFoundError(f"refused: {{name}}", name=name)

sys.meta_path.insert(0, Refuse())
"""

COMMAND = "from fedsdr.cli import main; main()"

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"


def python(program: str, *arguments: object, cwd: Path | None = None) -> tuple:
    command = [sys.executable, "-W", "error", "-c", GUARD + program]
    done = subprocess.run(
        [*command, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(name="folder", scope="module")
def folder_with_rows(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("core")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(300, 5)), columns=list("abcde"))
    frame["hospital"] = ["north", "south", "west"] * 100
    frame["y"] = frame["a"] - frame["b"] + 0.2 * rng.normal(size=300)
    frame.to_csv(folder / "rows.csv", index=False)
    frame.to_parquet(folder / "rows.parquet")
    frame.to_excel(folder / "rows.xlsx", index=False)
    (folder / "study.toml").write_text("")
    (folder / "site.toml").write_text("")
    return folder


FITS = """
import fedsdr
import numpy as np
from fedsdr import FedPCA, FedSSIR, LassoSIR, SIR, SSIR, SSIRCV
rng = np.random.default_rng(0)
X = rng.normal(size=(200, 6))
y = X[:, 0] + 0.1 * rng.normal(size=200)
sites = np.repeat(["a", "b"], 100)
print(fedsdr.__version__)
assert FedSSIR().fit(X, y, sites=sites).support_.tolist() == [True] + [False] * 5
for model in (SIR(1), SSIR(), LassoSIR(), SSIRCV(1, penalties=3)):
    assert model.fit(X, y).transform(X).shape[0] == 200
assert FedPCA(2).fit(X, sites=sites).transform(X).shape == (200, 2)
"""


def test_estimators_fit() -> None:
    code, _, errors = python(FITS)
    assert (code, errors) == (0, "")


@pytest.mark.parametrize(
    "room", ["fedsdr.estimators", "fedsdr.cli", "fedsdr.datasets", "fedsdr.preparation"]
)
def test_rooms_are_imported(room) -> None:
    assert python(f"import {room}; from fedsdr import *") == (0, "", "")


def test_a_csv_file_is_fitted(folder) -> None:
    options = ("--target", "y", "--site-column", "hospital", "--json")
    code, out, errors = python(COMMAND, "fit", folder / "rows.csv", *options)
    assert (code, errors) == (0, "")
    assert '"feature_names"' in out


def test_help_and_version() -> None:
    code, out, errors = python(COMMAND, "--help")
    assert (code, errors) == (0, "")
    for command in ("demo", "fit", "keygen", "reproduce", "study", "site"):
        assert command in out
    assert python(COMMAND, "study", "check", "--help")[0] == 0
    assert python(COMMAND, "--version")[1].startswith("fedsdr ")


def test_the_demonstration_falls_back_to_one_process(tmp_path) -> None:
    code, out, errors = python(COMMAND, "demo", "--features", 30, cwd=tmp_path)
    assert code == 0
    assert "fedsdr[federation]" in errors
    assert "distance" in out


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (["fit", "rows.parquet", "--target", "y"], "arrow"),
        (["fit", "rows.xlsx", "--target", "y"], "excel"),
        (["study", "check", "study.toml"], "secure"),
        (["study", "init", "--out", "new.toml"], "secure"),
        (["study", "simulate", "study.toml", "site.toml"], "secure"),
        (["study", "provision", "study.toml"], "federation"),
        (["site", "init", "--name", "north", "--out", "new.toml"], "secure"),
        (["site", "check", "site.toml"], "secure"),
        (["site", "join", "site.toml", "kit"], "federation"),
        (["keygen", "--out", "new.key"], "secure"),
    ],
)
def test_commands_name_the_extra_that_they_need(arguments, extra, folder) -> None:
    code, out, errors = python(COMMAND, *arguments, cwd=folder)
    assert (code, out) == (2, "")
    assert errors.startswith("Error: ")
    assert f"needs the extra '{extra}': pip install 'fedsdr[{extra}]'" in errors
    assert len(errors.splitlines()) == 1
    assert sorted(path.name for path in folder.iterdir()) == [
        *("rows.csv", "rows.parquet", "rows.xlsx", "site.toml", "study.toml")
    ]


CALLS = {
    "FedSSIR(protocol='secure').fit(X, y, sites=sites)": "secure",
    "FedSVD().fit(X, sites=sites)": "secure",
    "PaperFedSSIR().fit(X, y, sites=sites)": "secure",
    "import_module('fedsdr.reporting')": "plots",
    "open_source({'kind': 'parquet', 'path': 'a.parquet'}, folder=Path())": "arrow",
    "open_source({'kind': 'sql', 'url': 'postgresql://u@h/d', 'table': 't'}, "
    "folder=Path())": "sql",
}


@pytest.mark.parametrize(("call", "extra"), CALLS.items())
def test_calls_name_the_extra_that_they_need(call, extra) -> None:
    program = f"""
import numpy as np
from importlib import import_module
from pathlib import Path
from fedsdr import FedSSIR, FedSVD, InputError, PaperFedSSIR
from fedsdr.data import open_source
X = np.random.default_rng(0).normal(size=(90, 3))
y, sites = X[:, 0], np.repeat(["a", "b", "c"], 30)
try:
    {call}
except InputError as error:
    print(error)
"""
    code, out, errors = python(program)
    assert (code, errors) == (0, "")
    assert f"needs the extra '{extra}': pip install 'fedsdr[{extra}]'" in out


def test_extras_are_those_of_the_project() -> None:
    """Every module is one that the extra installs, and none that the core has."""
    project = tomllib.loads(PYPROJECT.read_text())["project"]
    declared = project["optional-dependencies"]

    def packages(extra: str) -> set[str]:
        found = set()
        for one in declared[extra]:
            name, inner = re.fullmatch(r"([\w-]+)(?:\[(.*)\])?.*", one).groups()
            for another in (inner or "").split(","):
                found |= packages(another) if another else {name.replace("-", "_")}
        return found

    for extra, modules in EXTRAS.items():
        assert set(modules) <= packages(extra)
    assert set(EXTRAS) <= set(declared)
    core = {re.match(r"[\w-]+", one)[0] for one in project["dependencies"]}
    assert not core & set(REFUSED)


def test_what_is_installed_is_not_complained_about() -> None:
    require("arrow", "this test")


def test_tests_of_a_distribution_need_no_clone() -> None:
    """`make dist` runs them where there is neither `benchmarks` nor `reproduction`."""
    paths = [ROOT / name for name in TESTS]
    files = [
        one for path in paths for one in ([path], path.rglob("*.py"))[path.is_dir()]
    ]
    assert len(files) > len(TESTS)
    outside = re.compile(
        r"^(from|import) (benchmarks|reproduction|tools)\b", re.MULTILINE
    )
    assert [file for file in files if outside.search(file.read_text("utf-8"))] == []
