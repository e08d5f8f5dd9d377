"""Differencing by rows that were added, and by a site that joins."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.attacks.test_same_data_attacks import moments
from tests.study.consortia import NAMES, Files, simulate_rows

from fedsdr.disclosure import differencing
from fedsdr.protocols import IncompleteError
from fedsdr.study import read_site

VICTIM = "west"
OTHERS = tuple(name for name in NAMES if name != VICTIM)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path / "files", simulate_rows(), model={"refit": "pooled"})


def own_rows(files: Files) -> pd.DataFrame:
    return files.rows[files.rows["site"] == VICTIM].drop(columns="site")


def add_patients(files: Files, count: int = 1) -> pd.DataFrame:
    """Add patients at the end of the victim's file, and write a second study."""
    rng = np.random.default_rng(3)
    old = own_rows(files)
    new = pd.DataFrame(rng.normal(size=(count, old.shape[1])), columns=old.columns)
    new["y"] = np.exp(new["y"])
    together = pd.concat([old, new], ignore_index=True)
    files.write_rows(VICTIM, read_site(files.site_file(VICTIM)).data["kind"], together)
    files.write_study(name="second")
    return new


def difference(files: Files) -> tuple[np.ndarray, pd.DataFrame]:
    """Subtract the sum before a patient came from the one afterwards."""
    before = moments(files)
    new = add_patients(files)
    return moments(files).scatter - before.scatter, new


def test_without_the_rule_a_new_patient_is_shown(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(differencing, "risky_increment", lambda *_: None)
    shown, new = difference(files)
    # One row adds n / (n + 1) times the product of its distance from the mean.
    old = own_rows(files)[[f"x{j}" for j in range(6)]]
    n_old = len(old)
    size, axes = np.linalg.eigh(shown)
    assert size[-2] < 1e-6 * size[-1]
    found = axes[:, -1] * np.sqrt(size[-1] * (n_old + 1) / n_old)
    patient = (new[old.columns].iloc[0] - old.mean()).to_numpy()
    found *= np.sign(found @ patient)
    np.testing.assert_allclose(found, patient, rtol=1e-4, atol=1e-4)


def test_with_the_rule_nothing_is_shown(files: Files) -> None:
    with pytest.raises(IncompleteError):
        difference(files)
    log = (files.root / VICTIM / "site.log").read_text()
    assert "INCREMENTS: since moments was released" in log
    second = [one for one in files.ledger(VICTIM).entries() if one.stage == "offered"]
    assert len(second) == 1


def test_enough_new_patients_are_shown_together_only(files: Files) -> None:
    before = moments(files)
    new = add_patients(files, 60)
    shown = moments(files).scatter - before.scatter
    assert np.linalg.matrix_rank(shown, tol=1.0) == 6
    assert len(new) == 60


def test_no_row_comes_between_two_sums_of_a_study(files: Files) -> None:
    moments(files)
    add_patients(files, 60)
    files.write_study(name="example")
    with pytest.raises(IncompleteError):
        moments(files)
    assert "CHANGED" in (files.root / VICTIM / "site.log").read_text()


# --- a site that joins ----------------------------------------------------------------


def join(files: Files, *joining: str) -> np.ndarray:
    """Add over all sites but one, then over all; return the difference."""
    roster = dict(files.study["sites"]["roster"])
    files.write_study(sites={"roster": {name: roster[name] for name in OTHERS}})
    before = moments(files, OTHERS)
    files.write_study(name="second", sites={"roster": roster, "joining": list(joining)})
    return moments(files).scatter - before.scatter


def test_a_site_that_allows_it_is_shown_alone(files: Files) -> None:
    """That is what its steward has to know, and agrees to."""
    table = read_site(files.site_file(VICTIM)).data
    files.write_site(VICTIM, data=table, policy={"seen_alone": True})
    shown = join(files, VICTIM)
    own = own_rows(files)[[f"x{j}" for j in range(6)]]
    np.testing.assert_allclose(shown, (len(own) - 1) * own.cov(), rtol=1e-6)


def test_a_site_that_does_not_allow_it_is_not_shown(files: Files) -> None:
    # The sum is that of the others once more.
    np.testing.assert_allclose(join(files, VICTIM), np.zeros((6, 6)), atol=1e-9)
    assert "JOINING" in (files.root / VICTIM / "site.log").read_text()


def test_others_do_not_show_a_site_that_nobody_has_named(files: Files) -> None:
    with pytest.raises(IncompleteError):
        join(files)
    for name in OTHERS:
        assert "SITES" in (files.root / name / "site.log").read_text()
