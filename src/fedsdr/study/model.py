"""How a study chooses dimension, penalty and variables."""

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field, StrictBool, StrictInt

from fedsdr.selection import Choices
from fedsdr.selection.evidence import DimensionRule, PenaltyRule
from fedsdr.study.study_columns import FROZEN
from fedsdr.summaries.one_site import Kernel
from fedsdr.terms import Terms


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _dimension(value: Any) -> Any:
    whole = isinstance(value, int) and not isinstance(value, bool) and value >= 1
    if not whole and value not in ("auto", "bic", "votes"):
        raise ValueError("must be 'auto', 'bic', 'votes' or a whole number from 1 on")
    return value


def _penalty(value: Any) -> Any:
    positive = _is_number(value) and 0.0 < value < float("inf")
    if not positive and value not in ("universal", "moments", "holdout"):
        raise ValueError(
            "must be 'universal', 'moments', 'holdout' or a positive number"
        )
    return float(value) if positive else value


def _refit(value: Any) -> Any:
    if isinstance(value, bool) or (_is_number(value) and 0.0 < value < 1.0):
        return value
    raise ValueError("must be true, false or a number between 0 and 1")


def _fraction(value: Any) -> Any:
    if _is_number(value) and 0.0 < value < 1.0:
        return value
    raise ValueError("must be a number between 0 and 1")


Dimension = Annotated[int | DimensionRule, BeforeValidator(_dimension)]
Penalty = Annotated[float | PenaltyRule, BeforeValidator(_penalty)]
Refit = Annotated[bool | float, BeforeValidator(_refit)]
Fraction = Annotated[float, BeforeValidator(_fraction)]


class ModelSettings(BaseModel):
    """What `fedsdr.FedSSIR` calls its parameters, with the same defaults.

    Parameters
    ----------
    n_directions : int or {"auto", "bic", "votes"}, default="auto"
        Dimension K, or how to choose it.
    penalty : float or {"universal", "moments", "holdout"}, default="universal"
        rho, or how to choose it.
    kernel : {"smooth", "slices", "pairs"}, default="smooth"
        How the movement of x with y is measured.
    slice_size : int, default=20
        Rows in a slice.
    refit : bool or float, default=True
        Whether and how directions are computed again on the selected variables.
    standardize : bool, default=True
        Whether columns are put on a common scale, by the pooled within-site variance.
    max_directions : int, default=5
        Largest dimension considered.
    n_folds : int, default=5
        For the penalty "moments".
    validation_fraction : float, default=0.3
        For the penalty "holdout".
    n_penalties : int, default=20
        Size of the grid for "moments" and "holdout".
    min_ratio : float, default=0.15
        Smallest penalty of that grid over the one that selects nothing.
    tol : float, default=1e-6
        Relative duality gap of the convex problem.
    seed : int, default=0
        Decides ties between votes. Folds are drawn by each site, from a secret of its
        own.
    """

    model_config = FROZEN

    n_directions: Dimension = "auto"
    penalty: Penalty = "universal"
    kernel: Kernel = "smooth"
    slice_size: StrictInt = Field(default=20, ge=2)
    refit: Refit = True
    standardize: StrictBool = True
    max_directions: StrictInt = Field(default=5, ge=1)
    n_folds: StrictInt = Field(default=5, ge=2)
    validation_fraction: Fraction = 0.3
    n_penalties: StrictInt = Field(default=20, ge=1)
    min_ratio: Fraction = 0.15
    tol: Fraction = 1e-6
    seed: StrictInt = Field(default=0, ge=0)

    def choices(self) -> Choices:
        """Say how the coordinator chooses.

        Returns
        -------
        Choices
            For `fedsdr.selection.estimate`.
        """
        return Choices(
            n_directions=self.n_directions,
            penalty=self.penalty,
            refit=self.refit,
            standardize=self.standardize,
            max_directions=self.max_directions,
            n_penalties=self.n_penalties,
            min_ratio=self.min_ratio,
            tol=self.tol,
        )

    def terms(self, n_features: int, *, discrete: bool) -> Terms:
        """Say what sites compute.

        Parameters
        ----------
        n_features : int
            Columns of X, indicators included.
        discrete : bool
            Whether y holds classes.

        Returns
        -------
        Terms
            Asking for no more than the choices need.
        """
        moments, holdout = self.penalty == "moments", self.penalty == "holdout"
        return Terms(
            n_features=n_features,
            kernel=self.kernel,
            slice_size=self.slice_size,
            discrete=discrete,
            max_votes=self.max_directions if self.n_directions == "votes" else 0,
            n_folds=self.n_folds if moments else 0,
            validation_fraction=self.validation_fraction if holdout else 0.0,
            max_candidates=self.n_penalties,
        )
