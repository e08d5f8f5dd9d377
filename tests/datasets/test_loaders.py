"""Loaders of public data sets: from a folder, from OpenML, and refusals."""

from types import SimpleNamespace
from urllib.error import URLError

import pandas as pd
import pytest
import sklearn.datasets

from fedsdr.datasets import (
    load_communities,
    load_credit_default,
    load_heart_disease,
    load_wine_quality,
)
from fedsdr.datasets.credit import COLUMNS
from fedsdr.exceptions import InputError

LOADERS = (
    load_communities,
    load_credit_default,
    load_heart_disease,
    load_wine_quality,
)


@pytest.fixture
def no_folder(monkeypatch):
    """Unset the variable that names the folder of data sets."""
    monkeypatch.delenv("FEDSDR_DATA", raising=False)


@pytest.fixture
def openml(monkeypatch):
    """Replace OpenML by tables of the tests."""
    tables = {}

    def fetch(data_id, **options):
        assert options == {"as_frame": True, "parser": "auto"}
        return SimpleNamespace(frame=tables[data_id])

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    return tables


@pytest.mark.usefixtures("data_folder")
def test_shapes_and_sites():
    credit, wine = load_credit_default(), load_wine_quality()
    assert credit.X.shape == (30_000, 23)
    assert credit.y.sum() == 6_636
    assert credit.sites is None
    assert credit.X["LIMIT_BAL"].mean() == pytest.approx(167_484.323, abs=0.001)
    assert wine.sites.value_counts().to_dict() == {"red": 1_599, "white": 4_898}
    assert wine.y[wine.sites == "white"].value_counts()[9] == 5


@pytest.mark.usefixtures("data_folder")
def test_communities_are_those_of_the_paper():
    data = load_communities()
    assert data.X.shape == (1_066, 100)
    assert data.sites.nunique() == 7
    assert data.sites.value_counts().min() == 90
    assert load_communities(min_rows=200).sites.nunique() == 2
    with pytest.raises(InputError, match="no state has 300 communities"):
        load_communities(min_rows=300)


@pytest.mark.usefixtures("data_folder")
def test_hospitals_keep_their_gaps():
    data = load_heart_disease()
    assert data.sites.value_counts()["switzerland"] == 123
    assert data.X.isna().sum().sum() == 6 + 782 + 273 + 698
    assert data.y.groupby(data.sites).sum()["cleveland"] == 139


def test_a_copy_from_openml_gives_the_same(data_folder, monkeypatch, openml):
    known, wine = load_credit_default(), load_wine_quality()
    states = load_communities()
    names = [f"x{number}" for number in range(1, 24)]
    table = known.X.set_axis(names, axis="columns")
    openml[42477] = table.assign(y=known.y.astype(str).astype("category"))
    red = (wine.sites == "red").to_numpy()
    openml[40691] = wine.X[red].assign(Class=wine.y[red].astype("category"))
    generic = [f"V{number}" for number in range(1, 12)]
    white = wine.X[~red].set_axis(generic, axis="columns")
    openml[40498] = white.assign(Class=(wine.y[~red] - 2).astype(int).astype(str))
    openml[315] = _communities_table(data_folder)
    monkeypatch.delenv("FEDSDR_DATA")

    pd.testing.assert_frame_equal(load_credit_default().X, known.X)
    pd.testing.assert_series_equal(load_credit_default().y, known.y)
    fetched = load_wine_quality()
    pd.testing.assert_frame_equal(fetched.X, wine.X)
    pd.testing.assert_series_equal(fetched.y, wine.y)
    pd.testing.assert_frame_equal(load_communities().X, states.X)


@pytest.mark.usefixtures("no_folder")
def test_changed_copies_are_refused(openml):
    rows = pd.DataFrame(0.0, index=range(30_000), columns=list(COLUMNS))
    openml[42477] = rows.assign(y=0)
    with pytest.raises(InputError, match="not the published one: its predictors have"):
        load_credit_default()
    openml[42477] = rows.head(10).assign(y=0)
    with pytest.raises(InputError, match=r"its shape is \(10, 23\), not \(30000, 23\)"):
        load_credit_default()
    openml[315] = rows.head(10)
    with pytest.raises(InputError, match="no column ViolentCrimesPerPop, state"):
        load_communities()


@pytest.mark.usefixtures("no_folder")
@pytest.mark.parametrize(
    "load", [load for load in LOADERS if "heart" not in repr(load)]
)
def test_offline_the_error_names_the_remedy(load, monkeypatch):
    def fail(**_):
        raise URLError("no route")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fail)
    with pytest.raises(InputError, match="try again when online, or download it from"):
        load()


@pytest.mark.usefixtures("no_folder")
def test_what_is_not_at_openml_says_so():
    with pytest.raises(InputError, match="cannot be fetched: download it from https"):
        load_heart_disease()


@pytest.mark.parametrize("load", LOADERS)
def test_a_folder_without_the_file_is_named(load, monkeypatch, tmp_path):
    monkeypatch.setenv("FEDSDR_DATA", str(tmp_path))
    with pytest.raises(InputError, match=r"FEDSDR_DATA is set, but .* has no file"):
        load()


def _communities_table(folder):
    names = (folder / "communities_crime/communities.names").read_text("latin-1")
    lines = [line.split() for line in names.splitlines()]
    columns = [words[1] for words in lines if words[:1] == ["@attribute"]]
    file = folder / "communities_crime/communities.data"
    return pd.read_csv(file, names=columns, na_values="?")
