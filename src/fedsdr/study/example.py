"""An example study: simulated rows with their true directions, keys and files."""

import math
import shutil
from dataclasses import dataclass
from pathlib import Path

from fedsdr.disclosure import Policy
from fedsdr.exceptions import InputError
from fedsdr.secure_sum import Identity
from fedsdr.simulate import Simulation, make_setting
from fedsdr.spoken import as_toml_key
from fedsdr.study.site_file import read_site
from fedsdr.study.stewardship import accept_partners, begin_ledger
from fedsdr.study.templates import site_template, study_template

COORDINATOR = "coordinator"
NAME = "demo"
TARGET = "y"

#: Two directions, five active variables, covariate shift.
SETTING = 3

# Masked sums need at least three sites.
MIN_SITES = 3

_DIRECTIONS = ("north", "south", "east", "west")


@dataclass(frozen=True, slots=True, eq=False)
class Example:
    """Paths of the files of an example study.

    Parameters
    ----------
    study_file : Path
        Study file of the coordinator; every site has a copy.
    site_files : dict of str to Path
        Site file of each site.
    truth : Simulation
        Rows, site after site, and the true directions.
    """

    study_file: Path
    site_files: dict[str, Path]
    truth: Simulation


def name_sites(n_sites: int) -> tuple[str, ...]:
    """Name the sites of an example.

    Parameters
    ----------
    n_sites : int
        Number of sites.

    Returns
    -------
    tuple of str
        Names, in the order of the sites in the simulation.
    """
    more = (f"site{i}" for i in range(len(_DIRECTIONS) + 1, n_sites + 1))
    return (*_DIRECTIONS[:n_sites], *more)


def simulate_example(
    *, n_sites: int = 4, n_rows: int = 500, n_features: int = 40, seed: int = 0
) -> Simulation:
    """Draw rows of sites with different means of the covariates.

    Parameters
    ----------
    n_sites : int, default=4
        Number of sites, at least 3.
    n_rows : int, default=500
        Number of rows per site. An `InputError` is raised if the default policy of the
        sites would refuse a study of this size.
    n_features : int, default=40
        Number of columns besides the response, at least 5.
    seed : int, default=0
        Seed of the simulation.

    Returns
    -------
    Simulation
        Rows for `write_example`.
    """
    _check_sizes(n_sites, n_rows, n_features)
    return make_setting(
        SETTING,
        n_sites=n_sites,
        n_per_site=n_rows,
        n_features=n_features,
        random_state=seed,
    )


def write_example(folder: Path, truth: Simulation) -> Example:
    """Write all files of a study, with keys, ledgers and accepted partners.

    Parameters
    ----------
    folder : Path
        Existing folder. One folder for the coordinator and one per site are created in
        it, as if they were different machines.
    truth : Simulation
        Rows, see `simulate_example`.

    Returns
    -------
    Example
        Paths of the files, with which the study can be run.
    """
    import pandas as pd

    columns = [f"x{j}" for j in range(truth.X.shape[1])]
    roster, site_files = {}, {}
    for i, name in enumerate(name_sites(len(truth.models))):
        home = _make(folder / name)
        own = truth.sites == i
        frame = pd.DataFrame(truth.X[own], columns=columns)
        frame.assign(**{TARGET: truth.y[own]}).to_csv(home / "rows.csv", index=False)
        identity = Identity.generate()
        identity.save(home / "identity.key")
        roster[name] = identity.public.hex()
        site_files[name] = home / "site.toml"
        site_files[name].write_text(site_template(name), encoding="utf-8")
    text = study_template(NAME, TARGET, columns)
    text += "".join(f'{as_toml_key(name)} = "{key}"\n' for name, key in roster.items())
    study_file = _make(folder / COORDINATOR) / "study.toml"
    study_file.write_text(text, encoding="utf-8")
    for file in site_files.values():
        shutil.copyfile(study_file, file.with_name(study_file.name))
        # All of them belong to whoever runs the example.
        site = read_site(file)
        begin_ledger(site)
        accept_partners(site)
    return Example(study_file, site_files, truth)


def _check_sizes(n_sites: int, n_rows: int, n_features: int) -> None:
    """Refuse sizes that the sites would refuse, with an explanation."""
    policy = Policy()
    if n_sites < MIN_SITES:
        raise InputError(
            f"{n_sites} sites cannot hide their numbers from each other: a study needs "
            f"at least {MIN_SITES}"
        )
    needed = policy.min_rows
    if policy.max_columns_per_row is not None:
        needed = max(needed, math.ceil(n_features / policy.max_columns_per_row))
    if n_rows < needed:
        raise InputError(
            f"the sites' rules do not allow a study of {n_features} columns with "
            f"{n_rows} rows: take at least {needed} rows per site, or fewer columns"
        )


def _make(folder: Path) -> Path:
    folder.mkdir(mode=0o700)
    return folder
