"""The rows of one site, in memory."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedsdr.disclosure import Facts
from fedsdr.exceptions import InputError, SiteWarning
from fedsdr.rows.site_rows import LARGEST, Mask, Matrix, Rows, check_names
from fedsdr.summaries import Summary, prediction_errors, summarize
from fedsdr.terms import Terms


@dataclass(slots=True, eq=False)
class MemoryRows(Rows):
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

    X: Matrix = field(repr=False)
    y: NDArray[Any] = field(repr=False)
    generator: np.random.Generator
    label: object = None
    columns: tuple[str, ...] = ()
    _seed: int = field(default=0, init=False, repr=False)
    _gaps: Mask | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._seed = int(self.generator.integers(2**63))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.y)

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
        check_names(self.X.shape[1], self.columns, terms, columns)
        missing = ~(np.abs(self.X) < LARGEST).all(axis=0)
        numeric = self.y.dtype.kind == "f"
        if missing.any() or (numeric and not (np.abs(self.y) < LARGEST).all()):
            raise InputError(
                f"{int(missing.sum())} column(s) of X, or y, have values that are "
                "missing, not finite or beyond all measure: leave those rows out or "
                "fill them in"
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

    def observe(
        self, look: Callable[..., Facts], columns: tuple[str, ...], **terms: Any
    ) -> Facts:
        """Count what disclosure rules need to know.

        Parameters
        ----------
        look : callable
            Such as `fedsdr.disclosure.observe`.
        columns : tuple of str
            Names that the study gives its columns.
        **terms : object
            For `look`.

        Returns
        -------
        Facts
            About all rows.
        """
        return look(self.X, self.y, columns, **terms)

    def _summarize_all(self, terms: Terms, masks: Sequence[Mask]) -> list[Summary]:
        total = self.summarize(terms, strict=terms.strict)
        with warnings.catch_warnings():
            # All rows together have just been judged; a fold may well be too small.
            warnings.simplefilter("ignore", SiteWarning)
            return [total, *(self.summarize(terms, kept) for kept in masks)]

    def _gaps_in(self, columns: Sequence[int]) -> Mask:
        if self._gaps is None:
            self.X = self.X.copy()
            self._gaps = np.isnan(self.X[:, columns])
        return self._gaps
