"""
A pipeline with columns of different kinds, and sites
=====================================================

A table with numbers, a category and gaps goes through scikit-learn's
``ColumnTransformer``, the reduction, and one model for each site. Labels of sites must
reach the reduction and the models, and only them: ``SitePipeline`` takes care of that.
"""

# %%
# A table
# -------
# Risk depends on one combination of three measurements and on smoking. Each clinic
# measures at its own level, and turns the combination into a risk in its own way.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler

from fedsdr import FedSSIR
from fedsdr.downstream import PerSite, SitePipeline

rng = np.random.default_rng(0)
n_clinics, n_rows = 6, 150
clinic = np.repeat(np.arange(n_clinics), n_rows)
numbers = (
    rng.standard_normal((len(clinic), 12)) + rng.normal(0, 1, (n_clinics, 12))[clinic]
)
rows = pd.DataFrame(numbers, columns=[f"lab{number}" for number in range(1, 13)])
rows["smoker"] = rng.choice(["never", "former", "now"], len(clinic), p=[0.5, 0.3, 0.2])
index = rows["lab1"] + rows["lab2"] - rows["lab3"] + 1.5 * (rows["smoker"] == "now")
slope = rng.uniform(0.5, 2.0, n_clinics)[clinic]
risk = slope * index + 0.2 * index**2 + rng.standard_normal(len(clinic))
rows.loc[rng.random(len(clinic)) < 0.05, "lab2"] = np.nan

# %%
# The pipeline
# ------------

labs = [name for name in rows if name.startswith("lab")]
columns = make_column_transformer(
    (make_pipeline(SimpleImputer(), StandardScaler()), labs),
    (OneHotEncoder(drop="first", sparse_output=False), ["smoker"]),
    verbose_feature_names_out=False,
)
each_clinic = PerSite(make_pipeline(PolynomialFeatures(2), LinearRegression()))
pipeline = SitePipeline(
    [("columns", columns), ("reduce", FedSSIR()), ("model", each_clinic)]
)
pipeline.set_output(transform="pandas")

train = rng.random(len(clinic)) < 0.7
pipeline.fit(rows[train], risk[train], sites=clinic[train])
reducer = pipeline["reduce"]
print(reducer.result_)

# %%
# What to see
# -----------
# lab1, lab2, lab3 and the indicator of smokers are found, in one direction. A quadratic
# model in each clinic on that one column predicts the test rows well. One on all 14
# columns has 120 coefficients for about 100 rows per clinic, fits their noise, and
# predicts worse than a constant would: its R2 is negative.

everything = SitePipeline([("columns", clone(columns)), ("model", clone(each_clinic))])
everything.fit(rows[train], risk[train], sites=clinic[train])
scores = {
    "one direction": pipeline.predict(rows[~train], sites=clinic[~train]),
    "all columns": everything.predict(rows[~train], sites=clinic[~train]),
}
for name, predicted in scores.items():
    print(f"{name}: R2 = {r2_score(risk[~train], predicted):.2f} on test rows")

figure, panels = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained", sharey=True)
for panel, (name, predicted) in zip(panels, scores.items(), strict=True):
    panel.scatter(predicted, risk[~train], c=clinic[~train], cmap="tab10", s=10)
    panel.axline((0, 0), slope=1, color="0.5", linewidth=0.8)
    panel.set_xlim(risk.min(), risk.max())
    panel.set_title(name)
    panel.set_xlabel("predicted risk")
panels[0].set_ylabel("risk")
plt.show()
