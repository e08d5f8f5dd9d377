"""Heart Disease."""

import pandas as pd

from fedsdr.datasets.origin import Dataset, Origin

HOSPITALS = ("cleveland", "hungarian", "switzerland", "va")
COLUMNS = (
    "age", "sex", "cp", "trestbps", "chol", "fbs", "restecg", "thalach", "exang",
    "oldpeak", "slope", "ca", "thal",
)  # fmt: skip

ORIGIN = Origin(
    name="Heart Disease",
    folder="heart_disease",
    openml=(),
    page="https://doi.org/10.24432/C52P4X",
    shape=(920, 13),
    total=468_198.0,
    response=509.0,
)


def load_heart_disease() -> Dataset:
    """Load patients of four hospitals and their diagnoses of heart disease.

    Returns
    -------
    Dataset
        920 patients, 13 attributes with gaps; y is 1 for the 509 with heart disease;
        the hospitals are the sites.

    Notes
    -----
    Read from ``heart_disease/processed.*.data``, one file per hospital, in the folder
    that the environment variable ``FEDSDR_DATA`` names. It is not fetched: we know of
    no copy of all four hospitals on OpenML. A cholesterol of 0, as for all Swiss
    patients, means that it was not measured; the value is not changed. Attributes
    ``slope``, ``ca`` and ``thal`` are mostly missing outside Cleveland. Licence: CC BY
    4.0; the donors ask to be named in publications.

    References
    ----------
    Janosi, Steinbrunn, Pfisterer and Detrano (1989). Heart Disease. UCI Machine
    Learning Repository.
    """
    folder = ORIGIN.required()
    tables = [
        pd.read_csv(
            ORIGIN.file(folder, f"processed.{name}.data"),
            names=[*COLUMNS, "num"],
            na_values="?",
        ).assign(hospital=name)
        for name in HOSPITALS
    ]
    table = pd.concat(tables, ignore_index=True)
    X = table[list(COLUMNS)].astype(float)
    y = (table["num"] > 0).astype(int).rename("disease")
    ORIGIN.check(X, y)
    return Dataset(ORIGIN.name, X, y, table["hospital"])
