"""
A report for others
===================

A list of coefficients is not what a colleague wants to read. Displays draw what a
result holds, and ``write_report`` puts them on one page, with what was found, how sure
it is, and what the checks said.
"""

# %%
# A fit with tests
# ----------------
# ``select="tested"`` adds tests on rows that have not selected: one half of the rows
# selects, the other tests, in four splits.

import tempfile
from pathlib import Path

from fedsdr import FedSSIR
from fedsdr.reporting import (
    LoadingsDisplay,
    StabilityDisplay,
    SummaryDisplay,
    write_report,
)
from fedsdr.simulate import make_setting

data = make_setting(3, n_features=20, random_state=0)
model = FedSSIR(select="tested").fit(data.X, data.y, sites=data.sites)
print(model.result_.summary())

# %%
# Pictures
# --------
# Every display has ``from_estimator`` or ``from_result``, as in scikit-learn, and draws
# again on axes of yours with ``plot(ax=...)``.

LoadingsDisplay.from_estimator(model)

# %%
# The response against each direction, with a smooth curve: y rises with the first, and
# spreads where the second is near zero.

SummaryDisplay.from_estimator(model, data.X, data.y, sites=data.sites)

# %%
# How many of the halves of the rows select each variable by themselves:

StabilityDisplay.from_result(model.result_)

# %%
# The page
# --------
# One file that can be mailed and printed: no script, and nothing is loaded from
# anywhere. It holds no rows. On the command line:
# ``fedsdr report result.json -o report.html``.

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "report.html"
    write_report(model.result_, path, title="What drives y")
    print(f"{path.name}: {len(path.read_bytes()) / 1000:.0f} kB")
