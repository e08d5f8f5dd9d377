"""Studies in files, ready to run."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fedsdr.disclosure import Ledger
from fedsdr.secure_sum import Identity
from fedsdr.study import conduct, open_site, read_site
from fedsdr.study.stewardship import accept_partners, begin_ledger, open_ledger
from fedsdr.transports import InProcess, Transcript

NAMES = ("east", "north", "south", "west")

#: A column whose gaps are filled, with the range that it then needs.
FILLED = {"type": "number", "missing": "mean", "range": [-1e6, 1e6]}


def simulate_rows(n_rows: int = 90, n_features: int = 6, seed: int = 3) -> pd.DataFrame:
    """Draw rows of four sites with different means; two columns are active."""
    rng = np.random.default_rng(seed)
    frames = []
    for i, name in enumerate(NAMES):
        n_own = n_rows + 5 * i
        X = rng.normal(size=(n_own, n_features))
        signal = X[:, 0] + X[:, 2] + 0.2 * rng.normal(size=n_own)
        frame = pd.DataFrame(X + 0.5 * i, columns=[f"x{j}" for j in range(n_features)])
        frame["y"] = np.exp(signal / 2)
        frame.insert(0, "site", name)
        frames.append(frame)
    return pd.concat(frames, ignore_index=True)


def toml(value: Any) -> str:
    """Write a value as TOML, tables inline."""
    if isinstance(value, dict):
        pairs = (f"{json.dumps(k)} = {toml(v)}" for k, v in value.items())
        return "{ " + ", ".join(pairs) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, float) and np.isinf(value):
        return "inf" if value > 0 else "-inf"
    return json.dumps(value)


def write_toml(path: Path, table: dict[str, Any]) -> Path:
    path.write_text("".join(f"{key} = {toml(one)}\n" for key, one in table.items()))
    return path


class Files:
    """A coordinator's folder and one for each site, as on different machines."""

    def __init__(self, root: Path, rows: pd.DataFrame, **changes: Any) -> None:
        self.root, self.rows = root, rows
        #: Limits in all site files that are written from now on.
        self.policy: dict[str, Any] = {}
        self.coordinator = root / "coordinator"
        self.coordinator.mkdir(parents=True)
        roster = {}
        for name in NAMES:
            (root / name).mkdir()
            identity = Identity.generate()
            identity.save(root / name / "identity.key")
            roster[name] = identity.public.hex()
        covariates = [c for c in rows.columns if c not in ("site", "y")]
        self.study: dict[str, Any] = {
            "name": "example",
            "purpose": "to see whether it runs",
            "target": {"name": "y", "type": "number"},
            "columns": {name: {"type": "number"} for name in covariates},
            "sites": {"roster": roster},
            **changes,
        }
        self.write_study()
        for i, name in enumerate(NAMES):
            self.write_rows(name, "csv" if i % 2 else "parquet")
        self.prepare()

    @property
    def study_file(self) -> Path:
        """Path of the study file of the coordinator."""
        return self.coordinator / "study.toml"

    def site_file(self, name: str) -> Path:
        """Return the path of the file of a site."""
        return self.root / name / "site.toml"

    @property
    def site_files(self) -> dict[str, Path]:
        """Paths of the files of all sites."""
        return {name: self.site_file(name) for name in NAMES}

    def write_study(self, **changes: Any) -> None:
        """Write the study, with changes, for all parties."""
        self.study.update(changes)
        for folder in (self.coordinator, *(self.root / name for name in NAMES)):
            write_toml(folder / "study.toml", self.study)

    def write_rows(self, name: str, kind: str = "csv", rows: Any = None) -> None:
        """Write a site's rows, and the site file that names them."""
        if rows is None:
            rows = self.rows[self.rows["site"] == name].drop(columns="site")
        path = self.root / name / f"rows.{kind}"
        if kind == "csv":
            rows.to_csv(path, index=False)
        else:
            rows.to_parquet(path, index=False)
        self.write_site(name, data={"kind": kind, "path": path.name})

    def write_site(self, name: str, **table: Any) -> None:
        """Write the file of a site."""
        policy = {"policy": self.policy} if self.policy else {}
        write_toml(self.site_file(name), {"name": name, **table, **policy})

    def prepare(self) -> None:
        """Begin ledgers, and accept all partners, as stewards do."""
        for name in NAMES:
            site = read_site(self.site_file(name))
            if not site.at(site.ledger).exists():
                begin_ledger(site)
            accept_partners(site)

    def ledger(self, name: str) -> Ledger:
        """Open the ledger of a site, with its key."""
        site = read_site(self.site_file(name))
        return open_ledger(site, Identity.load(site.at(site.identity)))

    def connect(self, **options: Any) -> InProcess:
        """Open all sites."""
        parties = {name: open_site(self.site_file(name)) for name in NAMES}
        return InProcess(parties, transcript=Transcript(), **options)

    def run(self, exchange: Any = None, **options: Any) -> Any:
        """Conduct the study, or resume it."""
        folder = self.coordinator / "run"
        return conduct(self.study_file, exchange or self.connect(), folder, **options)
