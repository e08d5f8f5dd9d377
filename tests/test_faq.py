"""Errors on the page of questions are those that the package gives."""

import re
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.page_blocks import ROOT
from typer.testing import CliRunner

from fedsdr import FedSSIR, InputError
from fedsdr.cli import app
from fedsdr.datasets import load_heart_disease
from fedsdr.extras import require
from fedsdr.simulate import make_setting

PAGE = (ROOT / "docs" / "faq.md").read_text(encoding="utf-8")
SENTENCES = re.findall(r"^### (.*)$", PAGE, re.MULTILINE)

DATA = make_setting(1, n_sites=4, n_features=8, random_state=0)
X = pd.DataFrame(DATA.X, columns=[f"lab{j}" for j in range(1, 9)])
Y, SITES = DATA.y, DATA.sites


@pytest.fixture(name="files")
def write_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.standard_normal((200, 3)), columns=["a", "b", "c"])
    rows["y"], rows["ward"] = rng.standard_normal(200), rng.choice(["n", "s"], 200)
    rows.to_csv("good.csv", index=False)
    rows.to_csv("bare.csv", index=False, header=False)
    rows.drop(columns="a").to_csv("other.csv", index=False)
    gaps = rows["a"].mask(rows.index < 10)
    rows.assign(a=gaps).to_csv("gaps.csv", index=False)
    rows.assign(a=gaps.astype(object).fillna("pending")).to_csv(
        "words.csv", index=False
    )


COMMANDS = [
    "fit good.csv",
    "fit good.csv --target risk",
    "fit good.csv --target y --site-column wrd",
    "fit bare.csv --target y",
    "fit words.csv --target y",
    "fit gaps.csv --target y --missing refuse",
    "fit good.csv other.csv --target y",
    "schema good.csv --target y --out good.csv",
    "fit good.csv --target ward>>1",
]


def fit(X=X, y=Y, sites=SITES, **options) -> FedSSIR:
    return FedSSIR(**options).fit(X, y, sites=sites)


CALLS: list[Callable[[], object]] = [
    lambda: fit(X=X.mask(X > 1)),
    lambda: fit(X=X.assign(sex="m")),
    lambda: fit(n_directions=9),
    lambda: fit(penalty=5.0),
    lambda: fit(n_directions="atuo"),
    lambda: fit(sites=SITES[:5]),
    lambda: fit(X=0 * X),
    lambda: fit(y=np.ones(len(Y)), sites=None),
    lambda: fit(sites=SITES % 2, protocol="secure"),
    lambda: fit().result_.transform(X.drop(columns="lab1")),
    lambda: fit().result_.transform(DATA.X[:, :3]),
    load_heart_disease,
    lambda: fit(max_directions=3),
]


def said_by_commands() -> list[str]:
    runner = CliRunner(env={"COLUMNS": "400"})
    results = [runner.invoke(app, command.split()) for command in COMMANDS]
    assert {result.exit_code for result in results} == {2}
    return [result.output for result in results]


def said_by_calls() -> list[str]:
    said = []
    for call in CALLS:
        with warnings.catch_warnings():
            warnings.simplefilter("error", FutureWarning)
            with pytest.raises((ValueError, FutureWarning)) as caught:
                call()
        said.append(str(caught.value))
    return said


def said_without_an_extra(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(InputError) as caught:
        require("secure", "FedSVD")
    return str(caught.value)


def test_every_sentence_is_said(files, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FEDSDR_DATA", raising=False)
    said = [*said_by_commands(), *said_by_calls(), said_without_an_extra(monkeypatch)]
    said = [" ".join(text.split()) for text in said]
    for sentence in SENTENCES:
        parts = [re.escape(part) for part in sentence.split("…")]
        pattern = re.compile(".*?".join(parts))
        assert any(pattern.search(text) for text in said), sentence
    # And none is provoked here that the page does not explain.
    assert len(SENTENCES) == len(said)
