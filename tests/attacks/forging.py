"""A coordinator that invents sites: keys of its own under names of its choice."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from tests.study.consortia import Files, write_toml

from fedsdr.protocols.wire import decode
from fedsdr.secure_sum import Identity
from fedsdr.study import conduct, open_site, read_site
from fedsdr.study.stewardship import accept_partners, begin_ledger
from fedsdr.transports import InProcess


class Forger:
    """A second study over honest sites of a first one, and invented ones."""

    def __init__(
        self,
        files: Files,
        folder: Path,
        honest: tuple[str, ...],
        invented: tuple[str, ...],
        **changes: Any,
    ) -> None:
        self.files, self.folder, self.invented = files, folder, invented
        self.rows: dict[str, pd.DataFrame] = {}
        folder.mkdir()
        roster = {name: files.study["sites"]["roster"][name] for name in honest}
        rng = np.random.default_rng(0)
        for name in invented:
            (folder / name).mkdir()
            identity = Identity.generate()
            identity.save(folder / name / "identity.key")
            roster[name] = identity.public.hex()
            own = files.rows.drop(columns="site").head(80)
            self.rows[name] = own + 0.1 * rng.normal(size=own.shape)
            self.rows[name].to_csv(folder / name / "rows.csv", index=False)
            table = {"name": name, "data": {"kind": "csv", "path": "rows.csv"}}
            write_toml(folder / name / "site.toml", table)
        self.study = {**files.study, "sites": {"roster": roster}, **changes}
        self.study_file = write_toml(folder / "study.toml", self.study)
        self.site_files = {name: folder / name / "site.toml" for name in invented}
        self.site_files |= {name: files.site_file(name) for name in honest}
        for file in self.site_files.values():
            write_toml(file.with_name("study.toml"), self.study)
        for name in invented:
            site = read_site(self.site_files[name])
            begin_ledger(site)
            accept_partners(site)

    def run(self) -> InProcess:
        """Run the study; the transport knows why sites refused."""
        parties = {name: open_site(file) for name, file in self.site_files.items()}
        exchange = InProcess(parties)
        conduct(self.study_file, exchange, self.folder / "run")
        return exchange


def has_moments(folder: Path) -> bool:
    """Look whether a coordinator has opened pooled moments."""
    saved = [decode(path.read_bytes()) for path in folder.glob("moments-*.round")]
    return any("values" in content for content in saved)


def read_moments(folder: Path) -> np.ndarray:
    """Read the pooled moments that a coordinator has kept."""
    (path,) = folder.glob("moments-*.round")
    return np.array(decode(path.read_bytes())["values"])


def scatter(rows: pd.DataFrame) -> np.ndarray:
    """Compute what moments hold of x: the number of rows, and the scatter."""
    X = rows[[name for name in rows.columns if name.startswith("x")]].to_numpy()
    centred = X - X.mean(axis=0)
    upper = (centred.T @ centred)[np.triu_indices(X.shape[1])]
    return np.concatenate([[float(len(X))], upper])


def taken_out(values: np.ndarray, n_features: int) -> np.ndarray:
    """Return the same two of packed moments, or of a difference of them."""
    size = n_features * (n_features + 1) // 2
    return np.concatenate([values[:1], values[4 : 4 + size]])
