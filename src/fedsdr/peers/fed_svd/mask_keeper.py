"""What a holder does with the masks that it is given."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedsdr.arrays import Matrix
from fedsdr.exceptions import InputError
from fedsdr.peers.fed_svd.rotations import Rotation
from fedsdr.peers.fed_svd.secret_draws import derive
from fedsdr.peers.fed_svd.svd_schema import FEDSVD
from fedsdr.peers.fed_svd.svd_terms import CODE, LARGEST, check_range
from fedsdr.protocols.checked_exchange import answer_checked
from fedsdr.protocols.exchange import Payload, Refusal
from fedsdr.secure_sum.fixed_point import Ring
from fedsdr.secure_sum.masks import pairwise


@dataclass(frozen=True, slots=True, eq=False)
class Slice:
    """A holder's rows of one block of Q.

    Parameters
    ----------
    start : int
        First column of the block.
    rows : ndarray of int64, shape (n,)
        Which of the holder's rows are in the block.
    block : ndarray of shape (n, width)
        Their rows of the block.
    """

    start: int
    rows: NDArray[np.int64]
    block: Matrix

    @property
    def stop(self) -> int:
        """Column after the last."""
        return self.start + self.block.shape[1]


class MaskKeeper:
    r"""The side of a holder that answers the authority.

    Parameters
    ----------
    name : str
        Of the holder.
    n_rows, n_features : int
        Size of its data.
    min_peers : int, default=1
        How many other holders there must be; with none, the sum that the server sees is
        the holder's own part.

    Notes
    -----
    It sees P, its rows of Q and its seeds. It sends

    ============  ==========================================================
    message       reply
    ============  ==========================================================
    fedsvd.size   its numbers of rows and columns
    fedsvd.left   nothing; the message brings P and the seeds
    fedsvd.right  nothing; the message brings its rows of a block of Q
    ============  ==========================================================

    It is a party of its own, so that the server cannot bring masks.
    """

    def __init__(
        self, name: str, n_rows: int, n_features: int, *, min_peers: int = 1
    ) -> None:
        self._name = name
        self._shape = (n_rows, n_features)
        self._min_peers = min_peers
        self._next: str | None = "fedsvd.size"
        self._seeds: dict[str, bytes] = {}
        self._placed = np.zeros(n_rows, dtype=bool)
        self.rotation = Rotation(np.empty(0, dtype=np.int64), ())
        self.slices: list[Slice] = []
        self.n_columns = 0

    @property
    def complete(self) -> bool:
        """Whether all masks have come."""
        return self._next is None

    @property
    def n_holders(self) -> int:
        """Number of holders, this one included."""
        return len(self._seeds) + 1

    def handle(self, name: str, payload: Payload) -> Payload:
        """Answer one message of the authority.

        Parameters
        ----------
        name : str
            One of those above.
        payload : dict
            Its content.

        Returns
        -------
        dict
            The reply.
        """
        answers = {
            "fedsvd.size": self._size,
            "fedsvd.left": self._left,
            "fedsvd.right": self._right,
        }
        if name in answers and name != self._next:
            raise Refusal("ORDER", f"{self._next} was expected")
        sizes = {"d": self._shape[1]}
        return answer_checked(FEDSVD, answers, name, payload, sizes=sizes)

    def hide(self, values: Matrix, purpose: str) -> Ring:
        """Write numbers so that only their sum over all holders can be read.

        Parameters
        ----------
        values : ndarray of shape (...)
            Numbers.
        purpose : str
            The same at all holders, and never the same twice.

        Returns
        -------
        ndarray of uint64, shape (..., 2)
            In fixed point, under one mask per peer.
        """
        try:
            elements = CODE.encode(values, self.n_holders)
        except OverflowError as error:
            raise InputError(str(error)) from error
        seeds = {peer: derive(seed, purpose) for peer, seed in self._seeds.items()}
        flat = elements.reshape(-1, CODE.words)
        return pairwise(flat, self._name, seeds).reshape(elements.shape)

    def rotate(self, left: Matrix, start: int, stop: int) -> Matrix:
        """Multiply by some columns of Q.

        Parameters
        ----------
        left : ndarray of shape (n_features, n_rows)
            The holder's rows as columns.
        start, stop : int
            Which columns.

        Returns
        -------
        ndarray of shape (n_features, stop - start)
            The holder's part of them.
        """
        rotated = np.empty((len(left), stop - start))
        for part in self.slices:
            first, last = max(start, part.start), min(stop, part.stop)
            if first < last:
                block = part.block[:, first - part.start : last - part.start]
                rotated[:, first - start : last - start] = left[:, part.rows] @ block
        return rotated

    def _size(self, _: Payload) -> Payload:
        self._next = "fedsvd.left"
        return {"n_rows": self._shape[0], "n_features": self._shape[1]}

    def _left(self, payload: Payload) -> Payload:
        d = self._shape[1]
        n_columns = check_range(payload["n_columns"], self._shape[0], LARGEST)
        order, blocks = payload["order"], tuple(payload["blocks"])
        square = all(block.shape[0] == block.shape[1] for block in blocks)
        whole = sum(map(len, blocks)) == d
        if not (square and whole and np.array_equal(np.sort(order), np.arange(d))):
            raise Refusal("MALFORMED")
        self._check_seeds(payload["seeds"])
        self._seeds = dict(payload["seeds"])
        self.rotation, self.n_columns = Rotation(order, blocks), n_columns
        self._next = "fedsvd.right"
        return {}

    def _check_seeds(self, seeds: dict[str, bytes]) -> None:
        if self._name in seeds:
            raise Refusal("MALFORMED", "a holder has no seed with itself")
        if len(set(seeds.values())) < len(seeds):
            raise Refusal("TAMPERED", "two peers have the same seed")
        if len(seeds) < self._min_peers:
            raise Refusal("PEERS", "no sum hides a single holder")

    def _right(self, payload: Payload) -> Payload:
        start = self.slices[-1].stop if self.slices else 0
        check_range(payload["start"], start, start)
        rows, block = payload["rows"], payload["block"]
        width, left = block.shape[1], self.n_columns - start
        n_rows = self._shape[0]
        if not max(1, len(rows)) <= width <= left or not _in_range(rows, n_rows):
            raise Refusal("MALFORMED")
        if len(np.unique(rows)) < len(rows) or self._placed[rows].any():
            raise Refusal("MALFORMED")
        if width == left and self._placed.sum() + len(rows) < n_rows:
            raise Refusal("MALFORMED")
        self._placed[rows] = True
        self.slices.append(Slice(start, rows, block))
        self._next = None if width == left else "fedsvd.right"
        return {}


def _in_range(rows: NDArray[np.int64], n_rows: int) -> bool:
    return not len(rows) or bool(rows.min() >= 0 and rows.max() < n_rows)
