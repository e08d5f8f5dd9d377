"""How well a study's model predicts rows of folds that it was fitted without."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from fedsdr.exceptions import InputError
from fedsdr.result_checks import read_numbers

#: Where the settings of a result have the scores.
EVALUATION = "evaluation"

_PROBLEM = f"not a fedsdr result: '{EVALUATION}'"


@dataclass(frozen=True, slots=True)
class ScoredFolds:
    """Cross-validated scores: everything was fitted again without each fold.

    Parameters
    ----------
    n_folds : int
        Folds of every site's rows.
    n_rows : int
        Rows of all sites, each predicted once.
    r2 : float
        Share of the variance of y that is predicted.
    mse : float
        Mean squared error; Brier's score for two classes.
    log_loss, auc : float or None
        For two classes.
    calibration : tuple of (int, float, float)
        For two classes about ten groups of rows: their number, mean predicted
        probability, and observed share of the second class.
    """

    n_folds: int
    n_rows: int
    r2: float
    mse: float
    log_loss: float | None = None
    auc: float | None = None
    calibration: tuple[tuple[int, float, float], ...] = ()

    def to_mapping(self) -> dict[str, Any]:
        """Write the scores as values that JSON can hold.

        Returns
        -------
        dict
            Value of each parameter by its name.
        """
        return {**asdict(self), "calibration": [list(one) for one in self.calibration]}

    @classmethod
    def read(cls, settings: Mapping[str, Any]) -> "ScoredFolds | None":
        """Read the scores that a result carries.

        Parameters
        ----------
        settings : mapping
            `Result.settings`.

        Returns
        -------
        ScoredFolds or None
            None if it has none. An `InputError` if a file holds something else.
        """
        found = settings.get(EVALUATION)
        if found is None:
            return None
        names = set(cls.__dataclass_fields__)
        if not isinstance(found, dict) or set(found) != names:
            raise InputError(f"{_PROBLEM} must hold {', '.join(sorted(names))}")
        for name in ("n_folds", "n_rows"):
            if type(found[name]) is not int or found[name] < 1:
                raise InputError(f"{_PROBLEM}: {name} must be a number of them")
        table = found["calibration"]
        if not isinstance(table, list):
            raise InputError(f"{_PROBLEM}: calibration must be a table")
        scores = {
            name: float(read_numbers(found[name], f"{_PROBLEM}: {name}", ()))
            for name in ("r2", "mse", "log_loss", "auc")
            if found[name] is not None or name in ("r2", "mse")
        }
        rows = read_numbers(table, f"{_PROBLEM}: calibration", (len(table), 3))
        return cls(
            found["n_folds"],
            found["n_rows"],
            calibration=tuple((round(n), p, o) for n, p, o in rows.tolist()),
            **scores,
        )

    def describe(self) -> str:
        """Say in words how well the model predicts.

        Returns
        -------
        str
            The scores that people look at first, and what they are of.
        """
        if self.auc is None or self.log_loss is None:
            first = f"R2 {self.r2:.3f}, root mean squared error {self.mse**0.5:.4g}"
        else:
            first = f"AUC {self.auc:.3f}, log loss {self.log_loss:.4g}"
        return (
            f"{first} ({self.n_rows} rows, each predicted without its fold, "
            f"{self.n_folds} folds)"
        )
