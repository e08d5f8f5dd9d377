"""A study with pictures: bins under masks, without a small cell of any site."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.study.consortia import NAMES, Files, simulate_rows

from fedsdr.exceptions import InputError
from fedsdr.protocols import IncompleteError
from fedsdr.protocols.wire import decode
from fedsdr.study import conduct, read_study
from fedsdr.study.outlook import leaves_site, seen_by_coordinator, statistics
from fedsdr.summaries.picture_sums import CUTS, N_PICTURE_BINS
from fedsdr.summaries.safe_bins import FEWEST_ROWS, SafeBins

#: Rows of the first site. With 260, one draw in 60 leaves some bin of a site with fewer
#: than ten.
N_ROWS = 600
#: One sum beside the pictures.
POOLED = {"refit": "pooled"}


def pictured(folder: Path, rows: Any = None, **changes: Any) -> Files:
    rows = simulate_rows(n_rows=N_ROWS) if rows is None else rows
    return Files(folder, rows, **{"pictures": True, "model": POOLED, **changes})


@pytest.fixture(name="files", scope="module")
def finished_study(tmp_path_factory: pytest.TempPathFactory) -> Files:
    files = pictured(tmp_path_factory.mktemp("pictures") / "study")
    files.result = files.run()  # type: ignore[attr-defined]
    return files


def opened_sum(files: Files) -> np.ndarray:
    """Read the sum as the coordinator has opened it."""
    (file,) = (files.coordinator / "run").glob("pictures-*.round")
    values = np.array(decode(file.read_bytes())["values"])
    return values.reshape(-1, N_PICTURE_BINS, 2)


def test_the_result_has_pictures(files: Files) -> None:
    result = files.result  # type: ignore[attr-defined]
    (bins,) = map(SafeBins.from_table, result.settings["curves"])
    assert bins.minimum == FEWEST_ROWS
    assert bins.shown.all()
    assert bins.means is not None
    # The response rises with the only direction, or falls with it.
    assert (np.diff(bins.means) > 0.0).all() or (np.diff(bins.means) < 0.0).all()
    # Half of the rows are in no picture.
    assert np.nansum(bins.counts) == sum((N_ROWS + 5 * i + 1) // 2 for i in range(4))


def test_no_small_cell_is_in_the_opened_sum(tmp_path: Path) -> None:
    """Sites of 60 rows have 30 in a picture: some of their bins must stay there."""
    files = pictured(tmp_path / "study", simulate_rows(n_rows=60))
    result = files.run()
    counts = opened_sum(files)[:, :, 0]
    assert ((counts == 0.0) | (counts >= FEWEST_ROWS)).all()
    assert counts.sum() < sum((60 + 5 * i + 1) // 2 for i in range(4))
    (bins,) = map(SafeBins.from_table, result.settings["curves"])
    assert not bins.shown.all()


def test_cells_are_where_the_rows_are(files: Files) -> None:
    """Shares of rows in bins are those of all rows, up to who was dealt."""
    result = files.result  # type: ignore[attr-defined]
    (bins,) = map(SafeBins.from_table, result.settings["curves"])
    rows = files.rows
    X = rows[list(result.feature_names)]
    places = result.place(X)[:, 0]
    own = {name: places[rows["site"] == name].mean() for name in NAMES}
    means = rows["site"].map(own).to_numpy()
    inside = np.searchsorted(bins.edges[1:-1], places - means, side="right")
    share = np.bincount(inside, minlength=N_PICTURE_BINS) / len(rows)
    shown = bins.counts[:, 0] / bins.counts.sum()
    np.testing.assert_allclose(shown, share, atol=0.06)
    # Bins were cut at agreed places of an axis of variance 1.
    spread = bins.edges[1] / CUTS[0]
    np.testing.assert_allclose(bins.edges[1:-1], spread * CUTS, atol=1e-12)
    deviations = places - means
    assert np.sqrt((deviations**2).mean()) == pytest.approx(spread, rel=0.02)


def test_an_interrupted_study_asks_for_nothing_twice(files: Files) -> None:
    before = files.result.settings["curves"]  # type: ignore[attr-defined]
    (files.coordinator / "run" / "result.json").unlink()
    assert files.run().settings["curves"] == before
    released = [e.statistic for e in files.ledger("north").entries()]
    assert released.count("pictures") == 2


def test_the_report_shows_them(files: Files) -> None:
    pytest.importorskip("matplotlib")
    from fedsdr.reporting import make_report

    page = make_report(files.result)  # type: ignore[attr-defined]
    assert "How the response follows" in page
    assert "A row is in one picture at most" in page
    assert "mean of y less its site" in page


def test_what_a_study_with_pictures_shows(files: Files) -> None:
    study = read_study(files.study_file)
    assert statistics(study)["pictures"] == 2 * N_PICTURE_BINS * 2
    assert "pictures" in {one.statistic for one in leaves_site(study)}
    said = " ".join(seen_by_coordinator(study))
    assert "fewer than 10 rows in a cell, nothing of that site" in said


def test_classes_have_shares(tmp_path: Path, rng: np.random.Generator) -> None:
    rows = simulate_rows(n_rows=700)
    # Where a class is rare in a bin, the bin is hidden.
    drawn = 2 * np.log(rows["y"]) + 2.0 * rng.normal(size=len(rows))
    rows["y"] = np.where(drawn > 0.0, "ill", "well")
    target = {"name": "y", "type": "category", "levels": ["well", "ill"]}
    files = pictured(tmp_path / "study", rows, target=target)
    (bins,) = map(SafeBins.from_table, files.run().settings["curves"])
    assert bins.labels == ("well", "ill")
    assert bins.shown.sum() >= 3
    cells = bins.counts[bins.shown]
    assert (cells >= FEWEST_ROWS).all()
    shares = cells[:, 1] / cells.sum(axis=1)
    assert abs(shares[-1] - shares[0]) > 0.3


def test_numbers_as_classes_need_levels(tmp_path: Path) -> None:
    model = {**POOLED, "response": "classes"}
    with pytest.raises(InputError, match="declare the target as a category"):
        pictured(tmp_path / "study", simulate_rows(n_rows=60), model=model)


def test_a_study_without_pictures_keeps_its_digest(tmp_path: Path) -> None:
    files = Files(tmp_path / "study", simulate_rows(n_rows=60))
    digest = read_study(files.study_file).digest
    files.write_study(pictures=False)
    assert read_study(files.study_file).digest == digest
    files.write_study(pictures=True)
    assert read_study(files.study_file).digest != digest


def test_pictures_of_one_response_are_given_once(tmp_path: Path) -> None:
    """Bins of two studies have rows in common, and their differences few."""
    files = pictured(tmp_path / "study", simulate_rows(n_rows=60))
    files.run()
    first = files.study["columns"]
    fewer = {name: first[name] for name in list(first)[:-1]}
    files.write_study(purpose="another look", columns=fewer)
    again = files.coordinator / "again"
    with pytest.raises(IncompleteError):
        conduct(files.study_file, files.connect(), again)
    for name in NAMES:
        assert "PICTURES: " in (files.root / name / "site.log").read_text()
        # Nothing was asked of this study: sites refuse before they agree.
        studies = {entry.study for entry in files.ledger(name).entries()}
        assert len(studies) == 1

        kind = "parquet" if (files.root / name / "rows.parquet").exists() else "csv"
        table = {"kind": kind, "path": f"rows.{kind}"}
        files.write_site(name, data=table, policy={"max_pictures": 2})
    result = conduct(files.study_file, files.connect(), again)
    assert result.settings["curves"]


def test_a_site_may_ask_for_larger_cells(tmp_path: Path) -> None:
    files = pictured(tmp_path / "study", simulate_rows(n_rows=60))
    data = {"kind": "csv", "path": "rows.csv"}
    files.write_site("north", data=data, policy={"min_slice_rows": 12})
    with pytest.raises(IncompleteError):
        files.run()
    log = (files.root / "north" / "site.log").read_text()
    assert "PICTURES: pictures would have cells of 10 rows" in log
