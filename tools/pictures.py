"""Draw the pictures of ``docs/pictures.md``: ``python -m tools.pictures``.

The page of the report is photographed where Chromium is installed.
"""

import shutil
import subprocess
import sys
import tempfile
import warnings
from dataclasses import replace
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import numpy as np
import pandas as pd
from matplotlib import pyplot
from matplotlib.figure import Figure

from fedsdr import FedSSIR, reporting
from fedsdr.reporting.cells import DPI
from fedsdr.result import Result
from fedsdr.simulate import make_setting
from fedsdr.summaries.safe_bins import bin_rows

FOLDER = Path(__file__).parents[1] / "docs" / "images"
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
    "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--hide-scrollbars",
)  # fmt: skip


def draw_all() -> Result:
    """Draw every display, of simulated rows at ten sites."""
    data = make_setting(3, n_features=20, random_state=0)
    X = pd.DataFrame(data.X, columns=[f"lab {j + 1}" for j in range(20)])
    y, sites = pd.Series(data.y, name="response"), data.sites
    classes = pd.Series(np.where(y > y.median(), "high", "low"), name="response")
    model = FedSSIR().fit(X, y, sites=sites)
    binary = FedSSIR().fit(X, classes, sites=sites)
    shares = _selected_again(X, y, sites)
    shown = {
        "loadings": reporting.LoadingsDisplay.from_estimator(model),
        "summary": reporting.SummaryDisplay.from_estimator(model, X, y, sites=sites),
        "classes": reporting.SummaryDisplay.from_estimator(
            binary, X, classes, sites=sites
        ),
        "binned": reporting.BinnedSummaryDisplay.from_estimator(
            model, X, y, sites=sites
        ),
        "dimension": reporting.DimensionDisplay.from_estimator(model),
        "path": reporting.SelectionPathDisplay.from_estimator(model, X, y, sites=sites),
        "stability": reporting.StabilityDisplay.from_estimator(model, shares),
        "sites": reporting.SitesDisplay.from_estimator(model, X, y, sites),
        "assumptions": reporting.AssumptionsDisplay.from_estimator(
            model, X, sites=sites
        ),
    }
    for name, display in shown.items():
        _save(display.figure_, name)
    bins = bin_rows(model.result_.place(X), y, sites, classes=False)
    settings = {**model.result_.settings, "curves": [one.table() for one in bins]}
    return replace(model.result_, settings=settings)


def photograph(result: Result, chromium: str) -> None:
    """Show a report at the width of a desk and of a phone."""
    with tempfile.TemporaryDirectory() as name:
        page = Path(name) / "report.html"
        reporting.write_report(result, page, "A report")
        for width, height, kind in ((1000, 1150, "desk"), (500, 1150, "phone")):
            picture = FOLDER / f"report-{kind}.png"
            size = f"--window-size={width},{height}"
            subprocess.run(
                [chromium, *FLAGS, f"--user-data-dir={name}/{kind}", size,
                 f"--screenshot={picture}", page.as_uri()],
                check=True, capture_output=True, timeout=120,
            )  # fmt: skip


def _selected_again(X: pd.DataFrame, y: pd.Series, sites: np.ndarray) -> np.ndarray:
    """Count how often each variable is selected on halves of the rows."""
    generator = np.random.default_rng(0)
    counts = np.zeros(X.shape[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for _ in range(20):
            half = generator.permutation(len(X))[: len(X) // 2]
            counts += FedSSIR().fit(X.iloc[half], y.iloc[half], sites[half]).support_
    return counts / 20


def _save(figure: Figure, name: str) -> None:
    figure.savefig(FOLDER / f"{name}.png", dpi=0.7 * DPI, metadata={"Software": None})
    pyplot.close(figure)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    found = draw_all()
    browser = shutil.which("chromium")
    if browser is None:
        sys.exit("The report was not photographed: Chromium is not installed.")
    photograph(found, browser)
