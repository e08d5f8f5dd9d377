"""Default of Credit Card Clients."""

import pandas as pd

from fedsdr.datasets.origin import Dataset, Origin

COLUMNS = (
    "LIMIT_BAL", "SEX", "EDUCATION", "MARRIAGE", "AGE",
    "PAY_0", *(f"PAY_{month}" for month in range(2, 7)),
    *(f"BILL_AMT{month}" for month in range(1, 7)),
    *(f"PAY_AMT{month}" for month in range(1, 7)),
)  # fmt: skip

ORIGIN = Origin(
    name="Default of Credit Card Clients",
    folder="credit_default",
    openml=(42477,),
    page="https://doi.org/10.24432/C55S3H",
    shape=(30_000, 23),
    total=14_071_103_581.0,
    response=6_636.0,
)


def load_credit_default() -> Dataset:
    """Load the credit card clients of Yeh and Lien (2009).

    Returns
    -------
    Dataset
        30,000 clients, 23 attributes; y is 1 for the 6,636 who defaulted. There are no
        natural sites: `fedsdr.downstream.dirichlet_sites` assigns rows to sites.

    Notes
    -----
    Read from ``credit_default/data.csv`` (also compressed, ``data.csv.gz``) in the
    folder that the environment variable ``FEDSDR_DATA`` names; if it is not set,
    fetched from OpenML. The codes of categories are numbers, as in the paper.
    Licence: CC BY 4.0.

    References
    ----------
    Yeh and Lien (2009). The comparisons of data mining techniques for the predictive
    accuracy of probability of default of credit card clients. Expert Systems with
    Applications 36, 2473-2480.
    """
    folder = ORIGIN.local()
    if folder is None:
        (table,) = ORIGIN.fetch()
    else:
        table = pd.read_csv(ORIGIN.file(folder, "data.csv.gz", "data.csv"))
    # Copies differ in the names of columns, not in their order; some have a row number
    # in the first column.
    table = table.iloc[:, -len(COLUMNS) - 1 :].apply(pd.to_numeric)
    X = table.iloc[:, :-1].astype(float).set_axis(list(COLUMNS), axis="columns")
    y = table.iloc[:, -1].astype(int).rename("default")
    ORIGIN.check(X, y)
    return Dataset(ORIGIN.name, X, y)
