"""Rows of one site in memory."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedsdr.arrays import Mask, Matrix, Vector
from fedsdr.disclosure import ColumnOrigin, Facts
from fedsdr.exceptions import InputError, SiteWarning
from fedsdr.normal_scores import NormalScores, same_scores
from fedsdr.overriding import override
from fedsdr.rows.folds import ScoreFold
from fedsdr.rows.site_rows import (
    LARGEST,
    LARGEST_HELD,
    Functions,
    Rows,
    check_names,
    no_functions,
    without_rounding,
)
from fedsdr.summaries import Summary, prediction_errors, summarize
from fedsdr.summaries.blocked import block_rows, blocks_of
from fedsdr.summaries.column_spread import (
    ColumnSpread,
    Powers,
    rescale,
    same_powers,
)
from fedsdr.summaries.dense_blocks import (
    as_dense,
    as_slice,
    by_rows,
    column_slices,
    dense_columns,
    is_sparse,
    largest_values,
    row_block,
    tile_columns,
)
from fedsdr.summaries.half_summaries import HalfSums, summarize_halves
from fedsdr.summaries.rank_functions import plain_response
from fedsdr.summaries.slicing import Weights, weigh
from fedsdr.summaries.summary import centre
from fedsdr.summaries.tiles import column_squares
from fedsdr.terms import Terms

# Numbers of columns that are kept for the next sum: as many as fit into a cache.
FEW = 1 << 17


@dataclass(slots=True, eq=False)
class MemoryRows(Rows):
    """The rows of one site in memory, which no other party may read.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_rows, n_features)
        Covariates of the site: float64, or float32 or whole numbers of one byte without
        gaps, or a sparse matrix of scipy in compressed columns. Of all but the first
        only blocks become dense matrices of float64, unless columns are rescaled or
        scored.
    y : ndarray of shape (n_rows,)
        Responses of the site.
    generator : numpy.random.Generator
        Generator that splits the rows into folds.
    label : object, default=None
        Name of the site in local messages; None if there is only one site.
    columns : tuple of str, default=()
        Names of the columns; empty if they are not known.
    origin : ColumnOrigin or None, default=None
        Where the columns come from in the site's data; None if they are the data.
    groups : ndarray of int, shape (n_rows,), or None, default=None
        Subject of each row, 0, 1, ...; None if every row is a subject of its own.
    """

    X: Any = field(repr=False)
    y: NDArray[Any] = field(repr=False)
    generator: np.random.Generator
    label: object = None
    columns: tuple[str, ...] = ()
    origin: ColumnOrigin | None = None
    groups: NDArray[np.intp] | None = field(default=None, repr=False)
    _seed: int = field(default=0, init=False, repr=False)
    _halves_seed: int | None = field(default=None, init=False, repr=False)
    _halves: tuple[tuple[int, int | None], list[Mask]] | None = field(
        default=None, init=False, repr=False
    )
    _spread: ColumnSpread | None = field(default=None, init=False, repr=False)
    _powers: Powers | None = field(default=None, init=False, repr=False)
    _unscaled: Any = field(default=None, init=False, repr=False)
    _gaps: Mask | None = field(default=None, init=False)
    _largest: tuple[Any, Vector] | None = field(default=None, init=False, repr=False)
    _last: tuple[Any, Any, Vector, Matrix] | None = field(
        default=None, init=False, repr=False
    )
    _variances: Vector | None = field(default=None, init=False, repr=False)
    _weights: dict[Any, Weights] = field(default_factory=dict, init=False, repr=False)
    _scores: NormalScores | None = field(default=None, init=False, repr=False)
    _unscored: Any = field(default=None, init=False, repr=False)
    _folded: tuple[ScoreFold, Rows] | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        self._seed = int(self.generator.integers(2**63))

    @property
    @override
    def n_rows(self) -> int:
        return len(self.y)

    @property
    @override
    def responses(self) -> NDArray[Any]:
        return self.y

    @property
    @override
    def subjects(self) -> NDArray[np.intp] | None:
        return self.groups

    @property
    @override
    def n_features(self) -> int:
        return self.X.shape[1]

    @override
    def column_parts(self) -> Iterator[NDArray[np.intp]]:
        """Divide the columns into parts that fit into a processor's cache.

        Yields
        ------
        ndarray of int
            Columns next to each other.
        """
        for place in column_slices(self.n_rows, self.n_features):
            yield np.arange(place.start, place.stop)

    @override
    def check(
        self,
        terms: Terms,
        columns: tuple[str, ...] = (),
        largest: float = LARGEST_HELD,
    ) -> None:
        check_names(self.X.shape[1], self.columns, terms, columns)
        self.check_values(largest)

    def check_values(self, largest: float = LARGEST_HELD) -> None:
        """Check that no value is missing, not finite or too large.

        Parameters
        ----------
        largest : float, default=1e305
            Values of X must be smaller; those of y smaller than 1e100.

        Raises
        ------
        InputError
            If there are such values; the error contains counts, never a value.
        """
        missing = ~(self._largest_held() < largest)
        numeric = self.y.dtype.kind == "f"
        if missing.any() or (numeric and not (np.abs(self.y) < LARGEST).all()):
            raise InputError(
                f"{int(missing.sum())} column(s) of X, or y, have values that are "
                f"missing, not finite or larger than {largest:.0e} (y: 1e+100): leave "
                "those rows out or fill them in"
            )

    @property
    @override
    def measured(self) -> ColumnSpread:
        if self._spread is None:
            own = self._own if self._unscaled is None else self._unscaled
            self._spread = ColumnSpread(own.shape[1])
            if own is self.X and self._gaps is None and not is_sparse(own):
                self._spread.add(own, self._largest_held())
                return self._spread
            for rows in self._blocks(own):
                self._spread.add(rows)
        return self._spread

    def _largest_held(self) -> Vector:
        """Find the largest absolute value of every column, once for the same X."""
        if self._largest is None or self._largest[0] is not self.X:
            self._largest = (self.X, largest_values(self.X))
        return self._largest[1]

    @override
    def rescale(self, powers: Powers | None) -> None:
        if same_powers(powers, self._powers):
            return
        self._variances = None
        held = self._own if self._unscaled is None else self._unscaled
        if powers is None:
            # Gaps are filled in place.
            own, kept = (held if self._gaps is None else held.copy()), None
        else:
            own, kept = rescale(as_dense(held), powers, self.measured), held
        self._unscaled, self._powers = kept, powers
        if self._scores is None:
            self.X = own
        else:
            self._unscored, self.X = own, self._scores.apply(as_dense(own))

    @override
    def totals(self, columns: Sequence[int]) -> Matrix:
        gaps = self._gaps_in(columns)
        values = np.where(gaps, 0.0, self._own[:, columns])
        return np.concatenate([(~gaps).sum(axis=0), values.sum(axis=0)])

    @override
    def fill(self, columns: Sequence[int], values: Matrix) -> None:
        gaps, own = self._gaps_in(columns), self._own
        self._variances = self._largest = self._last = None
        own[:, columns] = np.where(gaps, values, own[:, columns])
        if self._scores is not None:
            self.X = self._scores.apply(own)

    @override
    def score(self, scores: NormalScores | None) -> None:
        if scores is self._scores or same_scores(scores, self._scores):
            return
        own = self._own
        self._scores, self._variances = scores, None
        if scores is None:
            self.X, self._unscored = own, None
        else:
            self.X, self._unscored = scores.apply(as_dense(own)), own

    @override
    def held(self) -> Iterator[Matrix]:
        yield from self._blocks(self._own)

    @override
    def some(self, kept: Mask) -> "MemoryRows":
        held = self._own if self._unscaled is None else self._unscaled
        rows = by_rows(held)[kept]
        if self._gaps is not None:
            rows = np.where(self._gaps[kept], np.nan, rows)
        subjects = None
        if self.groups is not None:
            subjects = np.unique(self.groups[kept], return_inverse=True)[1]
        generator = np.random.default_rng(self._seed)
        return MemoryRows(
            rows, self.y[kept], generator, self.label, self.columns, groups=subjects
        )

    @override
    def errors(self, terms: Terms, bases: Sequence[Matrix]) -> Matrix:
        held = self.hold_out(terms)
        rows = by_rows(self.X)
        errors = prediction_errors(
            (rows[~held], self.y[~held]),
            (rows[held], self.y[held]),
            bases,
            discrete=terms.discrete,
        )
        return errors / held.sum()

    def summarize(
        self, terms: Terms, kept: Mask | None = None, *, strict: bool = False
    ) -> Summary:
        """Summarise all rows, or some of them.

        Parameters
        ----------
        terms : Terms
            Terms that all parties agreed on.
        kept : ndarray of bool, shape (n_rows,), optional
            Mask of the rows to use.
        strict : bool, default=False
            Whether rows from which no kernel can be computed raise an error, not a
            warning.

        Returns
        -------
        Summary
            Summary of these rows.
        """
        return summarize(**self._kept(terms, kept, strict=strict))

    @override
    def batches(
        self,
        columns: NDArray[np.intp],
        scale: Vector,
        functions: Functions = no_functions,
    ) -> Iterator[tuple[Matrix, Matrix]]:
        """Return some columns of all rows, centred and divided by a scale.

        Parameters
        ----------
        columns : ndarray of int
            Indices of the columns.
        scale : ndarray of shape (n_columns,)
            Divisor of each column.
        functions : callable, default=no_functions
            From a slice of rows to the values of the functions of y.

        Yields
        ------
        rows : ndarray of shape (n_rows, n_columns)
            Centred and scaled rows.
        functions : ndarray of shape (n_rows, n_functions)
            Values of the functions in these rows.
        """
        last = self._last
        if (
            last is not None
            and last[0] is self.X
            and (last[1] is columns or np.array_equal(last[1], columns))
            and (last[2] is scale or np.array_equal(last[2], scale))
        ):
            # The sums of a second stage need the same columns again and again.
            rows = last[3]
            self._last = (self.X, columns, scale, rows)
        else:
            rows = dense_columns(self.X, as_slice(columns))
            rows /= scale
            rows = centre(rows, out=rows)[0]
            if rows.size <= FEW:
                rows.flags.writeable = False
                self._last = (self.X, columns, scale, rows)
        yield rows, functions(slice(None))

    @override
    def repeated(
        self, columns: NDArray[np.intp], scale: Vector
    ) -> Callable[[], Iterable[Matrix]]:
        place = as_slice(columns)
        means = self._near_means(place)
        if means is not None:
            rows = self.X[:, place] - means
            # A division takes several times as long.
            rows *= 1.0 / scale
            return lambda: [rows]
        held = list(super(MemoryRows, self).repeated(columns, scale)())
        return lambda: held

    @override
    def variances(self) -> Vector:
        if self._variances is None:
            if self._is_as_held:
                found = self.measured.variances
            else:
                found = column_squares(self.X) / self.n_rows
            self._variances = without_rounding(found, self._largest_held())
            self._variances.flags.writeable = False
        return self._variances

    def _near_means(self, place: slice | NDArray[np.intp]) -> Vector | None:
        """Return means that need not be subtracted, see `ColumnSpread.near_means`."""
        if not self._is_as_held or self.X.dtype != np.float64:
            return None
        means = self.measured.near_means[place]
        return None if np.isnan(means).any() else means

    @property
    def _is_as_held(self) -> bool:
        """Whether X is what `measured` is about, and can be squared."""
        own = self._own if self._unscaled is None else self._unscaled
        plain = own is self.X and self._gaps is None and not is_sparse(own)
        return plain and not self.measured.is_wide

    @override
    def beside(
        self, columns: NDArray[np.intp], functions: Functions = no_functions
    ) -> Iterator[tuple[slice, Matrix, Matrix, Matrix]]:
        """Read all columns once, a few at a time, beside some of them.

        Parameters
        ----------
        columns : ndarray of int
            Indices of the columns that are wanted in any case.
        functions : callable, default=no_functions
            From a slice of rows to the values of the functions of y.

        Yields
        ------
        place : slice
            Columns that are read, as many as fit into a processor's cache.
        rows : ndarray of shape (n_rows, n_read)
            Rows of them, centred on the site's mean unless it is as good as zero; they
            must not be overwritten.
        wanted : ndarray of shape (n_rows, n_columns)
            The same rows of `columns`.
        functions : ndarray of shape (n_rows, n_functions)
            Values of the functions in these rows.
        """
        wanted = dense_columns(self.X, columns)
        centre(wanted, out=wanted)
        values = functions(slice(None))
        for place in column_slices(self.n_rows, self.n_features):
            if self._near_means(place) is not None:
                yield place, self.X[:, place], wanted, values
                continue
            rows = dense_columns(self.X, place)
            yield place, centre(rows, out=rows)[0], wanted, values

    @override
    def plain_response(self) -> Vector:
        return plain_response(self.y)

    @override
    def weights(self, terms: Terms, *, strict: bool = False) -> Weights:
        found = weigh(
            self.y,
            kernel=terms.kernel,
            discrete=terms.discrete,
            on_degenerate="raise" if strict else "zero",
            site=self.label,
        )
        self._weights[terms.kernel, terms.discrete] = found
        return found

    @override
    def weights_again(self, terms: Terms) -> Weights:
        known = self._weights.get((terms.kernel, terms.discrete))
        return super(MemoryRows, self).weights_again(terms) if known is None else known

    @override
    def observe(
        self, look: Callable[..., Facts], columns: tuple[str, ...], **terms: Any
    ) -> Facts:
        # An array is looked at as it is, a sparse matrix and bytes a few columns at a
        # time.
        dense = not is_sparse(self.X) and self.X.dtype.kind == "f"
        width = self.X.shape[1] if dense else tile_columns(self.n_rows)
        found: Facts | None = None
        for place in blocks_of(self.X.shape[1], width):
            block = self.X if dense else dense_columns(self.X, place)
            # Only numbers with a fraction have gaps that are filled.
            gaps = self._gaps if dense else None
            own = look(block, self.y, columns[place], gaps=gaps, **terms)
            found = own if found is None else found.joined(own)
        assert found is not None
        return found

    @override
    def summarize_parts(self, terms: Terms) -> Iterator[Summary | HalfSums]:
        yield summarize(**self._kept(terms, strict=terms.strict))
        if len(terms.parts) > 1:
            for kept in self._masks(terms):
                # All rows have been checked; a fold may be too small.
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", SiteWarning)
                    found = summarize(**self._kept(terms, kept))
                yield found
            yield from self._summarize_halves(terms)

    def _summarize_halves(self, terms: Terms) -> Iterator[Summary | HalfSums]:
        """Sum halves of the rows, with two classes as numbers in their order."""
        halves = self.halves(terms)
        y, discrete = self.tested_responses(terms)
        kernel, how = terms.kernel, "classes" if discrete else "ordered"
        found: list[Summary | HalfSums]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SiteWarning)
            weights = [
                weigh(y[kept], kernel=kernel, discrete=discrete, on_degenerate="zero")
                for kept in halves
            ]
            if halves and all(one.form == "functions" for one in weights):
                found = [summarize_halves(by_rows(self.X), y, halves, weights)]
            else:
                parts = [
                    {**self._kept(terms, kept), "y": y[kept], "response": how}
                    for kept in halves
                ]
                found = [summarize(**part) for part in parts]
        yield from found

    def _kept(
        self, terms: Terms, kept: Mask | None = None, *, strict: bool = False
    ) -> dict[str, Any]:
        """Return the arguments of `summarize` for all rows, or for some."""
        return {
            "X": self.X if kept is None else by_rows(self.X)[kept],
            "y": self.y if kept is None else self.y[kept],
            "kernel": terms.kernel,
            "response": "classes" if terms.discrete else "ordered",
            "on_degenerate": "raise" if strict else "zero",
            "site": self.label,
        }

    @property
    def _own(self) -> Any:
        """The rows before scores."""
        return self.X if self._unscored is None else self._unscored

    def _blocks(self, own: Any) -> Iterator[Matrix]:
        """Return blocks of rows, in which NaN is a gap."""
        rows = by_rows(own)
        for place in blocks_of(self.n_rows, block_rows(own.shape[1])):
            block = np.asarray(row_block(rows, place), dtype=np.float64)
            gaps = self._gaps
            yield block if gaps is None else np.where(gaps[place], np.nan, block)

    def _gaps_in(self, columns: Sequence[int]) -> Mask:
        if self._gaps is None:
            own = self._own.copy()
            self._gaps = np.isnan(own)
            if self._unscored is None:
                self.X = own
            else:
                self._unscored = own
        return self._gaps[:, columns]
