"""Where public data sets come from, and whether they are what they should be."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fedsdr.exceptions import InputError

#: Environment variable that names a folder with a folder a data set.
VARIABLE = "FEDSDR_DATA"


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """Rows, what they are about, and who holds them.

    Parameters
    ----------
    name : str
        What the data set is called.
    X : pandas.DataFrame of shape (n_rows, n_features)
        Predictors; gaps are NaN where the set has any.
    y : pandas.Series of length n_rows
        Response.
    sites : pandas.Series of length n_rows or None
        Site of each row; None where the data set has no natural sites.
    """

    name: str
    X: pd.DataFrame
    y: pd.Series
    sites: pd.Series | None = None


@dataclass(frozen=True, slots=True)
class Origin:
    """A data set in a folder and at OpenML, and what tells it from a changed copy.

    Parameters
    ----------
    name : str
        What it is called in messages.
    folder : str
        Its folder within the one that `VARIABLE` names.
    openml : tuple of int
        Identifiers at OpenML, one a table; none if it is not there.
    page : str
        Where it is described and can be downloaded by hand.
    shape : tuple (n_rows, n_features)
        Of the predictors.
    total : float
        Sum of all predictors, gaps left out.
    response : float
        Sum of the response.
    slack : float, default=0.0
        By how much the sum of the predictors may differ.
    """

    name: str
    folder: str
    openml: tuple[int, ...]
    page: str
    shape: tuple[int, int]
    total: float
    response: float
    slack: float = 0.0

    def local(self) -> Path | None:
        """Find the folder of the data set.

        Returns
        -------
        Path or None
            None if `VARIABLE` is not set.
        """
        root = os.environ.get(VARIABLE)
        return Path(root) / self.folder if root else None

    def required(self) -> Path:
        """Find the folder of a data set that cannot be fetched.

        Returns
        -------
        Path
            The folder.
        """
        folder = self.local()
        if folder is None:
            raise InputError(
                f"{self.name} cannot be fetched: download it from {self.page} into "
                f"{self.folder}/ in a folder that {VARIABLE} names"
            )
        return folder

    def file(self, folder: Path, *names: str) -> Path:
        """Find a file of the data set.

        Parameters
        ----------
        folder : Path
            Where to look.
        *names : str
            What it may be called.

        Returns
        -------
        Path
            The first that is there.
        """
        for name in names:
            if (folder / name).is_file():
                return folder / name
        raise InputError(
            f"{VARIABLE} is set, but {folder} has no file {' or '.join(names)}: "
            f"download {self.name} from {self.page} into it, or unset {VARIABLE} to "
            "have it fetched from OpenML"
        )

    def fetch(self) -> list[pd.DataFrame]:
        """Fetch the tables from OpenML; scikit-learn keeps them for the next time.

        Returns
        -------
        list of pandas.DataFrame
            With all columns, the response among them.
        """
        from sklearn.datasets import fetch_openml

        try:
            return [
                fetch_openml(data_id=number, as_frame=True, parser="auto").frame
                for number in self.openml
            ]
        except (OSError, ValueError) as error:
            raise InputError(
                f"{self.name} could not be fetched from OpenML "
                f"({type(error).__name__}): try again when online, or download it from "
                f"{self.page} and let {VARIABLE} name the folder above {self.folder}/"
            ) from error

    def check(self, X: pd.DataFrame, y: Any) -> None:
        """Refuse rows that are not those of the published data set.

        Parameters
        ----------
        X : pandas.DataFrame
            Predictors.
        y : array-like
            Response, as numbers.
        """
        problems = []
        total = np.nansum(X.to_numpy(dtype=float))
        if X.shape != self.shape:
            problems.append(f"its shape is {X.shape}, not {self.shape}")
        elif not np.isclose(total, self.total, rtol=1e-9, atol=self.slack):
            problems.append("its predictors have another sum")
        if not np.isclose(np.asarray(y, dtype=float).sum(), self.response, rtol=1e-9):
            problems.append("its response has another sum")
        if problems:
            raise InputError(
                f"this copy of {self.name} is not the published one: "
                f"{' and '.join(problems)}; take the one at {self.page}"
            )
