"""
A study between institutions, from Python
=========================================

Four sites keep their rows. They agree on a study file, add under masks, and apply rules
of their own about what may leave. Here all of them are played in one process, with the
same files and messages as between institutions: a rehearsal.
"""

# %%
# Files of a study
# ----------------
# ``write_example`` makes what people would make with ``fedsdr keygen``, ``study init``
# and ``site init``: rows, keys, the study file, and a site file for each site.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from fedsdr import FedSSIR
from fedsdr.metrics import subspace_distance
from fedsdr.study.example import simulate_example, write_example
from fedsdr.transports.rehearsal import rehearse

folder = Path(tempfile.mkdtemp())
truth = simulate_example(n_sites=4, n_rows=200, n_features=12)
example = write_example(folder, truth)
files = sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
print("\n".join(str(path) for path in files))

# %%
# The study
# ---------
# The coordinator asks for one sum after the other, and is told nothing but sums.

result = rehearse(example.study_file, example.site_files.values())
print(result)

# %%
# Rounds
# ------
# ``FedSSIR(protocol="secure")`` sends the same messages without files, and counts them.

secure = FedSSIR(protocol="secure").fit(truth.X, truth.y, sites=truth.sites)
print(secure.communication_)

# %%
# What to see
# -----------
# The study finds what one process finds that has all rows: their distance is rounding.
# The five true variables are selected and no other. Within these rows, the columns in
# the picture need not be those of the truth: the span is estimated, not a direction by
# itself.

pooled = FedSSIR().fit(truth.X, truth.y, sites=truth.sites)
print(
    "study and one process: "
    f"{subspace_distance(result.directions, pooled.directions_):.0e}"
)
print(f"study and truth: {subspace_distance(result.directions, truth.B):.2f}")

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for panel, values, title in (
    (left, result.directions, "found by the study"),
    (right, np.linalg.qr(truth.B)[0], "truth, up to rotation and sign"),
):
    image = panel.imshow(np.abs(values), cmap="Blues", vmin=0, vmax=1, aspect="auto")
    panel.set_yticks(range(len(result.feature_names)), result.feature_names)
    panel.set_xticks(range(values.shape[1]), ["direction 1", "direction 2"])
    panel.set_title(title)
figure.colorbar(image, label="size of the coefficient")
plt.show()
