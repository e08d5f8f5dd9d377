"""A simulated study in files: one folder for the coordinator and one for each site."""

import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import numpy as np
import pandas as pd

from fedsdr.secure_sum import Identity
from fedsdr.simulate import Simulation
from fedsdr.study.site_file import read_site
from fedsdr.study.stewardship import accept_partners, begin_ledger

PURPOSE = "To measure the cost of a study."


class Consortium:
    """Files of a study with default settings.

    Parameters
    ----------
    root : Path
        Folder to create.
    data : Simulation
        Rows of all sites.
    policy : str, default=""
        Rules of every site that differ from the default, as lines of TOML.
    model : str, default=""
        Parameters of the fit that differ from the default, as lines of TOML.
    """

    def __init__(
        self, root: Path, data: Simulation, policy: str = "", model: str = ""
    ) -> None:
        self.root, self.data = root, data
        self.names = [f"site-{number:03d}" for number in np.unique(data.sites)]
        self.columns = [f"x{j}" for j in range(data.X.shape[1])]
        identities = {name: Identity.generate() for name in self.names}
        study = write_study(
            self.columns, {name: own.public.hex() for name, own in identities.items()}
        )
        study += f"\n[model]\n{model}\n" if model else ""
        (root / "coordinator").mkdir(parents=True)
        self.study_file = root / "coordinator" / "study.toml"
        self.study_file.write_text(study)
        for number, (name, identity) in enumerate(identities.items()):
            folder = root / name
            folder.mkdir()
            identity.save(folder / "identity.key")
            (folder / "study.toml").write_text(study)
            (folder / "site.toml").write_text(
                f'name = "{name}"\n[data]\nkind = "parquet"\npath = "rows.parquet"\n'
                + (f"[policy]\n{policy}\n" if policy else "")
            )
            self._write_rows(number, folder / "rows.parquet")
            site = read_site(folder / "site.toml")
            begin_ledger(site)
            accept_partners(site)

    @property
    def site_files(self) -> dict[str, Path]:
        """Path of the site file of each site."""
        return {name: self.root / name / "site.toml" for name in self.names}

    def _write_rows(self, number: int, path: Path) -> None:
        own = self.data.sites == number
        rows = pd.DataFrame(self.data.X[own], columns=self.columns)
        rows["y"] = self.data.y[own]
        rows.to_parquet(path, index=False)


def write_study(columns: Sequence[str], roster: dict[str, str]) -> str:
    """Return the text of ``study.toml``."""
    keys = "\n".join(f'{name} = "{key}"' for name, key in roster.items())
    numbers = "\n".join(f'{name} = {{ type = "number" }}' for name in columns)
    return (
        f'name = "benchmark"\npurpose = "{PURPOSE}"\n\n'
        f'[target]\nname = "y"\ntype = "number"\n\n'
        f"[columns]\n{numbers}\n\n[sites.roster]\n{keys}\n"
    )


def read_journal(folder: Path) -> list[tuple[float, str]]:
    """Read the time at which each step of a study ended, in seconds since 1970."""
    lines = (folder / "journal.jsonl").read_text().splitlines()
    steps = [json.loads(line) for line in lines]
    return [
        (datetime.fromisoformat(step["time"]).timestamp(), step["name"])
        for step in steps
    ]


def time_phases(folder: Path, start: float, end: float) -> dict[str, float]:
    """Split the seconds from `start` to `end` into the phases of a study.

    "prepare" ends when the coordinator opens its folder; "agree" is the first message,
    for which sites read their rows; "sum" is the six messages of the sum; "solve" is
    the time from the last of them to the estimate; "publish" ends when all sites have
    the result.
    """
    ends = {name: when for when, name in read_journal(folder)}
    marks = {
        "prepare": (folder / "study.json").stat().st_mtime,
        "agree": ends["secure.agree"],
        "sum": ends["secure.unmask"],
        "solve": ends["estimate"],
        "publish": ends["done"],
        "finish": end,
    }
    before, phases = start, {}
    for name, when in marks.items():
        phases[name] = when - before
        before = when
    return phases
