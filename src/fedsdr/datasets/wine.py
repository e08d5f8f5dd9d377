"""Wine Quality."""

import pandas as pd

from fedsdr.datasets.origin import Dataset, Origin

COLOURS = ("red", "white")

ORIGIN = Origin(
    name="Wine Quality",
    folder="wine_quality",
    openml=(40691, 40498),
    page="https://doi.org/10.24432/C56S3T",
    shape=(6_497, 11),
    total=1_136_189.09603,
    response=37_802.0,
)


def load_wine_quality() -> Dataset:
    """Load red and white Portuguese vinho verde, and the marks of tasters.

    Returns
    -------
    Dataset
        1,599 red and 4,898 white wines, 11 physicochemical measurements; y is the
        mark, from 3 to 9; the colours are the sites.

    Notes
    -----
    Read from ``wine_quality/winequality-red.csv`` and ``winequality-white.csv`` in the
    folder that the environment variable ``FEDSDR_DATA`` names; if it is not set,
    fetched from OpenML, where the marks of white wines are numbered from 1; they are
    shifted to the original marks. Licence: CC BY 4.0.

    References
    ----------
    Cortez, Cerdeira, Almeida, Matos and Reis (2009). Modeling wine preferences by data
    mining from physicochemical properties. Decision Support Systems 47, 547-553.
    """
    folder = ORIGIN.local()
    if folder is None:
        tables = ORIGIN.fetch()
    else:
        files = [ORIGIN.file(folder, f"winequality-{name}.csv") for name in COLOURS]
        tables = [pd.read_csv(file, sep=";") for file in files]
    tables = [table.apply(pd.to_numeric).astype(float) for table in tables]
    marks = [table.iloc[:, -1] for table in tables]
    # The lowest mark of either colour is 3; OpenML numbers the classes differently.
    y = pd.concat([own - own.min() + 3.0 for own in marks], ignore_index=True)
    names = list(tables[0].columns[:-1])
    parts = [table.iloc[:, :-1].set_axis(names, axis="columns") for table in tables]
    X = pd.concat(parts, ignore_index=True)
    ORIGIN.check(X, y)
    sizes = [len(table) for table in tables]
    sites = pd.Series(COLOURS, name="colour").repeat(sizes).reset_index(drop=True)
    return Dataset(ORIGIN.name, X, y.rename("quality"), sites)
