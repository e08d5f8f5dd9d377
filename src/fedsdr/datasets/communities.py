"""Communities and Crime."""

import re

import pandas as pd

from fedsdr.datasets.origin import Dataset, Origin
from fedsdr.exceptions import InputError

NOT_PREDICTORS = ("state", "county", "community", "communityname", "fold")
TARGET = "ViolentCrimesPerPop"

ORIGIN = Origin(
    name="Communities and Crime",
    folder="communities_crime",
    openml=(315,),
    page="https://doi.org/10.24432/C53W3X",
    shape=(1_994, 122),
    total=74_805.9,
    response=474.53,
    # In some copies one missing value is filled in, in a state that is left out.
    slack=0.3,
)


def load_communities(min_rows: int = 81) -> Dataset:
    """Load communities in the United States and their rates of violent crimes.

    Parameters
    ----------
    min_rows : int, default=81
        States with fewer communities are left out. The paper uses states with more
        than 80 communities.

    Returns
    -------
    Dataset
        Predictors without missing values in these states (by default 100, for 1,066
        communities in 7 states), violent crimes per 100,000 people as the response, and
        states as sites. All numbers are scaled to [0, 1].

    Notes
    -----
    Read from ``communities_crime/communities.data`` and ``communities.names`` in the
    folder that the environment variable ``FEDSDR_DATA`` names; if it is not set,
    fetched from OpenML. Licence: CC BY 4.0. The predictors include shares of people by
    race: models of this response must be judged with this in mind.

    References
    ----------
    Redmond and Baveja (2002). A data-driven software tool for enabling cooperative
    information sharing among police departments. European Journal of Operational
    Research 141, 660-678.
    """
    folder = ORIGIN.local()
    if folder is None:
        (table,) = ORIGIN.fetch()
    else:
        names = ORIGIN.file(folder, "communities.names").read_text(encoding="latin-1")
        columns = re.findall(r"^@attribute (\S+)", names, flags=re.MULTILINE)
        file = ORIGIN.file(folder, "communities.data")
        table = pd.read_csv(file, names=columns, na_values="?")
    missing = {TARGET, "state"} - set(table.columns)
    if missing:
        raise InputError(
            f"this copy of {ORIGIN.name} has no column {', '.join(sorted(missing))}; "
            f"take the one at {ORIGIN.page}"
        )
    states, y = table["state"].astype(str), table[TARGET].astype(float)
    X = table.drop(columns=[TARGET, *NOT_PREDICTORS], errors="ignore")
    X = X.apply(pd.to_numeric, errors="coerce").astype(float)
    ORIGIN.check(X, y)
    large = states.groupby(states).transform("size") >= min_rows
    if not large.any():
        raise InputError(f"no state has {min_rows} communities: lower min_rows")
    X = X[large].dropna(axis="columns").reset_index(drop=True)
    y, states = y[large].reset_index(drop=True), states[large].reset_index(drop=True)
    return Dataset(ORIGIN.name, X, y, states)
