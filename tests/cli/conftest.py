"""Running commands in this process, and a file with a site column."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner
from typer.testing import Result as Outcome

from fedsdr.cli import app


@pytest.fixture(name="run")
def run_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Outcome]:
    """Run a command in an empty folder; unexpected exceptions are raised."""
    monkeypatch.chdir(tmp_path)
    # Typer would colour its own errors on some services.
    for variable in ("GITHUB_ACTIONS", "FORCE_COLOR", "PY_COLORS"):
        monkeypatch.delenv(variable, raising=False)

    def run(*words: object) -> Outcome:
        arguments = [str(word) for word in words]
        return CliRunner().invoke(app, arguments, catch_exceptions=False)

    return run


@pytest.fixture(name="hospitals")
def hospital_rows(rng: np.random.Generator) -> pd.DataFrame:
    """Four hospitals, eight variables of which two carry the response."""
    n_rows = 400
    X = rng.normal(size=(n_rows, 8))
    frame = pd.DataFrame(X, columns=[f"lab{j}" for j in range(1, 9)])
    shift = np.repeat([0.0, 5.0, -3.0, 2.0], n_rows // 4)
    frame = frame.add(shift, axis=0)
    signal = X[:, 0] + X[:, 2] + 0.2 * rng.normal(size=n_rows)
    frame.insert(0, "hospital", np.repeat(["north", "south", "east", "west"], 100))
    frame["y"] = np.exp(signal / 2)
    return frame


@pytest.fixture(name="csv")
def hospital_file(hospitals: pd.DataFrame, tmp_path: Path) -> Path:
    """Write the rows of `hospitals` as CSV."""
    path = tmp_path / "patients.csv"
    hospitals.to_csv(path, index=False)
    return path
