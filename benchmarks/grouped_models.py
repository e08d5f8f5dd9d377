"""What means of groups cost a model of y: ``python -m benchmarks.grouped_models``.

Sites of a study compute with means of groups of rows. The page
``benchmarks/results/grouped_models.md`` has the R2 of new rows that is lost by it.
"""

import sys
from datetime import date
from pathlib import Path

import numpy as np

from benchmarks.ledger import last_commit
from fedsdr.estimation.additive_fit import fit_additive
from fedsdr.questions import AxesOf, ask_sites
from fedsdr.rows import MemoryRows, OwnSites
from fedsdr.summaries.families import Family
from fedsdr.terms import AgreedModel, Terms, Variables

PAGE = Path(__file__).parent / "results" / "grouped_models.md"
N_RUNS, N_SITES, N_NEW = 20, 4, 4000
AXES, ROWS, GROUPS = (1, 2, 3), (60, 100, 200, 500), (10, 5)

Pair = tuple[np.ndarray, np.ndarray]


def draw(rng: np.random.Generator, n_rows: int, n_axes: int) -> Pair:
    """Draw rows: a wave of the first axis, and straight lines of the others."""
    X = rng.normal(size=(n_rows, n_axes))
    signal = np.sin(1.2 * X[:, 0]) + 0.6 * X[:, 1:].sum(axis=1)
    return X, signal + 0.7 * rng.normal(size=n_rows)


def r_squared(data: dict[str, Pair], new: Pair, group_rows: int) -> float:
    """Fit the rows of all sites, as they are or in groups, and predict new ones."""
    X, y = new
    n_axes = X.shape[1]
    model = AgreedModel("linear", "nothing", group_rows) if group_rows else None
    terms = Terms(n_axes, max_steps=20, model=model)
    rows = {
        name: MemoryRows(*own, np.random.default_rng(0), name)
        for name, own in data.items()
    }
    sites = OwnSites(rows, Variables(tuple(f"x{j}" for j in range(n_axes))))
    axes = AxesOf(terms, np.arange(n_axes), np.ones(n_axes), np.eye(n_axes))
    fit = ask_sites(sites, fit_additive(axes, Family("linear"), "nothing"))
    found = fit.question.splines.columns(X) @ fit.question.coefficients
    return float(1.0 - ((y - found) ** 2).sum() / ((y - y.mean()) ** 2).sum())


def measure(n_axes: int, n_rows: int) -> str:
    """Compare groups with rows as they are, in one line of the table."""
    found = []
    for seed in range(N_RUNS):
        rng = np.random.default_rng(seed)
        data = {f"s{i}": draw(rng, n_rows, n_axes) for i in range(N_SITES)}
        new = draw(rng, N_NEW, n_axes)
        found.append([r_squared(data, new, size) for size in (0, *GROUPS)])
    exact, *grouped = np.array(found).T
    cells = [str(n_axes), str(n_rows), f"{exact.mean():.3f}"]
    for one in grouped:
        lost = exact - one
        error = lost.std(ddof=1) / np.sqrt(N_RUNS)
        cells.append(f"{lost.mean():.3f} ± {error:.3f}")
    return f"| {' | '.join(cells)} |"


def main() -> int:
    """Write the page.

    Returns
    -------
    int
        Exit code.
    """
    sizes = " | ".join(f"lost with groups of {size}" for size in GROUPS)
    commit, today = last_commit("src/fedsdr"), date.today().isoformat()
    design = (
        f"{N_SITES} sites; y is a wave of the first axis plus straight lines of the "
        "others, with\n"
        f"noise of standard deviation 0.7; R2 of {N_NEW} new rows, mean of {N_RUNS} "
        "runs with standard error."
    )
    lines = [
        "# What means of groups cost a model of y",
        "",
        f"`python -m benchmarks.grouped_models`, commit {commit}, {today}.",
        design,
        "",
        f"| directions | rows of a site | R2, rows as they are | {sizes} |",
        f"|--:|--:|--:|{'--:|' * len(GROUPS)}",
        *(measure(n_axes, n_rows) for n_axes in AXES for n_rows in ROWS),
        "",
    ]
    PAGE.write_text("\n".join(lines), encoding="utf-8")
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
