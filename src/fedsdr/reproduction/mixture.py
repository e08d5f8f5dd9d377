"""Mixture weights: sites of very unequal size."""

from functools import partial

from fedsdr.reproduction.experiment import Experiment
from fedsdr.reproduction.fits import MEASURES, run_simulation
from fedsdr.reproduction.methods import FEDERATED, LABELS, RUNS
from fedsdr.reproduction.simulations import SETTINGS, draw_table, judge_table

#: A site may have a handful of rows, or none, at the smallest of these.
CONDITIONS = {
    f"alpha={alpha}": {
        "n_sites": 10,
        "total": 2000,
        "n_features": 100,
        "concentration": float(alpha),
    }
    for alpha in (1, 2, 5)
}

WHY = """\
In settings 2 and 5 the paper's Dist is below that of the likelihood oracle by more than
two standard errors, whatever alpha: least squares on the true variables, with the true
link of every site, comes no nearer to the truth with 2,000 rows. No choice of K,
penalty or variables can close that gap. The paper's Table 1 has the same N and m in its
rows with n = 200, and there its Dist is 1.6 to 2.1 times as large in settings 1, 2 and
5, with d = 150 in place of 100; the oracles do not depend on d. How the paper
came to this table is open.

In setting 4 for every alpha, and in setting 1 for alpha = 2 and 5, even the oracle that
knows K and the variables is beyond the bound. Where all of the paper's runs found every
variable (TPR 1.000 without spread), one missed variable in 200 runs counts as worse.
What is ours alone is the Dist of setting 3 with alpha = 5: 0.3869, bound 0.3862.

More rows alone do not explain it. With alpha = 5 (20 runs each, our default, measured
once outside of these results) Dist is 0.026, 0.047, 0.278, 0.368, 0.032, 0.250 with
3,000 rows and 0.024, 0.045, 0.258, 0.288, 0.030, 0.242 with 4,000, where the paper has
0.028, 0.040, 0.376, 0.385, 0.032, 0.370: settings 1, 4 and 5 are met with 3,000,
setting 2 not with 4,000, and settings 3 and 6 are then far nearer to
the truth than the paper."""

EXPERIMENT = Experiment(
    name="mixture",
    title="Mixture weights: N = 2,000, m = 10, Dirichlet(alpha), d = 100",
    conditions=tuple(CONDITIONS),
    settings=SETTINGS,
    methods={method: RUNS[method] for method in FEDERATED},
    measures=MEASURES,
    run=partial(run_simulation, conditions=CONDITIONS),
    judge=partial(judge_table, name="mixture"),
    draw=partial(draw_table, name="mixture"),
    why=WHY,
    labels=LABELS,
    paper_runs=200,
)
