"""A site with a Dask cluster: the sums of its partitions are those of all rows."""

from collections.abc import Iterator

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster

from fedsdr import FedSSIR
from fedsdr.exceptions import InputError
from fedsdr.rows.dask_rows import DaskReader
from fedsdr.summaries.column_spread import ColumnSpread

ROWS, COLUMNS = 600, 12
NAMES = [f"x{j}" for j in range(COLUMNS)]


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, COLUMNS)) + 5.0
    y = X[:, :2].sum(axis=1) + 0.3 * rng.normal(size=ROWS)
    sites = np.array(["north", "south"])[np.arange(ROWS) % 2]
    sites[:150] = "north"
    return pd.DataFrame(X, columns=NAMES).assign(y=y, site=sites)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Client]:
    settings = {"n_workers": 2, "threads_per_worker": 1, "processes": True}
    with (
        LocalCluster(dashboard_address="127.0.0.1:0", **settings) as nodes,
        Client(nodes) as client,
    ):
        yield client


def assert_same(found: FedSSIR, wanted: FedSSIR) -> None:
    np.testing.assert_array_equal(found.support_, wanted.support_)
    np.testing.assert_allclose(found.directions_, wanted.directions_, atol=1e-10)
    np.testing.assert_allclose(found.eigenvalues_, wanted.eigenvalues_, atol=1e-10)
    assert found.penalty_ == pytest.approx(wanted.penalty_, abs=1e-10)


@pytest.mark.parametrize("sites", [None, "site"])
def test_a_fit_on_a_cluster_is_that_in_memory(
    sites: str | None, frame: pd.DataFrame, cluster: Client
) -> None:
    # The first partition has rows of one site only.
    rows = dd.from_pandas(frame, npartitions=5)
    mine, all_rows = (None, None) if sites is None else (rows[sites], frame[sites])
    found = FedSSIR().fit(rows[NAMES], rows["y"], sites=mine)
    wanted = FedSSIR().fit(frame[NAMES], frame["y"], sites=all_rows)
    assert_same(found, wanted)
    assert list(found.feature_names_in_) == NAMES


@pytest.mark.parametrize(
    "settings",
    [
        {"penalty": "holdout"},
        {"kernel": "slices"},
        {"scores": "normal"},
        {"dense_limit": 5},
        {"select": "tested"},
    ],
    ids=lambda own: next(iter(own)),
)
def test_other_methods_agree_too(settings: dict, frame: pd.DataFrame) -> None:
    rows = dd.from_pandas(frame, npartitions=3)
    with dask.config.set(scheduler="synchronous"):
        found = FedSSIR(**settings, random_state=1).fit(rows[NAMES], rows["y"])
    wanted = FedSSIR(**settings, random_state=1).fit(frame[NAMES], frame["y"])
    assert_same(found, wanted)


def test_arrays_in_blocks_of_columns_are_fitted(frame: pd.DataFrame) -> None:
    X = da.from_array(frame[NAMES].to_numpy(), chunks=(200, 5))
    y = da.from_array(frame["y"].to_numpy(), chunks=200)
    with dask.config.set(scheduler="synchronous"):
        found = FedSSIR().fit(X, y)
    assert_same(found, FedSSIR().fit(frame[NAMES].to_numpy(), frame["y"].to_numpy()))


def test_default_sums_bring_no_rows_here(
    frame: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise AssertionError("rows of a partition were brought here")

    monkeypatch.setattr(DaskReader, "__call__", refused)
    rows = dd.from_pandas(frame, npartitions=3)
    with dask.config.set(scheduler="synchronous"):
        found = FedSSIR().fit(rows[NAMES], rows["y"])
    assert found.support_.sum() == 2


def test_gaps_and_other_partitions_are_refused(frame: pd.DataFrame) -> None:
    rows = dd.from_pandas(frame, npartitions=3)
    broken = dd.from_pandas(frame.assign(x0=[np.nan, *frame["x0"][1:]]), npartitions=3)
    with dask.config.set(scheduler="synchronous"):
        with pytest.raises(InputError, match="missing or not finite"):
            FedSSIR().fit(broken[NAMES], broken["y"])
        with pytest.raises(InputError, match="the same partitions"):
            FedSSIR().fit(rows[NAMES], rows["y"].repartition(npartitions=1))
        with pytest.raises(InputError, match="where X is one"):
            FedSSIR().fit(rows[NAMES], frame["y"])


def test_spreads_of_parts_add_up() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 4)) * [1.0, 1e-200, 1e200, 0.0] + [3.0, 0.0, 0.0, 7.0]
    X[::7, 0] = np.nan
    whole, parts = ColumnSpread(4), ColumnSpread(4)
    whole.add(X)
    for start in range(0, 300, 90):
        own = ColumnSpread(4)
        own.add(X[start : start + 90])
        parts.merge(own)
    np.testing.assert_array_equal(parts.tops, whole.tops)
    np.testing.assert_array_equal(parts.powers, whole.powers)
    np.testing.assert_array_equal(parts.varies, whole.varies)


@pytest.mark.parametrize("mark", ["groups", "sample_weight"])
def test_marks_of_rows_need_rows_in_memory(mark: str, frame: pd.DataFrame) -> None:
    rows = dd.from_pandas(frame, npartitions=2)
    with pytest.raises(InputError, match=f"cannot have {mark}"):
        FedSSIR().fit(rows[NAMES], rows["y"], **{mark: np.ones(ROWS)})
