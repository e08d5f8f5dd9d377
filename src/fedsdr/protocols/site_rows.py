"""The rows of one site, and the sums that it can tell about them."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedsdr.exceptions import InputError, SiteWarning
from fedsdr.protocols.terms import Terms
from fedsdr.protocols.vectors import pack
from fedsdr.selection import bic_dimension
from fedsdr.summaries import Summary, prediction_errors, summarize

Matrix = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(slots=True, eq=False)
class SiteRows:
    """The rows of one site, which only it may look at.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        Its rows.
    y : ndarray of shape (n_rows,)
        Its responses.
    generator : numpy.random.Generator
        Splits the rows into folds.
    label : object, default=None
        Name for messages to the site's own people, None for the only site.
    columns : tuple of str, default=()
        Names of the columns, where they are known.
    """

    X: Matrix
    y: NDArray[Any]
    generator: np.random.Generator
    label: object = None
    columns: tuple[str, ...] = ()
    _held: Mask | None = field(default=None, init=False)
    _gaps: Mask | None = field(default=None, init=False)
    _fold: NDArray[np.intp] | None = field(default=None, init=False)

    def moments(self, terms: Terms) -> Matrix:
        """Compute every sum that the terms ask for.

        Parameters
        ----------
        terms : Terms
            Agreed between all parties.

        Returns
        -------
        ndarray of shape (terms.n_values,)
            Summaries of all parts, then the vote as an indicator.
        """
        self.check(terms)
        total = self.summarize(terms, strict=terms.strict)
        with warnings.catch_warnings():
            # All rows together have just been judged; a fold may well be too small.
            warnings.simplefilter("ignore", SiteWarning)
            parts = [self.summarize(terms, kept) for kept in self._masks(terms)]
            vote = self._vote(total, terms.max_votes)
        return np.concatenate([*map(pack, [total, *parts]), vote])

    def check(self, terms: Terms, columns: tuple[str, ...] = ()) -> None:
        """Check that the rows are those that a study is about.

        Parameters
        ----------
        terms : Terms
            Agreed between all parties.
        columns : tuple of str, default=()
            Names that the study gives its columns, in order.

        Raises
        ------
        InputError
            Naming columns and counts, never a value.
        """
        if self.X.shape[1] != terms.n_features:
            raise InputError(
                f"this site has {self.X.shape[1]} columns and the study "
                f"{terms.n_features}"
            )
        if columns and self.columns and columns != self.columns:
            pairs = zip(self.columns, columns, strict=True)
            own, wanted = next(pair for pair in pairs if pair[0] != pair[1])
            raise InputError(
                f"this site has column '{own}' where the study has '{wanted}': the "
                "same columns are needed, in the same order"
            )
        missing = ~np.isfinite(self.X).all(axis=0)
        numeric = self.y.dtype.kind == "f"
        if missing.any() or (numeric and not np.isfinite(self.y).all()):
            raise InputError(
                f"{int(missing.sum())} column(s) of X, or y, have values that are "
                "missing or not finite: leave those rows out or fill them in"
            )

    def totals(self, columns: Sequence[int]) -> Matrix:
        """Count and add the values that are there, in columns with gaps.

        Parameters
        ----------
        columns : sequence of int
            Places of the columns.

        Returns
        -------
        ndarray of shape (2 * n_columns,)
            Numbers of values, then their sums.
        """
        gaps = self._gaps_in(columns)
        values = np.where(gaps, 0.0, self.X[:, columns])
        return np.concatenate([(~gaps).sum(axis=0), values.sum(axis=0)])

    def fill(self, columns: Sequence[int], values: Matrix) -> None:
        """Fill gaps, in place of what they were filled with before.

        Parameters
        ----------
        columns : sequence of int
            Places of the columns, the same in every call.
        values : ndarray of shape (n_columns,)
            What to fill in.
        """
        gaps = self._gaps_in(columns)
        self.X[:, columns] = np.where(gaps, values, self.X[:, columns])

    def errors(self, terms: Terms, bases: Sequence[Matrix]) -> Matrix:
        """Compute the validation error of candidate directions (eq2.14).

        Parameters
        ----------
        terms : Terms
            Agreed between all parties.
        bases : sequence of ndarray of shape (n_features, K)
            Candidates.

        Returns
        -------
        ndarray of shape (n_candidates,)
            Mean squared errors on the rows held out.
        """
        held = self.hold_out(terms)
        errors = prediction_errors(
            (self.X[~held], self.y[~held]),
            (self.X[held], self.y[held]),
            bases,
            discrete=terms.discrete,
        )
        return errors / held.sum()

    def summarize(
        self, terms: Terms, kept: Mask | None = None, *, strict: bool = False
    ) -> Summary:
        """Summarise all rows, or some.

        Parameters
        ----------
        terms : Terms
            Agreed between all parties.
        kept : ndarray of bool, shape (n_rows,), optional
            Rows to use.
        strict : bool, default=False
            Whether rows that give no kernel are an error, not a warning.

        Returns
        -------
        Summary
            Of this site.
        """
        return summarize(
            self.X if kept is None else self.X[kept],
            self.y if kept is None else self.y[kept],
            slice_size=terms.slice_size,
            n_slices=terms.n_slices,
            kernel=terms.kernel,
            target="classes" if terms.discrete else "continuous",
            on_degenerate="raise" if strict else "zero",
            site=self.label,
        )

    def hold_out(self, terms: Terms) -> Mask:
        """Draw the rows to hold out for validation, once.

        Parameters
        ----------
        terms : Terms
            Agreed between all parties.

        Returns
        -------
        ndarray of bool, shape (n_rows,)
            True for rows held out; the same in every call.
        """
        if self._held is None:
            n_rows = len(self.y)
            count = round(terms.validation_fraction * n_rows)
            if not 1 <= count < n_rows:
                raise InputError(
                    f"holding out {terms.validation_fraction:.0%} of {n_rows} rows "
                    "leaves nothing to fit or to validate on: use penalty='universal'"
                )
            self._held = self.generator.permutation(n_rows) < count
        return self._held

    def _gaps_in(self, columns: Sequence[int]) -> Mask:
        if self._gaps is None:
            self.X = self.X.copy()
            self._gaps = np.isnan(self.X[:, columns])
        return self._gaps

    def _vote(self, total: Summary, max_votes: int) -> Matrix:
        vote = np.zeros(max_votes)
        if max_votes and total.between.any():
            vote[bic_dimension(total.kernel, total.n_rows, max_votes) - 1] = 1.0
        return vote

    def _masks(self, terms: Terms) -> list[Mask]:
        masks: list[Mask] = []
        if terms.n_folds:
            fold = self._assign(terms.n_folds)
            for number in range(terms.n_folds):
                masks += [fold != number, fold == number]
        if terms.validation_fraction:
            masks.append(~self.hold_out(terms))
        return masks

    def _assign(self, n_folds: int) -> NDArray[np.intp]:
        """Draw the folds, once: a sum that is asked for again must be the same."""
        if len(self.y) < 2 * n_folds:
            raise InputError(
                f"{n_folds} folds need {2 * n_folds} rows at every site, but one has "
                f"{len(self.y)}: use fewer folds or penalty='universal'"
            )
        if self._fold is None:
            self._fold = self.generator.permutation(len(self.y)) % n_folds
        return self._fold
