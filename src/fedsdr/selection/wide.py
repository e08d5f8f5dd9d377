"""What is known of many columns: diagonals, a block of candidates, a few columns."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from fedsdr.arrays import Mask, Matrix, Vector
from fedsdr.questions import (
    Asking,
    BlockOf,
    ColumnFrame,
    ColumnsOf,
    Index,
    JoinedRows,
    RowsOf,
)
from fedsdr.selection.solving import LARGEST
from fedsdr.solver import AskedSource, FactorSource
from fedsdr.summaries.diagonals import ColumnSums, Diagonals
from fedsdr.summaries.summary import Summary
from fedsdr.terms import N_CANDIDATES

# Columns that are asked for at most to settle pairs, where rows settle them as well.
MOST_AT_HOME = 50


@dataclass(frozen=True, slots=True)
class KernelKind:
    """Which kernel variables are selected with.

    Parameters
    ----------
    own : float
        Weight of the sites' own kernels, see `Summary.mixed`.
    by_response : bool
        Whether common means are taken of y itself, see `Summary.by_response`.
    """

    own: float
    by_response: bool

    @property
    def largest(self) -> float:
        """Upper bound of the generalised eigenvalues of kernel and covariance."""
        return self.own + (1.0 - self.own) * LARGEST if self.by_response else 1.0

    def of(self, total: Summary) -> Summary:
        """Give sums this kernel.

        Parameters
        ----------
        total : Summary
            Sums over all sites.

        Returns
        -------
        Summary
            Sums with the mixed kernel.
        """
        return (total.by_response() if self.by_response else total).mixed(self.own)


@dataclass(frozen=True, slots=True, eq=False)
class Wide:
    """Sums over all sites of many columns, on a common scale.

    Parameters
    ----------
    frame : ColumnFrame
        All d usable columns.
    diagonals : Diagonals
        Sums of each of them.
    candidates : ndarray of int
        Those among which variables are selected, ascending.
    total : Summary
        Sums of the candidates.
    columns : mapping of int to tuple of ndarray of shape (d,)
        Columns of the covariance and of the sites' own kernel, by variable.
    n_asked : int, default=0
        Number of questions about columns so far.
    """

    frame: ColumnFrame
    diagonals: Diagonals
    candidates: Index
    total: Summary
    columns: Mapping[int, tuple[Vector, Vector]] = field(default_factory=dict)
    n_asked: int = 0

    @property
    def n_variables(self) -> int:
        """Number of usable columns d."""
        return self.diagonals.scatter.size

    @property
    def room(self) -> int:
        """Number of columns that may still be asked for."""
        left = self.frame.terms.n_questions(ColumnsOf.name) - self.n_asked
        return max(left, 0) * self.frame.terms.columns_at_once

    @property
    def candidate_frame(self) -> ColumnFrame:
        """Where the candidates are among the sites' columns."""
        return replace(self.frame, usable=_mask(self.frame.usable, self.candidates))

    def widened(self, entering: Index) -> Asking["Wide"]:
        """Let variables in as candidates.

        Parameters
        ----------
        entering : ndarray of int
            Variables; as many of them as the terms allow become candidates.

        Returns
        -------
        Wide
            With the sums of all candidates.

        Yields
        ------
        Question
            The question about their sums.
        """
        new = np.setdiff1d(entering, self.candidates)
        new = new[: max(self.frame.terms.max_columns - self.candidates.size, 0)]
        candidates = np.union1d(self.candidates, new).astype(np.intp)
        total = yield from _sums_of(self.frame, self.diagonals, candidates)
        return replace(self, candidates=candidates, total=total)

    def with_columns(self, index: Index) -> Asking["Wide"]:
        """Ask for columns, unless they are known.

        Parameters
        ----------
        index : ndarray of int
            Variables, ascending.

        Returns
        -------
        Wide
            With these columns.

        Yields
        ------
        Question
            The question about those that are not known.
        """
        missing = np.array([j for j in index if int(j) not in self.columns], np.intp)
        if not missing.size:
            return self
        terms, usable, scale = self.frame.terms, self.frame.usable, self.frame.scale
        found = dict(self.columns)
        for start in range(0, missing.size, terms.columns_at_once):
            some = missing[start : start + terms.columns_at_once]
            places = np.flatnonzero(usable)[some]
            sums: ColumnSums = yield ColumnsOf(terms, places, self.frame.settings)
            units = self.diagonals.n_rows * np.outer(scale[usable], scale[places])
            sigma, kernel = sums.scatter[usable] / units, sums.between[usable] / units
            for place, j in enumerate(some):
                found[int(j)] = sigma[:, place].copy(), kernel[:, place].copy()
        questions = self.n_asked + -(-missing.size // terms.columns_at_once)
        return replace(self, columns=found, n_asked=questions)

    def kernel_diagonal(self, kind: KernelKind) -> Vector:
        """Mix the diagonals of both kernels.

        Parameters
        ----------
        kind : KernelKind
            Which kernel.

        Returns
        -------
        ndarray of shape (d,)
            Diagonal of the mixed kernel.
        """
        common = self._common(kind)
        return kind.own * self.diagonals.kernel + (common**2).sum(axis=1)

    def kernel_columns(self, index: Index, kind: KernelKind) -> Matrix:
        """Mix columns of both kernels.

        Parameters
        ----------
        index : ndarray of int
            Variables whose columns are known.
        kind : KernelKind
            Which kernel.

        Returns
        -------
        ndarray of shape (d, n_index)
            Columns of the mixed kernel.
        """
        common = self._common(kind)
        known = np.column_stack([self.columns[int(j)][1] for j in index])
        return np.asarray(kind.own * known + common @ common[index].T)

    def sigma_columns(self, index: Index) -> Matrix:
        """Return columns of the covariance.

        Parameters
        ----------
        index : ndarray of int
            Variables whose columns are known.

        Returns
        -------
        ndarray of shape (d, n_index)
            Columns.
        """
        return np.column_stack([self.columns[int(j)][0] for j in index])

    def asked_source(self, kind: KernelKind, *, rows_here: bool = False) -> AskedSource:
        """Make a source of the columns that are known.

        Parameters
        ----------
        kind : KernelKind
            Which kernel.
        rows_here : bool, default=False
            Whether there is a resort that needs no further columns.

        Returns
        -------
        AskedSource
            Source, which says what is missing.
        """
        mixed = kind.of(self.total)
        index = np.array(sorted(self.columns), dtype=np.intp)
        columns = {}
        if index.size:
            kernel = self.kernel_columns(index, kind)
            columns = {
                int(j): (self.columns[int(j)][0], kernel[:, place])
                for place, j in enumerate(index)
            }
        return AskedSource(
            self.diagonals.sigma,
            self.kernel_diagonal(kind),
            self.candidates,
            mixed.sigma,
            mixed.kernel,
            columns,
            len(columns) + (min(self.room, MOST_AT_HOME) if rows_here else self.room),
            kind.largest,
        )

    def row_source(self, kind: KernelKind) -> Asking[FactorSource]:
        """Make a source of the rows, where all of them are in one process.

        Parameters
        ----------
        kind : KernelKind
            Which kernel.

        Returns
        -------
        FactorSource
            Source of all columns.

        Yields
        ------
        Question
            The question about rows, which no site answers to others.
        """
        frame = self.frame
        places = np.flatnonzero(frame.usable)
        joined: JoinedRows = yield RowsOf(
            frame.terms, places, frame.scale[places], frame.settings
        )
        factor = np.sqrt(kind.own / self.diagonals.n_rows) * np.hstack(joined.moved)
        common = self._common(kind)
        return FactorSource(
            joined.pieces,
            np.hstack([factor, common]),
            largest=kind.largest,
        )

    def _common(self, kind: KernelKind) -> Matrix:
        """Return the factor of the part of the kernel that sites have in common."""
        common = self.diagonals.common_means(by_response=kind.by_response)
        if kind.own >= 1.0:
            return common[:, :0]
        return np.asarray(np.sqrt(1.0 - kind.own) * common)


def gather_wide(frame: ColumnFrame, diagonals: Diagonals) -> Asking[Wide]:
    """Choose candidates, and ask for their sums.

    Parameters
    ----------
    frame : ColumnFrame
        All usable columns.
    diagonals : Diagonals
        Sums of each of all columns, in their units.

    Returns
    -------
    Wide
        With the columns that move most with y as candidates.

    Yields
    ------
    Question
        The question about their sums.
    """
    diagonals = diagonals.scaled(frame.usable, frame.scale)
    candidates = diagonals.strongest(N_CANDIDATES)
    total = yield from _sums_of(frame, diagonals, candidates)
    return Wide(frame, diagonals, candidates, total)


def _sums_of(
    frame: ColumnFrame, diagonals: Diagonals, candidates: Index
) -> Asking[Summary]:
    """Ask for the sums of some columns, and put them on the common scale."""
    places = np.flatnonzero(frame.usable)[candidates]
    sums: ColumnSums = yield BlockOf(frame.terms, places, frame.settings)
    units = np.outer(frame.scale[places], frame.scale[places])
    return Summary(
        diagonals.n_rows,
        sums.scatter / units,
        sums.between / units,
        diagonals.n_sites,
        diagonals.freedom,
        diagonals.freedom_squared,
        diagonals.linear[candidates],
        diagonals.products[candidates],
        diagonals.response_square,
        diagonals.scatter.size,
    )


def _mask(usable: Mask, index: Index) -> Mask:
    mask = np.zeros_like(usable)
    mask[np.flatnonzero(usable)[index]] = True
    return mask
