"""The ``[prediction]`` table of a study file: a model of y on the reduced variables."""

from typing import Literal

from pydantic import BaseModel, Field, StrictBool, StrictInt

from fedsdr.estimation.additive_fit import MOST_NEWTON, N_CHOOSING
from fedsdr.exceptions import InputError
from fedsdr.study.study_columns import FROZEN, Target
from fedsdr.summaries.safe_bins import FEWEST_ROWS
from fedsdr.terms import AgreedModel

#: Folds at most.
MOST_FOLDS = 10

#: Newton steps at most, if a study says nothing; mostly 5 to 10 are enough.
USUAL_STEPS = 20


class PredictionTable(BaseModel):
    """The model that sites fit together after the directions are known.

    Parameters
    ----------
    family : {"auto", "linear", "logistic", "poisson"}, default="auto"
        Distribution of y; "auto" for linear, or logistic if y holds two classes.
    site_intercepts : bool, default=False
        Whether every site has an intercept of its own, which it keeps, shrunk to that
        of all sites.
    steps : int, default=20
        Newton steps at most, each of which is one sum.
    group_rows : int, default=10
        Fewest rows of a group: sites compute with means of such groups.
    folds : int, default=0
        Folds of every site's rows by which predictions are scored: everything is fitted
        once more without each of them. 0 for no scores.
    """

    model_config = FROZEN

    family: Literal["auto", "linear", "logistic", "poisson"] = "auto"
    site_intercepts: StrictBool = False
    steps: StrictInt = Field(default=USUAL_STEPS, gt=N_CHOOSING, le=MOST_NEWTON)
    group_rows: StrictInt = Field(default=FEWEST_ROWS, ge=3, le=1000)
    folds: StrictInt = Field(default=0, ge=0, le=MOST_FOLDS)

    def for_response(self, target: Target, *, discrete: bool) -> AgreedModel:
        """Combine the table with what the study says about the response.

        Parameters
        ----------
        target : Target
            The response.
        discrete : bool
            Whether each value of the response is a class by itself.

        Returns
        -------
        AgreedModel
            Part of the terms. An `InputError` says why a response has no such model.
        """
        if self.folds == 1:
            raise InputError(
                "[prediction] folds = 1 leaves no row to fit to: use 5, or 0 for no "
                "scores"
            )
        usual = "logistic" if discrete else "linear"
        family = usual if self.family == "auto" else self.family
        if discrete and (family != "logistic" or len(target.classes) != 2):
            raise InputError(
                "[prediction] needs two classes, for a logistic model: declare the "
                "target as a boolean or as a category with two levels, join others "
                "with recode, or remove the table"
            )
        if not discrete and family == "logistic":
            raise InputError(
                "[prediction] family = 'logistic' needs a target of two classes: "
                "declare it as a boolean or as a category with two levels"
            )
        low = target.plan(target.name).feature_range
        if family == "poisson" and (low is None or low[0] < 0.0):
            raise InputError(
                "[prediction] family = 'poisson' needs counts, which sites check "
                "beforehand: declare range = [0, highest] for the target"
            )
        own = "intercepts" if self.site_intercepts else "nothing"
        return AgreedModel(family, own, self.group_rows, self.folds)
