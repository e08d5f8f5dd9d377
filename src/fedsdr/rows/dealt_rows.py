"""Rows that are dealt to parts: held out, folds and halves, by a secret of the site."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedsdr.arrays import Mask
from fedsdr.exceptions import InputError
from fedsdr.rows.folds import ScoreFold
from fedsdr.rows.half_samples import N_PARTS, deal_halves, deal_smallest
from fedsdr.terms import Terms


class DealtRows(ABC):
    """Rows of one site, and which of them belong to which part.

    A sum that is requested again must be over the same rows: what is drawn depends on a
    secret of the site, on the use and on the number of parts, and on nothing else. Rows
    of one subject stay together.
    """

    __slots__ = ()

    _seed: int
    _halves_seed: int | None
    _halves: tuple[tuple[int, int | None], list[Mask]] | None

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Number of rows."""

    @property
    @abstractmethod
    def responses(self) -> NDArray[Any]:
        """Responses of all rows, in their order."""

    @property
    def subjects(self) -> NDArray[np.intp] | None:
        """Subject of each row; None if every row is a subject of its own."""
        return None

    @property
    def n_subjects(self) -> int:
        """Number of subjects, whose rows stay together in folds and halves."""
        subjects = self.subjects
        return self.n_rows if subjects is None else int(subjects.max()) + 1

    def hold_out(self, terms: Terms) -> Mask:
        """Draw the rows to hold out for validation.

        Parameters
        ----------
        terms : Terms
            Terms that all parties agreed on.

        Returns
        -------
        ndarray of bool, shape (n_rows,)
            True for rows held out; the same in every call.
        """
        n_units = self.n_subjects
        count = round(terms.validation_fraction * n_units)
        if not 1 <= count < n_units:
            raise InputError(
                f"holding out {terms.validation_fraction:.0%} of {n_units} rows "
                "leaves nothing to fit or to validate on: use penalty='universal'"
            )
        return self._of_rows(self._shuffled(n_units, "held", count) < count)

    def parts_to_observe(self, terms: Terms) -> list[Mask]:
        """Draw the parts of the rows in which rules count.

        Parameters
        ----------
        terms : Terms
            Terms that all parties agreed on.

        Returns
        -------
        list of ndarray of bool, shape (n_rows,)
            Rows of every fold, rows held out, and the others, and of the smallest sets
            that follow from halves and from folds by which predictions are scored;
            none if there are too few rows for them, which is for another rule to say.
        """
        try:
            masks = self._masks(terms)
            held = [self.hold_out(terms)] if terms.validation_fraction else []
        except InputError:
            return []
        # Of every fold there are two masks, with and without it.
        folds = masks[1 : 2 * terms.n_folds : 2] + masks[2 * terms.n_folds :]
        halves = self._deal(terms, deal_smallest)
        return folds + held + halves + self._scored(terms)

    def _scored(self, terms: Terms) -> list[Mask]:
        n_folds = terms.score_folds
        folds = (
            ScoreFold(number, n_folds, held=True) for number in range(1, n_folds + 1)
        )
        return [self.in_fold(fold) for fold in folds]

    def _masks(self, terms: Terms) -> list[Mask]:
        masks: list[Mask] = []
        if terms.n_folds:
            fold = self._assign(terms.n_folds)
            for number in range(terms.n_folds):
                masks += [fold != number, fold == number]
        if terms.validation_fraction:
            masks.append(~self.hold_out(terms))
        return masks

    def halves(self, terms: Terms) -> list[Mask]:
        """Divide the rows into halves, in several ways.

        Parameters
        ----------
        terms : Terms
            Terms that all parties agreed on.

        Returns
        -------
        list of ndarray of bool, shape (n_rows,)
            Both halves of every split; the same in every call.
        """
        drawn_by = terms.n_splits, self._halves_seed
        if self._halves is None or self._halves[0] != drawn_by:
            # Both kinds of rows have the slot.
            dealt = self._deal(terms, deal_halves)
            self._halves = drawn_by, dealt  # type: ignore[misc]
        return self._halves[1]

    def keep_halves(self, seed: int) -> None:
        """Divide the rows into the same halves in every study.

        Parameters
        ----------
        seed : int
            Secret of the site that no study has a part in. With it, fewer splits are
            some of more splits, so that all studies together show no smaller sets of
            rows than the one with most splits does.
        """
        # Both kinds of rows have the slot.
        self._halves_seed = seed  # type: ignore[misc]

    def _deal(self, terms: Terms, deal: Callable[..., list[Mask]]) -> list[Mask]:
        """Deal rows to parts of halves, as the secret of the site decides."""
        if not terms.n_splits:
            return []
        kept = self._halves_seed is not None
        size = N_PARTS if kept else 2 * terms.n_splits

        def shuffled(n_rows: int, use: str) -> NDArray[np.intp]:
            return self._shuffled(n_rows, use, size, self._halves_seed)

        return deal(self.responses, terms.n_splits, shuffled, self.subjects)

    def deal(self, n_parts: int, use: str) -> NDArray[np.intp]:
        """Deal the rows into parts of about the same size.

        Parameters
        ----------
        n_parts : int
            Number of parts.
        use : str
            What for; rows are dealt differently for different uses.

        Returns
        -------
        ndarray of int, shape (n_rows,)
            Part of each row, from 0; the same in every call.
        """
        return self._shuffled(self.n_rows, use, n_parts) % n_parts

    def in_fold(self, fold: ScoreFold) -> Mask:
        """Return which rows a sum for a fold is over.

        Parameters
        ----------
        fold : ScoreFold
            The fold, or all rows outside it.

        Returns
        -------
        ndarray of bool, shape (n_rows,)
            True for these rows; the same in every call, and in every study of a site
            that keeps its halves.
        """
        own = self._score_folds(fold.n_folds) == fold.number - 1
        return own if fold.held else ~own

    def _score_folds(self, n_folds: int) -> NDArray[np.intp]:
        """Deal rows to folds, those with like responses to different ones."""

        def shuffled(n_units: int, use: str) -> NDArray[np.intp]:
            return self._shuffled(n_units, use, n_folds, self._halves_seed)

        if self.subjects is not None:
            return self._of_rows(shuffled(self.n_subjects, "scores") % n_folds)
        order = shuffled(self.n_rows, "scores")
        ordered = order[np.argsort(self.responses[order], kind="stable")]
        lots = np.arange(self.n_rows) // n_folds
        within = np.lexsort((shuffled(self.n_rows, "lots"), lots))
        folds = np.empty(self.n_rows, dtype=np.intp)
        folds[ordered[within]] = np.arange(self.n_rows) % n_folds
        return folds

    def _assign(self, n_folds: int) -> NDArray[np.intp]:
        n_units = self.n_subjects
        if n_units < 2 * n_folds:
            what = "rows" if self.subjects is None else "subjects"
            raise InputError(
                f"{n_folds} folds need {2 * n_folds} {what} at every site, but one has "
                f"{n_units}: use fewer folds or penalty='universal'"
            )
        return self._of_rows(self._shuffled(n_units, "folds", n_folds) % n_folds)

    def _of_rows(self, of_subjects: NDArray[Any]) -> NDArray[Any]:
        """Give every row what was drawn for its subject."""
        return of_subjects if self.subjects is None else of_subjects[self.subjects]

    def _shuffled(
        self, n_rows: int, use: str, size: int, seed: int | None = None
    ) -> NDArray[np.intp]:
        """Shuffle rows: in the same order for the same use and size, else unrelated.

        A sum that is requested again must be the same, and two sums that differ in the
        size of a part must not differ by a few rows only.
        """
        own = [self._seed if seed is None else seed, size, *use.encode()]
        return np.random.default_rng(own).permutation(n_rows)
