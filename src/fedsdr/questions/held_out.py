"""How well rows are predicted by models that were fitted without them."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from fedsdr.arrays import Vector
from fedsdr.questions.additive_steps import NewtonOf
from fedsdr.questions.question import AS_HELD, Question, RowSettings
from fedsdr.rows.folds import ScoreFold
from fedsdr.rows.site_rows import Rows
from fedsdr.summaries.families import Family
from fedsdr.summaries.near_rows import near_means
from fedsdr.summaries.prediction_sums import count_sums, prediction_sums
from fedsdr.terms import AgreedModel, Terms


@dataclass(frozen=True, slots=True, eq=False)
class HeldOutOf(Question[Vector]):
    """Errors of predictions of all rows, each by the model without its fold.

    Parameters
    ----------
    terms : Terms
        Terms that all parties agreed on, with folds by which predictions are scored.
    models : tuple of NewtonOf, default=()
        Model without each fold. Messages do not hold them: sites have fitted the same
        ones, and use their own.
    settings : RowSettings, default=AS_HELD
        How rows are prepared.
    """

    name: ClassVar[str] = "held_out"
    terms: Terms
    models: tuple[NewtonOf, ...] = ()
    settings: RowSettings = AS_HELD

    @property
    def agreed(self) -> AgreedModel:
        """The model that the study agreed on."""
        assert self.terms.model is not None
        return self.terms.model

    @property
    def n_values(self) -> int:
        """Number of values: five, and three per bin of two classes."""
        return count_sums(Family(self.agreed.family))

    def compute(self, rows: Rows) -> Vector:
        """Add errors and losses of the rows of one site.

        Parameters
        ----------
        rows : Rows
            Rows of the site.

        Returns
        -------
        ndarray of shape (n_values,)
            See `prediction_sums`. Errors are of single rows; into bins of the
            predictor go means of groups of rows with like predictions.
        """
        parts = [self._predicted(model, rows) for model in self.models]
        predictor, y = (np.concatenate(one) for one in zip(*parts, strict=True))
        family = Family(self.agreed.family)
        shown = near_means(predictor[:, None], y, self.agreed.group_rows)[:, 0]
        return prediction_sums(y, family.mean(predictor), family, family.mean(shown))

    def _predicted(self, model: NewtonOf, rows: Rows) -> tuple[Vector, Vector]:
        """Predict the rows of a fold, with what the site has of its own elsewhere."""
        fold = model.settings.fold
        assert fold is not None
        outside = replace(model, settings=replace(self.settings, fold=fold))
        held = replace(
            self.settings, fold=ScoreFold(fold.number, fold.n_folds, held=True)
        )
        columns, y = replace(model, settings=held).columns_of(rows, grouped=False)
        predictor = columns @ model.coefficients
        if model.deviation.own != "nothing":
            own = model.deviation.columns(columns)
            predictor = predictor + own @ outside.deviation_of(rows)
        return predictor, y

    def request(self) -> dict[str, Any]:
        """Return how rows are prepared.

        Returns
        -------
        dict
            Dictionary of `RowSettings.request`.
        """
        return self.settings.request()
