"""A site's own copy of the fit of a model, made of sums that it has opened itself."""

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from fedsdr.arrays import Vector
from fedsdr.estimation.additive_fit import AdditiveFit, fit_additive
from fedsdr.exceptions import Refusal
from fedsdr.questions import (
    Asking,
    AxesOf,
    HeldOutOf,
    NewtonOf,
    Question,
    fold_number,
)
from fedsdr.summaries.families import Family
from fedsdr.terms import Terms

#: Sums of a model that every site opens, if a study agreed on the model.
FOLLOWED = (AxesOf.name, NewtonOf.name, HeldOutOf.name)

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

    Notes
    -----
    The coordinator chooses the axes, once. Where knots are follows from the sum of the
    axes, and coefficients of every step from the sum of the step before: the site runs
    the same fit (`fit_additive`) on the sums that it has opened, and answers the
    question that it would ask itself, or none.
    """

    def __init__(self, terms: Terms) -> None:
        self.fitted: AdditiveFit | None = None
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
        if self._model is None or not isinstance(question, AxesOf | NewtonOf):
            return question
        if self._fit is None:
            if not isinstance(question, AxesOf):
                raise Refusal("ORDER", "the sum of axes was not opened at this site")
            return question
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
        question : AxesOf or NewtonOf
            Question that the sum answers, settled.
        digest : bytes
            Digest of the question.
        vector : ndarray of shape (n_values,)
            The opened sum.
        """
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


class ReplayedModels:
    """All models of a study as a site follows them.

    Parameters
    ----------
    terms : Terms
        Terms that the site agreed to.

    Notes
    -----
    There is one model of all rows, and one without each fold by which predictions are
    scored. A coordinator chooses the axes of each, once.
    """

    def __init__(self, terms: Terms) -> None:
        self._models = [ReplayedModel(terms) for _ in range(1 + terms.score_folds)]
        self._scores: tuple[bytes, Vector] | None = None

    @property
    def fitted(self) -> AdditiveFit | None:
        """The model of all rows, once it is fitted."""
        return self._models[0].fitted

    @property
    def scored(self) -> Vector | None:
        """Sum of `HeldOutOf`, once it is opened."""
        return None if self._scores is None else self._scores[1]

    def settle(self, question: Question[Any]) -> Question[Any]:
        """Replace what the coordinator sent by what follows from opened sums.

        Parameters
        ----------
        question : Question
            Question as it was read from a message, with this site's own settings.

        Returns
        -------
        Question
            See `ReplayedModel.settle`. Predictions are those of this site's own models;
            a `Refusal` if one of them is not fitted yet.
        """
        if not isinstance(question, HeldOutOf):
            return self._models[fold_number(question)].settle(question)
        fits = [one.fitted for one in self._models[1:]]
        models = tuple(fit.question for fit in fits if fit is not None)
        if len(models) < len(fits):
            raise Refusal("ORDER", "a model without a fold is not fitted yet")
        return replace(question, models=models)

    def knows(self, digest: bytes, vector: Vector) -> bool:
        """Return whether a sum has been opened before, see `ReplayedModel.knows`.

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
        if self._scores is not None and self._scores[0] == digest:
            if not np.array_equal(self._scores[1], vector):
                raise Refusal("TAMPERED", "another sum of this kind was opened before")
            return True
        return any(one.knows(digest, vector) for one in self._models)

    def take(self, question: Question[Any], digest: bytes, vector: Vector) -> None:
        """Go on with a fit, or keep the errors of predictions.

        Parameters
        ----------
        question : AxesOf, NewtonOf or HeldOutOf
            Question that the sum answers, settled.
        digest : bytes
            Digest of the question.
        vector : ndarray of shape (n_values,)
            The opened sum.
        """
        if isinstance(question, HeldOutOf):
            self._scores = digest, vector
        else:
            self._models[fold_number(question)].take(question, digest, vector)


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
