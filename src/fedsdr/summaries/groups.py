"""Means of groups of rows that are read in batches, a part of the groups per pass."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fedsdr.arrays import Mask, Matrix
from fedsdr.summaries.kernels import gram, group_members, pair_weights
from fedsdr.summaries.slicing import Weights
from fedsdr.summaries.stream import Stream


@dataclass(slots=True, eq=False)
class GroupJob:
    """Rows of one part, whose groups have to be averaged.

    Parameters
    ----------
    weights : Weights
        Weights, which contain the group of each row of the part.
    kept : ndarray of bool, shape (n_rows,) or None
        Rows of the part; None for all rows.
    mean : ndarray of shape (n_features,)
        Mean row of the part.
    """

    weights: Weights
    kept: Mask | None
    mean: Matrix
    sizes: NDArray[np.intp] = field(init=False)
    label: NDArray[np.int32] = field(init=False)

    def __post_init__(self) -> None:
        ranks = self.weights.ranks
        self.sizes = np.bincount(ranks)
        if self.kept is None:
            self.label = ranks.astype(np.int32, copy=False)
        else:
            self.label = np.full(len(self.kept), -1, dtype=np.int32)
            self.label[self.kept] = ranks


@dataclass(slots=True, eq=False)
class _Piece:
    """Groups first, ..., last - 1 of a job, while their rows are read."""

    number: int
    job: GroupJob
    first: int
    last: int
    means: Matrix = field(init=False)

    def begin(self) -> None:
        self.means = np.zeros((self.last - self.first, len(self.job.mean)))

    def add(self, place: slice, rows: Matrix) -> None:
        labels, own = self.select(place)
        if own.size:
            groups, members = group_members(labels)
            self.means[groups] += members @ rows[own]

    def finish(self) -> None:
        self.means /= self.sizes[:, None]
        self.means -= self.job.mean

    @property
    def sizes(self) -> NDArray[np.intp]:
        return self.job.sizes[self.first : self.last]

    def select(self, place: slice) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the rows of a batch that are in these groups, and their groups."""
        labels = self.job.label[place]
        own = np.flatnonzero((labels >= self.first) & (labels < self.last))
        return labels[own].astype(np.intp) - self.first, own


def between_groups(
    stream: Stream, jobs: Mapping[int, GroupJob], capacity: int
) -> dict[int, Matrix]:
    """Compute n_i times the between-group covariance, see `between_slices`.

    Parameters
    ----------
    stream : Stream
        Rows of the site.
    jobs : mapping of int to GroupJob
        Parts of the rows.
    capacity : int
        Number of groups whose means are held at a time.

    Returns
    -------
    dict of int to ndarray of shape (n_features, n_features)
        Matrix of each job.
    """
    found: dict[int, Matrix] = {}
    for pieces in _passes(stream, jobs, capacity):
        for piece in pieces:
            weighted = np.sqrt(piece.sizes)[:, None] * piece.means
            _add_to(found, piece.number, gram(weighted))
    return found


def within_groups(
    stream: Stream, jobs: Mapping[int, GroupJob], capacity: int
) -> dict[int, Matrix]:
    """Compute n_i Q_i from differences of neighbours, see `within_pairs`.

    Parameters
    ----------
    stream : Stream
        Rows of the site.
    jobs : mapping of int to GroupJob
        Parts of the rows.
    capacity : int
        Number of ties whose means are held at a time. Without ties every row is a group
        of one, so that a part of n rows needs about n / capacity passes.

    Returns
    -------
    dict of int to ndarray of shape (n_features, n_features)
        Matrix of each job.
    """
    found: dict[int, Matrix] = {}
    pairs = {
        number: pair_weights(job.sizes, ordered=job.weights.ordered)
        for number, job in jobs.items()
    }
    # Mean of the last tie of the previous piece, which may form a pair with the next.
    carried: dict[int, Matrix] = {}
    for pieces in _passes(stream, jobs, capacity):
        for piece in pieces:
            _, first, second = pairs[piece.number]
            here = (second >= piece.first) & (second < piece.last)
            before = carried.get(piece.number, np.zeros_like(piece.job.mean))
            known = np.vstack([before, piece.means])
            lower, upper = first[here] - piece.first, second[here] - piece.first
            _add_to(found, piece.number, gram(known[lower + 1] - known[upper + 1]))
            carried[piece.number] = piece.means[-1].copy()
        tied = [piece for piece in pieces if piece.sizes.max() > 1]
        if tied:
            for place, rows in stream.centred():
                for piece in tied:
                    weights = pairs[piece.number][0][piece.first : piece.last]
                    labels, own = piece.select(place)
                    steps = rows[own] - piece.job.mean - piece.means[labels]
                    scaled = np.sqrt(weights[labels])[:, None] * steps
                    _add_to(found, piece.number, gram(scaled))
    return found


def _passes(
    stream: Stream, jobs: Mapping[int, GroupJob], capacity: int
) -> Iterator[Sequence[_Piece]]:
    """Yield the means of all groups, as many per pass as may be held."""
    for pieces in _schedule(jobs, capacity):
        for piece in pieces:
            piece.begin()
        for place, rows in stream.centred():
            for piece in pieces:
                piece.add(place, rows)
        for piece in pieces:
            piece.finish()
        yield pieces


def _schedule(jobs: Mapping[int, GroupJob], capacity: int) -> Iterator[list[_Piece]]:
    pieces: list[_Piece] = []
    room = capacity
    for number, job in jobs.items():
        first = 0
        while first < len(job.sizes):
            if room == 0:
                yield pieces
                pieces, room = [], capacity
            last = min(first + room, len(job.sizes))
            pieces.append(_Piece(number, job, first, last))
            room -= last - first
            first = last
    if pieces:
        yield pieces


def _add_to(found: dict[int, Matrix], number: int, matrix: Matrix) -> None:
    if number in found:
        found[number] += matrix
    else:
        found[number] = matrix
