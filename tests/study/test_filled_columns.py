"""Rules judge columns with gaps as the sums see them: with the means of all sites."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.study.consortia import FILLED, Files, simulate_rows

from fedsdr.disclosure import Policy
from fedsdr.exceptions import Refusal
from fedsdr.study.dry_run import dry_run


def sparse_column(values: tuple[float, ...], elsewhere: float) -> pd.DataFrame:
    """Write rows of which west has only a few values in x1, and gaps otherwise."""
    rows = simulate_rows(n_rows=60)
    west = rows["site"] == "west"
    rows["x1"] += elsewhere
    rows.loc[west, "x1"] = np.nan
    rows.loc[rows.index[west][: len(values)], "x1"] = values
    return rows


@pytest.fixture(name="files")
def four_sites(tmp_path: Path) -> Files:
    """Write a study of which one row decides a column once its gaps are filled."""
    columns = {f"x{j}": {"type": "number"} for j in range(6)} | {"x1": FILLED}
    return Files(
        tmp_path / "consortium",
        sparse_column((0.0, 500.0, 1000.0), 1000.0),
        columns=columns,
        model={"refit": "pooled"},
    )


def test_a_row_that_stands_out_beside_the_pooled_mean_is_seen(files: Files) -> None:
    """Beside the own mean of 500, no row has more than half of the scatter."""
    own = np.array([0.0, 500.0, 1000.0])
    shares = [
        ((own - fill) ** 2).max() / ((own - fill) ** 2).sum() for fill in (500.0, 1e3)
    ]
    limit = Policy().max_row_share
    assert limit is not None
    assert shares[0] <= limit < shares[1]
    assert dry_run(files.site_file("west")).ready
    with pytest.raises(Refusal, match=r"DOMINANCE: one row.*50%.*x1") as caught:
        files.run(files.connect(on_error="raise"))
    assert caught.value.code == "DISCLOSURE"
    sums = {(one.stage, one.statistic) for one in files.ledger("west").entries()}
    assert ("offered", "means") in sums
    # Nobody can look how other means would be judged: this one is in the ledger.
    assert ("opened", "means") in sums
    assert not any(statistic == "moments" for _, statistic in sums)


def test_values_that_suit_the_pooled_mean_pass(tmp_path: Path) -> None:
    columns = {f"x{j}": {"type": "number"} for j in range(6)} | {"x1": FILLED}
    rows = sparse_column((990.0, 1010.0, 991.0, 1009.0), 1000.0)
    files = Files(tmp_path / "other", rows, columns=columns, model={"refit": "pooled"})
    assert files.run().n_sites == 4
