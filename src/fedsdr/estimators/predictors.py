"""What models of y on the reduced variables share."""

from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from fedsdr.arrays import Vector
from fedsdr.estimation.additive_fit import MOST_NEWTON, axes_of, fit_additive
from fedsdr.estimators.checks import check_choice
from fedsdr.estimators.fed_ssir import PROTOCOLS, FedSSIR
from fedsdr.estimators.reducer import REQUESTED_MARKS, Reducer, random_generator
from fedsdr.exceptions import InputError
from fedsdr.extras import require
from fedsdr.method import Method
from fedsdr.prediction.model_file import write_model
from fedsdr.prediction.prediction_model import PredictionModel
from fedsdr.questions import RowSettings, ask_sites
from fedsdr.rows.own_sites import OwnSites, split_sites
from fedsdr.rows.row_marks import RowMarks
from fedsdr.run import run
from fedsdr.summaries.families import Family
from fedsdr.summaries.newton_parts import OWN
from fedsdr.terms import Variables


class Predictor(Reducer):
    """A reduction, and an additive model of y on the reduced variables."""

    __metadata_request__fit: ClassVar = REQUESTED_MARKS
    __metadata_request__predict: ClassVar = {"sites": True}
    __metadata_request__score: ClassVar = {"sites": True, "sample_weight": True}

    _kept_types = (np.float64, np.float32)
    _takes_sparse = True

    model_: PredictionModel

    def _fit_model(
        self,
        rows: Any,
        y: Vector,
        marks: RowMarks,
        family: Family,
        classes: tuple[Any, ...] = (),
    ) -> Self:
        """Reduce, then fit the additive model, with the same adder.

        Rows have been repeated by their weights.
        """
        check_choice("own", self.own, OWN)
        reducer = self.reducer
        if reducer is None:
            reducer = FedSSIR(scores="normal")
        if not isinstance(reducer, FedSSIR):
            raise InputError("reducer must be a FedSSIR, or None for the default")
        check_choice("reducer's protocol", reducer.protocol, PROTOCOLS)
        method = self._response_as(reducer._method(), discrete=bool(classes))
        generator = random_generator(reducer.random_state)
        parts = split_sites(rows, y, marks.sites, generator, marks.groups)
        names, alone = self._feature_names(), len(parts) == 1
        known = Variables(names, bool(classes), strict=alone, honest=len(parts))
        own_sites = OwnSites(parts, known)
        adder: Any = own_sites
        terms = replace(method.terms(known), max_steps=MOST_NEWTON)
        if reducer.protocol == "secure":
            require("secure", "protocol='secure'")
            from fedsdr.estimators.masked_sites import join_under_masks

            adder, _ = join_under_masks(own_sites, terms)
        result = run(adder, method, generator)
        self._adopt(
            result, protocol=reducer.protocol, random_state=reducer.random_state
        )
        axes = axes_of(self.result_, terms)
        axes = replace(axes, settings=RowSettings(scores=result.scores))
        fit = ask_sites(adder, fit_additive(axes, family, self.own))
        deviations = {}
        if self.own != "nothing" and not alone:
            # Each site has its own coefficients; the analyst's sites are all here.
            deviations = {
                label: fit.question.deviation_of(own) for label, own in parts.items()
            }
        self.model_ = PredictionModel.from_fit(
            self.result_, fit, deviations, classes=classes
        )
        return self

    def _response_as(self, method: Method, *, discrete: bool) -> Method:
        if method.privacy is not None:
            raise InputError(
                "a model of y needs exact sums: leave privacy out, or fit FedSSIR alone"
            )
        if method.response != "auto":
            return method
        return replace(method, response="classes" if discrete else "ordered")

    def _mean(self, X: Any, sites: Any) -> Vector:
        check_is_fitted(self)
        predictor = self.model_.predictor(self.transform(X), sites)
        return self.model_.family.mean(predictor)

    def effect(self, direction: int = 0, points: Any = None) -> pd.DataFrame:
        """Return how the predictor depends on one reduced variable.

        Parameters
        ----------
        direction : int, default=0
            Number of the direction, from 0.
        points : array-like of shape (n_points,), optional
            Values of the reduced variable.

        Returns
        -------
        pandas.DataFrame
            Columns "at", "effect", "lower" and "upper", see `PredictionModel.curve`.
        """
        check_is_fitted(self)
        return self.model_.curve(direction, points)

    def to_json(self, path: str | Path | None = None) -> str:
        """Write the model as JSON, which `fedsdr predict` and `read_model` read.

        Parameters
        ----------
        path : str or Path, optional
            File that is also written.

        Returns
        -------
        str
            JSON text, without code.
        """
        check_is_fitted(self)
        return write_model(self.model_, path)
