"""Figure 7: Dist against the number of sites, the rows of all of them fixed."""

from functools import partial
from pathlib import Path

import pandas as pd

from reproduction import compare, markdown
from reproduction.checks import ENOUGH_RUNS
from reproduction.experiment import Check, Experiment, Verdict
from reproduction.fits import MEASURES, run_simulation
from reproduction.methods import LABELS
from reproduction.simulations import SETTINGS

#: The paper does not say which m; at 100 sites the smallest have some twenty rows.
N_SITES = (5, 10, 20, 50, 100)
CONDITIONS = {
    f"m={m}": {
        "n_sites": m,
        "total": 10_000,
        "n_features": 100,
        "concentration": 5.0,
    }
    for m in N_SITES
}
RUNS = {"default": 200, "paper-rate": 200, "oracle-smooth": 200, "oracle-slices": 200}

#: What we call a slight growth; the paper gives no number.
STABLE = 1.5
PAPER = """\
The paper shows this figure without numbers, and does not say at which m, nor how K and
rho were chosen. It says that the error grows slightly when sites are many. Sizes here
are Dirichlet(5), as in its other figures; the paper's way has K known and
rho = 0.5 sqrt(log d / N), our default chooses both."""


def growth(results: pd.DataFrame) -> pd.DataFrame:
    """Compare mean distances with those at the fewest sites.

    Parameters
    ----------
    results : pandas.DataFrame
        One row per task.

    Returns
    -------
    pandas.DataFrame
        Columns setting, method, the mean in one column per number of sites, growth (the
        largest mean over the one at the fewest sites) and n_runs.
    """
    means = compare.mean_cells(results, ["Dist"])
    place = ["setting", "method"]
    wide = means.pivot(index=place, columns="condition", values="ours")
    wide = wide.reindex(columns=list(CONDITIONS))
    wide["growth"] = wide.max(axis=1) / wide[f"m={N_SITES[0]}"]
    wide["n_runs"] = means.groupby(place).n_runs.min()
    return wide.reset_index()


def judge(results: pd.DataFrame) -> Verdict:
    """Judge how Dist grows with the number of sites.

    Parameters
    ----------
    results : pandas.DataFrame
        One row per task.

    Returns
    -------
    Verdict
        Means at every number of sites.
    """
    wide = growth(results)
    shown = wide.assign(method=wide.method.map(LABELS))
    forms = {"setting": "", "method": "", **dict.fromkeys(CONDITIONS, ".4f")}
    body = markdown.sections(
        "## Mean Dist",
        PAPER,
        markdown.table(shown, {**forms, "growth": ".2f", "n_runs": "d"}),
        f"*growth*: the largest mean over the one at m = {N_SITES[0]}.",
    )
    checks = tuple(
        _check(wide[wide.method == method], LABELS[method])
        for method in ("default", "paper-rate")
    )
    tested = wide[wide.method.isin(("default", "paper-rate"))]
    tested = tested[tested.n_runs >= ENOUGH_RUNS]
    differs = tuple(
        f"{LABELS[line['method']]}, setting {line['setting']}: Dist grows to "
        f"{line['growth']:.2f} times that at m = {N_SITES[0]} ({line['n_runs']} runs)"
        for line in tested[tested.growth > STABLE].to_dict("records")
    )
    return Verdict(body, checks, differs)


def draw(results: pd.DataFrame, path: Path) -> None:
    """Draw Dist against the number of sites.

    Parameters
    ----------
    results : pandas.DataFrame
        One row per task.
    path : Path
        File for the picture.
    """
    from fedsdr.reporting.curves import Look, draw_curves

    means = compare.mean_cells(results, ["Dist"]).rename(columns={"ours": "mean"})
    means["x"] = means.condition.str.removeprefix("m=").astype(float)
    means["series"], means["group"] = means.method.map(LABELS), ""
    look = Look("number of sites, m", "Dist", joined=True)
    draw_curves(means.sort_values(["setting", "x"]), path, look)


def _check(wide: pd.DataFrame, label: str) -> Check:
    complete = (
        set(wide.setting) == set(SETTINGS)
        and not wide[list(CONDITIONS)].isna().any(axis=None)
        and wide.n_runs.min() >= ENOUGH_RUNS
    )
    worst = wide.growth.max()
    return Check(
        f"{label}: Dist at any m at most {STABLE} times that at m = {N_SITES[0]} "
        "(the paper: slightly growing, without numbers)",
        "not run" if wide.empty else f"{worst:.2f} times at most",
        bool(worst <= STABLE) if complete else None,
    )


EXPERIMENT = Experiment(
    name="clients",
    title="Figure 7: Dist against the number of sites, N = 10,000, d = 100",
    conditions=tuple(CONDITIONS),
    settings=SETTINGS,
    methods=RUNS,
    measures=MEASURES,
    run=partial(run_simulation, conditions=CONDITIONS),
    judge=judge,
    draw=draw,
    labels=LABELS,
    paper_runs=200,
)
