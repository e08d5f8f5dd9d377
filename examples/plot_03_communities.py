"""
Communities and crime: many columns that say nearly the same
============================================================

1,066 communities in seven states, with 100 columns from the census and the police, and
the rate of violent crimes. Many columns are close relatives: incomes of different
groups, shares of families with one parent or two. States keep their rows; what do all
of them have in common?
"""

# %%
# The fit
# -------
# Four warnings are expected: covariances differ between states, columns are skewed, y
# depends on squares as well, and a second direction is only a curve of the first.

import matplotlib.pyplot as plt
import numpy as np
from stand_ins import communities

from fedsdr import FedSSIR

data = communities()
model = FedSSIR().fit(data.X, data.y, sites=data.sites)
result = model.result_
print(result)

# %%
# Near-twins
# ----------
# For some of the selected columns the data cannot say whether it is they or a near-twin
# (``stand_ins_``). A report should name both.

for name, twins in model.stand_ins_.items():
    for twin, correlation in data.X[list(twins)].corrwith(data.X[name]).items():
        print(f"{name} could as well be {twin}: correlation {correlation:.2f}")

# %%
# What to see
# -----------
# Eight of 100 columns and one direction, of whose variance y explains about two thirds.
# The share of children with two parents weighs most. On the right, the rate falls along
# the direction in each state (numbers are the codes of the census); it ends at 1 above
# and flattens out below, so the points form a curve. Columns describe communities, some
# of them by race: what goes along with a rate is no cause of it, and nothing is said
# about persons.

loadings = (result.directions[:, 0] * result.scale)[result.support]
order = np.argsort(np.abs(loadings))
score = np.asarray(model.transform(data.X))[:, 0]

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
left.barh(np.array(result.selected)[order], loadings[order])
left.axvline(0, color="0.3", linewidth=0.8)
left.set_xlabel("loading per standard deviation")
for state in sorted(data.sites.unique()):
    rows = (data.sites == state).to_numpy()
    right.scatter(score[rows], data.y[rows], s=6, alpha=0.6, label=state)
right.set_xlabel("direction 1")
right.set_ylabel("violent crimes (scaled to 0 to 1)")
right.legend(title="state", fontsize="small", markerscale=2)
plt.show()
