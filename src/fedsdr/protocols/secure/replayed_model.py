"""A site's own copy of the fit of a model, made of sums that it has opened itself."""

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from fedsdr.arrays import Vector
from fedsdr.estimation.additive_fit import AdditiveFit, fit_additive
from fedsdr.exceptions import Refusal
from fedsdr.questions import Asking, AxesOf, MeasuresOf, NewtonOf, Question
from fedsdr.summaries.families import Family
from fedsdr.terms import Terms

#: Sums of a model that every site opens, if a study agreed on the model.
FOLLOWED = (AxesOf.name, NewtonOf.name, MeasuresOf.name)

# Machines differ in the last digits of what they solve. What a site computes with is
# its own value, so that nothing can be chosen within these limits.
CLOSE = 1e-5


class ReplayedModel:
    """The fit of a model as a site follows it.

    Parameters
    ----------
    terms : Terms
        Terms that the site agreed to.

    Attributes
    ----------
    fitted : AdditiveFit or None
        The model, once it is fitted.
    measured : ndarray or None
        How well it predicts the rows of its fold, see `MeasuresOf`, once that is known.

    Notes
    -----
    The coordinator chooses the axes, once. Where knots are follows from the sum of the
    axes, and coefficients of every step from the sum of the step before: the site runs
    the same fit (`fit_additive`) on the sums that it has opened, and answers the
    question that it would ask itself, or none.
    """

    def __init__(self, terms: Terms) -> None:
        self.fitted: AdditiveFit | None = None
        self.measured: Vector | None = None
        self._model = terms.model
        self._fit: Asking[AdditiveFit] | None = None
        self._next: Question[Any] | None = None
        self._taken: list[tuple[bytes, Vector]] = []

    def settle(self, question: Question[Any]) -> Question[Any]:
        """Replace what the coordinator sent by what follows from opened sums.

        Parameters
        ----------
        question : Question
            Question as it was read from a message, with this site's own settings.

        Returns
        -------
        Question
            The same, with this site's own knots, coefficients and weights. A `Refusal`
            if the coordinator's are others, or if earlier sums were not opened here.
        """
        if self._model is None or question.name not in FOLLOWED:
            return question
        if self._fit is None:
            if not isinstance(question, AxesOf):
                raise Refusal("ORDER", "the sum of axes was not opened at this site")
            return question
        if isinstance(question, MeasuresOf):
            if self.fitted is None:
                raise Refusal("ORDER", "the model of this fold is not fitted yet")
            own = self.fitted.question
            _compare(question.model, own)
            return replace(question, model=own)
        if not isinstance(question, NewtonOf) or not isinstance(self._next, NewtonOf):
            raise Refusal("TAMPERED", "the fit of the model asks for no such sum now")
        _compare(question, self._next)
        return replace(self._next, settings=question.settings)

    def knows(self, digest: bytes, vector: Vector) -> bool:
        """Return whether a sum has been opened before, as it is now.

        Parameters
        ----------
        digest : bytes
            Digest of the question.
        vector : ndarray of shape (n_values,)
            The opened sum.

        Returns
        -------
        bool
            False if there was none; a `Refusal` if there was another one.
        """
        known = [own for other, own in self._taken if other == digest]
        if known and not np.array_equal(known[0], vector):
            raise Refusal("TAMPERED", "another sum of this kind was opened before")
        return bool(known)

    def take(self, question: Question[Any], digest: bytes, vector: Vector) -> None:
        """Go on with the fit.

        Parameters
        ----------
        question : AxesOf, NewtonOf or MeasuresOf
            Question that the sum answers, settled.
        digest : bytes
            Digest of the question.
        vector : ndarray of shape (n_values,)
            The opened sum.
        """
        if isinstance(question, MeasuresOf):
            self._taken.append((digest, vector))
            self.measured = vector
            return
        if self._fit is None and isinstance(question, AxesOf):
            model = self._model
            family, own = Family(model.family), model.own  # type: ignore[union-attr]
            self._fit = fit_additive(question, family, own)
            next(self._fit)
        self._taken.append((digest, vector))
        self._next = None
        with warnings.catch_warnings():
            # The coordinator is told that a model did not settle.
            warnings.simplefilter("ignore")
            try:
                self._next = self._fit.send(vector)  # type: ignore[union-attr]
            except StopIteration as end:
                self.fitted = end.value


def replayed_models(terms: Terms) -> list[ReplayedModel]:
    """Begin to follow all models of a study.

    Parameters
    ----------
    terms : Terms
        Terms that the site agreed to.

    Returns
    -------
    list of ReplayedModel
        That of all rows, then those without each fold.
    """
    return [ReplayedModel(terms) for _ in range(1 + terms.score_folds)]


def _compare(asked: NewtonOf, own: NewtonOf) -> None:
    pairs = (
        (asked.axes.columns, own.axes.columns),
        (asked.axes.scale, own.axes.scale),
        (asked.axes.basis, own.axes.basis),
        (asked.splines.centre, own.splines.centre),
        (asked.splines.spread, own.splines.spread),
        (np.log(asked.deviation.weights), np.log(own.deviation.weights)),
        (asked.coefficients, own.coefficients),
    )
    for sent, ours in pairs:
        size = CLOSE * (1.0 + np.abs(ours).max())
        if sent.shape != ours.shape or not np.allclose(sent, ours, rtol=0.0, atol=size):
            raise Refusal(
                "TAMPERED", "the model does not follow from the sums of the sites"
            )
