"""Find or fetch public data sets, and compare them with the published ones."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fedsdr.exceptions import InputError

#: Environment variable that names a folder with one folder per data set.
VARIABLE = "FEDSDR_DATA"


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """A public data set.

    Parameters
    ----------
    name : str
        Name of the data set.
    X : pandas.DataFrame of shape (n_rows, n_features)
        Predictors; missing values are NaN.
    y : pandas.Series of length n_rows
        Response.
    sites : pandas.Series of length n_rows or None
        Site of each row; None if the data set has no natural sites.
    """

    name: str
    X: pd.DataFrame
    y: pd.Series
    sites: pd.Series | None = None


@dataclass(frozen=True, slots=True)
class Origin:
    """Locations of a data set, and its shape and sums, which detect changed copies.

    Parameters
    ----------
    name : str
        Name of the data set in messages.
    folder : str
        Folder of the data set within the one that `VARIABLE` names.
    openml : tuple of int
        Identifiers at OpenML, one per table; empty if OpenML does not have it.
    page : str
        Address of the page that describes the data set and offers it for download.
    shape : tuple (n_rows, n_features)
        Shape of the predictors.
    total : float
        Sum of all predictors, without missing values.
    response : float
        Sum of the response.
    slack : float, default=0.0
        Difference allowed in the sum of the predictors.
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
        """Return the folder of the data set.

        Returns
        -------
        Path or None
            The folder; None if `VARIABLE` is not set.
        """
        root = os.environ.get(VARIABLE)
        return Path(root) / self.folder if root else None

    def required(self) -> Path:
        """Return the folder of a data set that cannot be fetched.

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
            Folder to search.
        *names : str
            Possible names of the file.

        Returns
        -------
        Path
            The first of these files that exists.
        """
        for name in names:
            if (folder / name).is_file():
                return folder / name
        raise InputError(
            f"{VARIABLE} is set, but {folder} has no file {' or '.join(names)}: "
            f"download {self.name} from {self.page} into it, or unset {VARIABLE} to "
            "fetch it from OpenML"
        )

    def fetch(self) -> list[pd.DataFrame]:
        """Fetch the tables from OpenML; scikit-learn caches them.

        Returns
        -------
        list of pandas.DataFrame
            Tables with all columns, including the response.
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
                f"{self.page} and set {VARIABLE} to the folder above {self.folder}/"
            ) from error

    def check(self, X: pd.DataFrame, y: Any) -> None:
        """Check that rows are those of the published data set.

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
