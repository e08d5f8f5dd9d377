"""
Heart disease in four hospitals, with gaps
==========================================

Four hospitals measured the same 13 attributes of 920 patients and noted whether they
have heart disease. The table is as people have it: codes for categories, many gaps, and
a cholesterol of 0 where it was not measured. This example goes from that table to the
variables that carry what the attributes say about the disease.
"""

# %%
# What is missing, and where
# --------------------------
# In three hospitals ``ca`` is nearly always missing and ``thal`` often, and every Swiss
# patient has a cholesterol of 0.

import matplotlib.pyplot as plt
import numpy as np
from stand_ins import heart_disease

from fedsdr import FedSSIR
from fedsdr.preparation import ColumnPlan, Preparation

data = heart_disease()
measured = data.X.assign(chol=data.X["chol"].replace(0, np.nan))
missing = measured.isna().groupby(data.sites).mean()

figure, axes = plt.subplots(figsize=(8, 3), layout="constrained")
image = axes.imshow(100 * missing, cmap="Blues", vmin=0, vmax=100, aspect="auto")
axes.set_xticks(range(missing.shape[1]), missing.columns, rotation=45, ha="right")
axes.set_yticks(range(len(missing)), missing.index)
figure.colorbar(image, label="% missing")
plt.show()

# %%
# From columns to numbers
# -----------------------
# A plan says what is made of a column. Codes of categories become indicators, and gaps
# of a category a level of their own; other gaps are filled with means. The same plans,
# in the file ``study.toml``, would be applied by hospitals that keep their rows to
# themselves.


def category(name):
    """Plan a category whose levels are the codes in the table."""
    levels = tuple(f"{code:g}" for code in sorted(data.X[name].dropna().unique()))
    if data.X[name].isna().any():
        return ColumnPlan(
            name, "category", levels=(*levels, "missing"), missing_level="missing"
        )
    return ColumnPlan(name, "category", levels=levels)


plans = [ColumnPlan(name) for name in ("age", "sex", "trestbps", "fbs", "thalach")]
plans += [ColumnPlan(name) for name in ("exang", "oldpeak", "ca")]
plans += [ColumnPlan("chol", missing_codes=("0",))]
plans += [category(name) for name in ("cp", "restecg", "slope", "thal")]
preparation = Preparation(plans, missing="mean").set_output(transform="pandas")
X = preparation.fit_transform(data.X)
print(f"{X.shape[1]} columns:", ", ".join(X.columns))

# %%
# The fit
# -------
# Hospitals are sites: every row is compared with the other rows of its hospital. Two
# warnings are expected: the hospitals' covariances differ, which the default estimate
# allows for, and three of the selected columns are skewed.

model = FedSSIR().fit(X, data.y, sites=data.sites)
print(model.result_)

# %%
# What to see
# -----------
# One direction. Coefficients are per unit of a column, so they cannot be compared with
# each other; multiplied by the standard deviation within hospitals (``result_.scale``)
# they can. Chest pain of type 4 weighs most, then the number of coloured vessels
# (``ca``), which nearly only Cleveland has measured: in the other hospitals it is the
# mean that filled the gaps, and says nothing there. On the right, patients with the
# disease lie to the right of the others in each hospital, clearest in Cleveland and
# least in va, where most is missing.

result = model.result_
loadings = (result.directions[:, 0] * result.scale)[result.support]
order = np.argsort(np.abs(loadings))
reduced = model.transform(X)
score = np.asarray(reduced)[:, 0]

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
left.barh(np.array(result.selected)[order], loadings[order])
left.axvline(0, color="0.3", linewidth=0.8)
left.set_xlabel("loading per standard deviation")
names = sorted(data.sites.unique())
for row, name in enumerate(names):
    for ill, offset, colour in ((0, 0.15, "tab:blue"), (1, -0.15, "tab:orange")):
        rows = ((data.sites == name) & (data.y == ill)).to_numpy()
        right.boxplot(
            score[rows],
            positions=[row + offset],
            widths=0.25,
            orientation="horizontal",
            showfliers=False,
            medianprops={"color": colour},
            boxprops={"color": colour},
        )
right.set_yticks(range(len(names)), names)
right.set_xlabel("direction 1 (blue: without, orange: with the disease)")
plt.show()
