"""A study over the heart-disease files as they are published, without a script."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from tests.study.consortia import write_toml

from fedsdr import FedSSIR, datasets
from fedsdr.metrics import subspace_distance
from fedsdr.secure_sum import Identity
from fedsdr.transports.rehearsal import rehearse

HOSPITALS = ("cleveland", "hungarian", "switzerland", "va")
NAMES = [*datasets.heart.COLUMNS, "num"]
RANGES = {
    "age": [18, 110],
    "cp": [1, 4],
    "thalach": [40, 260],
    "exang": [0, 1],
    "oldpeak": [-10, 10],
}


@pytest.mark.skipif(not os.environ.get("FEDSDR_DATA"), reason="needs public data")
def test_no_steward_writes_a_program(tmp_path) -> None:
    source = Path(os.environ["FEDSDR_DATA"]) / "heart_disease"
    columns = {
        name: {
            "type": "number",
            "range": ends,
            "missing_codes": ["?"],
            "missing": "mean or drop",
        }
        for name, ends in RANGES.items()
    }
    roster = {}
    for name in HOSPITALS:
        (tmp_path / name).mkdir()
        identity = Identity.generate()
        identity.save(tmp_path / name / "identity.key")
        roster[name] = identity.public.hex()
    study = {
        "name": "heart",
        "purpose": "which measurements go with heart disease",
        "target": {"name": "ill", "type": "boolean", "expression": "num > 0"},
        "columns": columns,
        "sites": {"roster": roster},
    }
    for name in HOSPITALS:
        file = f"processed.{name}.data"
        shutil.copy(source / file, tmp_path / name)
        data = {"kind": "csv", "path": file, "separator": ",", "names": NAMES}
        write_toml(tmp_path / name / "study.toml", study)
        # Hospitals with a single gap leave that patient out: no rule is weakened.
        site = {"name": name, "data": data}
        write_toml(tmp_path / name / "site.toml", site)
    sites = [tmp_path / name / "site.toml" for name in HOSPITALS]
    with pytest.warns(UserWarning, match=r".*"):
        found = rehearse(tmp_path / "va" / "study.toml", sites)
    published = datasets.load_heart_disease()
    X = published.X[list(RANGES)]
    gaps = X.isna().groupby(published.sites.to_numpy()).transform("sum")
    kept = ~(X.isna() & (gaps < 3)).any(axis=1)
    assert (~kept).sum() == 2
    X = X[kept]
    with pytest.warns(UserWarning, match=r".*"):
        expected = FedSSIR().fit(
            X.fillna(X.mean()),
            np.asarray(published.y)[kept],
            sites=published.sites[kept],
        )
    assert found.n_rows == 918
    assert found.selected == tuple(X.columns[expected.support_])
    assert subspace_distance(found.directions, expected.directions_) < 1e-6
