"""The rows of one site, read in batches and never held in memory all at once."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedsdr.arrays import Mask, Matrix, Vector
from fedsdr.disclosure import ColumnOrigin, Facts
from fedsdr.exceptions import InputError, SiteWarning
from fedsdr.normal_scores import NormalScores
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
from fedsdr.summaries import Summary
from fedsdr.summaries.column_spread import ColumnSpread, Powers
from fedsdr.summaries.prediction import as_columns, reduced_error
from fedsdr.summaries.rank_functions import plain_response
from fedsdr.summaries.slicing import Weights, weigh
from fedsdr.summaries.stream import Reader, Stream
from fedsdr.summaries.streaming import MEMORY, Part, reduce_rows, summarize_parts
from fedsdr.terms import Terms

#: Approximate number of matrices of the size of a batch that are held at a time.
COPIES = 8

#: Approximate number of copies of some columns while rules count in them.
OBSERVED = 6


@dataclass(slots=True, eq=False)
class StreamedRows(Rows):
    """Rows of one site that need not fit in memory, with the sums of `MemoryRows`.

    Parameters
    ----------
    read : callable without parameters
        Function that returns the batches of all rows, starting with the first one in
        every call: tuples of X, an ndarray of shape (n_batch, n_features), and y, an
        ndarray of shape (n_batch,).
    generator : numpy.random.Generator
        Generator that splits the rows into folds.
    label : object, default=None
        Name of the site in local messages; None if there is only one site.
    columns : tuple of str, default=()
        Names of the columns; empty if they are not known.
    memory : int, default=2**28
        Bytes of memory that may be used in addition to a batch, the responses, and the
        sums. With less memory, rows are read more often, and none are read ahead.
    origin : ColumnOrigin or None, default=None
        Where the columns come from in the site's data; None if they are the data.

    Notes
    -----
    For every row, the response, its ranks and the folds of the row are held in memory.
    Sums are those of `MemoryRows` up to rounding, with the same folds for the same
    generator. The last digits depend on the order in which rows are added, so a site
    should not change the size of its batches during a study.
    """

    read: Reader = field(repr=False)
    generator: np.random.Generator
    label: object = None
    columns: tuple[str, ...] = ()
    memory: int = MEMORY
    origin: ColumnOrigin | None = None
    _stream: Stream = field(init=False, repr=False)
    _seed: int = field(default=0, init=False, repr=False)
    _halves_seed: int | None = field(default=None, init=False, repr=False)
    _halves: tuple[tuple[int, int | None], list[Mask]] | None = field(
        default=None, init=False, repr=False
    )
    _rest: tuple[Matrix, Matrix] | None = field(default=None, init=False, repr=False)
    _folded: tuple[ScoreFold, Rows] | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        self._stream = self._make_stream()
        self._seed = int(self.generator.integers(2**63))

    def _make_stream(self) -> Stream:
        return Stream(
            self.read,
            getattr(self.read, "responses", None),
            ahead=self.memory >= MEMORY,
            version=getattr(self.read, "version", None),
            width=getattr(self.read, "n_features", None),
        )

    @property
    @override
    def n_rows(self) -> int:
        return self._stream.n_rows

    @property
    @override
    def responses(self) -> NDArray[Any]:
        return self._stream.y

    @property
    @override
    def n_features(self) -> int:
        return self._stream.n_features

    @override
    def check(
        self,
        terms: Terms,
        columns: tuple[str, ...] = (),
        largest: float = LARGEST_HELD,
    ) -> None:
        stream = self._stream
        # The columns are measured in the same pass, which a study asks for later.
        assert stream.measured is not None
        check_names(stream.n_features, self.columns, terms, columns)
        broken = ~(stream.largest < largest)
        numeric = stream.y.dtype.kind == "f"
        if broken.any() or (numeric and not (np.abs(stream.y) < LARGEST).all()):
            raise InputError(
                f"{int(broken.sum())} column(s) of X, or y, have values that are "
                f"missing, not finite or larger than {largest:.0e} (y: 1e+100): leave "
                "those rows out or fill them in"
            )

    @property
    @override
    def measured(self) -> ColumnSpread:
        return self._stream.measured

    @override
    def rescale(self, powers: Powers | None) -> None:
        self._stream.rescale(powers)

    @override
    def totals(self, columns: Sequence[int]) -> Matrix:
        return self._stream.totals(columns)

    @override
    def fill(self, columns: Sequence[int], values: Matrix) -> None:
        self._stream.fill(columns, values)

    @override
    def score(self, scores: NormalScores | None) -> None:
        self._stream.score(scores)

    @override
    def held(self) -> Iterator[Matrix]:
        yield from self._stream.held()

    @override
    def some(self, kept: Mask) -> "StreamedRows":
        def read() -> Iterator[tuple[Matrix, NDArray[Any]]]:
            start = 0
            for X, y in self.read():
                own = kept[start : start + len(y)]
                start += len(y)
                if own.any():
                    yield X[own], y[own]

        generator = np.random.default_rng(self._seed)
        return StreamedRows(read, generator, self.label, self.columns, self.memory)

    @override
    def errors(self, terms: Terms, bases: Sequence[Matrix]) -> Matrix:
        held, y = self.hold_out(terms), self._stream.y
        known, wanted = as_columns(y[~held], y[held], discrete=terms.discrete)
        room = max(1, self.memory // (8 * len(y)))
        errors: list[float] = []
        for some in _in_lots(bases, room):
            errors += [
                reduced_error(own[~held], own[held], known, wanted)
                for own in reduce_rows(self._stream, some)
            ]
        return np.array(errors) / held.sum()

    @override
    def batches(
        self,
        columns: NDArray[np.intp],
        scale: Vector,
        functions: Functions = no_functions,
    ) -> Iterator[tuple[Matrix, Matrix]]:
        rest = self._rest_of_mean()[columns]
        for place, rows in self._stream.centred():
            yield (rows[:, columns] - rest) / scale, functions(place)

    @override
    def variances(self) -> Vector:
        rest = self._rest_of_mean()
        total = sum(
            ((rows - rest) ** 2).sum(axis=0) for _, rows in self._stream.centred()
        )
        return without_rounding(np.asarray(total) / self.n_rows, self._stream.largest)

    @override
    def beside(
        self, columns: NDArray[np.intp], functions: Functions = no_functions
    ) -> Iterator[tuple[slice, Matrix, Matrix, Matrix]]:
        """Read all columns once, beside some of them.

        Parameters
        ----------
        columns : ndarray of int
            Indices of the columns that are wanted in any case.
        functions : callable, default=no_functions
            From a slice of rows to the values of the functions of y.

        Yields
        ------
        place : slice
            All columns.
        rows : ndarray of shape (n_batch, n_features)
            Rows, centred on the site's mean.
        wanted : ndarray of shape (n_batch, n_columns)
            The same rows of `columns`.
        functions : ndarray of shape (n_batch, n_functions)
            Values of the functions in these rows.
        """
        rest = self._rest_of_mean()
        for place, rows in self._stream.centred():
            centred = rows - rest
            everything = slice(0, centred.shape[1])
            yield everything, centred, centred[:, columns], functions(place)

    @override
    def plain_response(self) -> Vector:
        return plain_response(self._stream.y)

    @override
    def weights(self, terms: Terms, *, strict: bool = False) -> Weights:
        return self._part(terms, None, strict=strict).weights

    @override
    def observe(
        self, look: Callable[..., Facts], columns: tuple[str, ...], **terms: Any
    ) -> Facts:
        stream = self._stream
        width = max(1, self.memory // (OBSERVED * 8 * stream.n_rows))
        found: Facts | None = None
        for start in range(0, stream.n_features, width):
            chosen = slice(start, start + width)
            block = _gather(stream.rows(), chosen, stream.n_rows)
            gaps = None
            if stream.fills:
                gaps = np.isnan(_gather(stream.held(), chosen, stream.n_rows))
            facts = look(block, stream.y, columns[chosen], gaps=gaps, **terms)
            found = facts if found is None else found.joined(facts)
        assert found is not None
        return found

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
        part = self._part(terms, kept, strict=strict)
        return self._sum([part])[0]

    @override
    def summarize_parts(self, terms: Terms) -> Iterator[Summary]:
        masks = self._masks(terms)
        parts = [self._part(terms, None, strict=terms.strict)]
        with warnings.catch_warnings():
            # All rows together have been checked; a fold may be too small.
            warnings.simplefilter("ignore", SiteWarning)
            parts += [self._part(terms, kept, strict=False) for kept in masks]
            y, discrete = self.tested_responses(terms)
            parts += [
                _weighed(y, kept, terms, discrete=discrete)
                for kept in self.halves(terms)
            ]
        yield from self._sum(parts)

    def _sum(self, parts: Sequence[Part]) -> list[Summary]:
        return summarize_parts(self._stream, parts, memory=self.memory)

    def _rest_of_mean(self) -> Matrix:
        """Compute the mean of all rows minus the origin."""
        origin = self._stream.origin
        if self._rest is None or self._rest[0] is not origin:
            self._rest = (origin, self._sum_about_origin() / self.n_rows)
        return self._rest[1]

    def _sum_about_origin(self) -> Matrix:
        return np.asarray(sum(rows.sum(axis=0) for _, rows in self._stream.centred()))

    def _part(self, terms: Terms, kept: Mask | None, *, strict: bool) -> Part:
        y = self._stream.y
        if not terms.discrete and y.dtype.kind != "f":
            raise InputError("the study needs a numeric y, and this site has classes")
        return _weighed(
            y, kept, terms, discrete=terms.discrete, strict=strict, label=self.label
        )


def batch_rows(n_columns: int, memory: int = MEMORY) -> int:
    """Return the number of rows to read at a time.

    Parameters
    ----------
    n_columns : int
        Number of columns in the source or in the sums, whichever is larger.
    memory : int, default=2**28
        Bytes of memory that a batch may take, including all copies of it.

    Returns
    -------
    int
        Number of rows, from 256 to 65536.
    """
    return int(np.clip(memory // (8 * COPIES * max(n_columns, 1)), 256, 65536))


def _weighed(
    y: NDArray[Any],
    kept: Mask | None,
    terms: Terms,
    *,
    discrete: bool,
    strict: bool = False,
    label: object = None,
) -> Part:
    """Weigh the rows of one part by their responses."""
    weights = weigh(
        y if kept is None else y[kept],
        kernel=terms.kernel,
        discrete=discrete,
        on_degenerate="raise" if strict else "zero",
        site=label,
    )
    # Ranks need memory in every part: four bytes per row instead of eight.
    return Part(replace(weights, ranks=weights.ranks.astype(np.int32)), kept)


def _in_lots(bases: Sequence[Matrix], room: int) -> list[list[Matrix]]:
    """Group bases so that each group has few columns, but at least one basis."""
    lots: list[list[Matrix]] = []
    for basis, total in zip(
        bases, accumulate(max(1, one.shape[1]) for one in bases), strict=True
    ):
        if len(lots) <= (total - 1) // room:
            lots.append([])
        lots[-1].append(basis)
    return lots


def _gather(batches: Iterator[Matrix], chosen: slice, n_rows: int) -> Matrix:
    """Hold some columns of all rows in memory."""
    found, place = np.empty((n_rows, 0)), 0
    for rows in batches:
        own = rows[:, chosen]
        if not place:
            found = np.empty((n_rows, own.shape[1]))
        found[place : place + len(own)] = own
        place += len(own)
    return found
