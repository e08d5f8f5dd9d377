"""What rows of a site have in common, whether they are in memory or read in batches."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedsdr.arrays import Mask, Matrix
from fedsdr.disclosure import Facts
from fedsdr.exceptions import InputError
from fedsdr.method import Terms
from fedsdr.summaries import Summary

# Far beyond any unit; within it, nothing that is computed can overflow.
LARGEST = 1e100


class Rows(ABC):
    """The rows of one site, and the sums that it can compute from them.

    They are in memory (`fedsdr.rows.MemoryRows`) or read in batches
    (`fedsdr.rows.StreamedRows`), with the same sums.
    """

    __slots__ = ()

    generator: np.random.Generator
    columns: tuple[str, ...]
    _seed: int

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Number of rows."""

    @abstractmethod
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

    @abstractmethod
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

    @abstractmethod
    def fill(self, columns: Sequence[int], values: Matrix) -> None:
        """Fill gaps, in place of what they were filled with before.

        Parameters
        ----------
        columns : sequence of int
            Places of the columns, the same in every call.
        values : ndarray of shape (n_columns,)
            What to fill in.
        """

    @abstractmethod
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

    @abstractmethod
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

    @abstractmethod
    def summarize_parts(self, terms: Terms) -> list[Summary]:
        """Summarise all rows, and the folds and fitting rows that the terms ask for.

        Parameters
        ----------
        terms : Terms
            Agreed between all parties.

        Returns
        -------
        list of Summary
            In the order of `Terms.parts`. All rows together are judged as strictly as
            the terms say; a part may be too small for a kernel.
        """

    def hold_out(self, terms: Terms) -> Mask:
        """Draw the rows to hold out for validation.

        Parameters
        ----------
        terms : Terms
            Agreed between all parties.

        Returns
        -------
        ndarray of bool, shape (n_rows,)
            True for rows held out; the same in every call.
        """
        n_rows = self.n_rows
        count = round(terms.validation_fraction * n_rows)
        if not 1 <= count < n_rows:
            raise InputError(
                f"holding out {terms.validation_fraction:.0%} of {n_rows} rows "
                "leaves nothing to fit or to validate on: use penalty='universal'"
            )
        return self._shuffled(n_rows, "held", count) < count

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
        if self.n_rows < 2 * n_folds:
            raise InputError(
                f"{n_folds} folds need {2 * n_folds} rows at every site, but one has "
                f"{self.n_rows}: use fewer folds or penalty='universal'"
            )
        return self._shuffled(self.n_rows, "folds", n_folds) % n_folds

    def _shuffled(self, n_rows: int, use: str, size: int) -> NDArray[np.intp]:
        """Shuffle rows: the same for the same use, and unrelated for another size.

        A sum that is asked for again must be the same, and two sums that differ in
        the size of a part must not differ by a few rows.
        """
        own = [self._seed, size, *use.encode()]
        return np.random.default_rng(own).permutation(n_rows)


def check_names(
    n_features: int, own: tuple[str, ...], terms: Terms, wanted: tuple[str, ...]
) -> None:
    """Check that a site has the columns of a study.

    Parameters
    ----------
    n_features : int
        Columns that the site has.
    own : tuple of str
        Their names, where they are known.
    terms : Terms
        Agreed between all parties.
    wanted : tuple of str
        Names that the study gives its columns, where it does.
    """
    if n_features != terms.n_features:
        raise InputError(
            f"this site has {n_features} columns and the study {terms.n_features}"
        )
    if wanted and own and wanted != own:
        pairs = zip(own, wanted, strict=True)
        mine, theirs = next(pair for pair in pairs if pair[0] != pair[1])
        raise InputError(
            f"this site has column '{mine}' where the study has '{theirs}': the same "
            "columns are needed, in the same order"
        )
