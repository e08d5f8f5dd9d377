"""
A symmetric link, which this method does not see
================================================

Sliced inverse regression looks at how the mean of x moves with y. If a risk rises at
both ends of x1, that mean does not move, and nothing points to x1. This example shows
what the warning looks like, and one way out.
"""

# %%
# A link that rises at both ends
# ------------------------------
# y depends on x0 in a line and on x1 by its square.

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from fedsdr import FedSSIR

rng = np.random.default_rng(0)
sites = np.repeat(np.arange(5), 200)
X = pd.DataFrame(rng.standard_normal((1000, 10)), columns=[f"x{j}" for j in range(10)])
y = X["x0"] + 0.7 * X["x1"] ** 2 + 0.5 * rng.standard_normal(1000)

with warnings.catch_warnings(record=True) as raised:
    warnings.simplefilter("always")
    model = FedSSIR().fit(X, y, sites=sites)
print("selected:", ", ".join(model.result_.selected))
for warning in raised:
    print(f"{warning.category.__name__}: {warning.message}")

# %%
# The way out: squares as columns
# -------------------------------
# The warning says that squares of some column matter. Squares of all columns, about
# their means, are ten more columns; then the link is a line in one of them.

squares = (X - X.mean()) ** 2
wider = X.join(squares.add_suffix("^2"))
with warnings.catch_warnings(record=True) as raised:
    warnings.simplefilter("always")
    again = FedSSIR().fit(wider, y, sites=sites)
print(f"K = {again.n_directions_}, selected:", ", ".join(again.result_.selected))
print("warnings:", ", ".join(w.category.__name__ for w in raised) or "none")

# %%
# What to see
# -----------
# Left: x0 moves with y, so it is found. Middle: the cloud of x1 is symmetric, its mean
# in every slice of y (black) stays at 0, and x1 is not found. Right: with squares, the
# one direction that was found follows y closely. Squares are skewed, which has its
# price: a ``SkewnessWarning`` and a ``CurvatureWarning``, and a square that is not
# needed.

figure, panels = plt.subplots(
    1, 3, figsize=(9.5, 3.2), layout="constrained", sharey=True
)
slices = pd.qcut(y, 12, labels=False)
for panel, name in zip(panels[:2], ("x0", "x1"), strict=True):
    panel.scatter(X[name], y, s=5, alpha=0.4)
    panel.plot(X[name].groupby(slices).mean(), y.groupby(slices).mean(), "k.-")
    panel.set_xlabel(f"{name}, with its mean in slices of y")
panels[2].scatter(np.asarray(again.transform(wider))[:, 0], y, s=5, alpha=0.4)
panels[2].set_xlabel("direction found with squares")
panels[0].set_ylabel("y")
plt.show()
