"""The server, which factorises what it cannot read."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from fedsdr.arrays import Matrix
from fedsdr.exceptions import InputError
from fedsdr.peers.fed_svd.svd_schema import FEDSVD
from fedsdr.peers.fed_svd.svd_terms import CODE, LARGEST, SvdTerms, check_range
from fedsdr.protocols.checked_exchange import ask_checked
from fedsdr.protocols.exchange import (
    Exchange,
    IncompleteError,
    Payload,
    Payloads,
    Replies,
)
from fedsdr.secure_sum.fixed_point import total

EPS = float(np.finfo(np.float64).eps)
#: Bytes of a message of masked columns.
MESSAGE_BYTES = 2**24
#: Relative error of the covariance up to which fixed point may round.
LARGEST_ERROR = 1e-10


@dataclass(frozen=True, slots=True, eq=False)
class _Decomposition:
    """P X Q = U' S V', or its first factors."""

    left: Matrix
    values: Matrix
    right: Matrix | None


@dataclass(slots=True, eq=False)
class FactorisationServer:
    r"""Adds the holders' masked parts to P X Q, and factorises it.

    Parameters
    ----------
    exchange : Exchange
        Reaches the holders.
    holders : sequence of str
        Their names, the same that the authority uses.
    terms : SvdTerms
        That all parties agreed on.
    timeout : float, default=600.0
        Seconds a holder may take for an answer; none may fail.

    Notes
    -----
    It sees :math:`P X Q = U' S V'^\top` and, if rows are centred, P times their mean:
    the singular values of X, of its blocks if P and Q have several, and nothing that
    depends on the coordinates. It does not see P, so that :math:`U = P^\top U'` is
    known to the holders only. `Holder` describes what `SvdTerms.recover_rows` adds.

    Columns come in messages of at most 16 MB. As soon as there are twice as many as
    variables, they are reduced to a triangular matrix with the same left singular
    vectors, so that memory does not grow with the number of rows; with `recover_rows`
    the server has to keep all.
    """

    exchange: Exchange
    holders: Sequence[str]
    terms: SvdTerms
    timeout: float = 600.0
    _shape: tuple[int, int] = field(default=(0, 0), init=False)
    _n_blocks: int = field(default=0, init=False)

    def run(self) -> None:
        """Decompose, and send the holders their factors."""
        self._begin()
        size = 0.0 if self.terms.center is False else self._share_mean()
        found = self._decompose()
        rank = self._rank(found.values, size)
        kept = rank if self.terms.n_components is None else self.terms.n_components
        kept = min(kept, rank)
        factors = {
            "left": np.ascontiguousarray(found.left[:, :kept]),
            "values": found.values[:kept],
            "total": float((found.values**2).sum()),
        }
        self._ask_all("fedsvd.factors", factors, d=self._shape[0], k=kept)
        if found.right is not None and kept:
            self._recover_rows(found.right[:kept])

    def _begin(self) -> None:
        replies = self._ask_all("fedsvd.begin", {"terms": self.terms.to_payload()})
        first = replies[self.holders[0]]
        odd = {site: "TERMS" for site, reply in replies.items() if reply != first}
        if odd:
            raise IncompleteError("fedsvd.begin", odd)
        n_holders = len(self.holders)
        n_columns = check_range(first["n_columns"], n_holders, LARGEST)
        n_features = check_range(first["n_features"], 1, LARGEST)
        check_range(first["n_holders"], n_holders, n_holders)
        self._shape = (n_features, n_columns)
        self._n_blocks = check_range(first["n_blocks"], 1, n_columns)

    def _share_mean(self) -> float:
        """Return the length of the mean, which P does not change."""
        rotated = self._add("fedsvd.share", {}, d=self._shape[0])
        self._ask_all("fedsvd.mean", {"mean": rotated}, d=self._shape[0])
        return float(np.linalg.norm(rotated))

    def _decompose(self) -> _Decomposition:
        if self.terms.recover_rows:
            masked = np.hstack(list(self._columns()))
            return _Decomposition(*np.linalg.svd(masked, full_matrices=False))
        waiting: list[Matrix] = []
        for columns in self._columns():
            waiting.append(columns)
            if sum(part.shape[1] for part in waiting) > 2 * self._shape[0]:
                waiting = [_reduce(waiting)]
        left, values, _ = np.linalg.svd(_reduce(waiting), full_matrices=False)
        return _Decomposition(left, values, None)

    def _columns(self) -> Iterator[Matrix]:
        d, n_columns = self._shape
        width = max(1, MESSAGE_BYTES // (8 * CODE.words * d))
        for start in range(0, n_columns, width):
            stop = min(start + width, n_columns)
            payload = {"start": start, "stop": stop}
            yield self._add("fedsvd.columns", payload, d=d, w=stop - start)

    def _rank(self, values: Matrix, size: float) -> int:
        """Count the singular values that are more than rounding."""
        d, n_columns = self._shape
        largest = float(values[0])
        rounding = EPS * max(
            max(d, n_columns) * largest, 10.0 * np.sqrt(d * n_columns) * size
        )
        rank = int((values > rounding).sum())
        step = 2.0 ** -(CODE.fraction_bits + 1) * len(self.holders)
        # The covariance has twice the relative error of the matrix.
        if rank and 2.0 * step * np.sqrt(d * n_columns) > LARGEST_ERROR * largest:
            raise InputError(
                "the rows vary too little to be added in fixed point, which has steps "
                f"of {2.0**-CODE.fraction_bits:.0e}: use smaller units"
            )
        return rank

    def _recover_rows(self, right: Matrix) -> None:
        start = 0
        for block in range(self._n_blocks):
            replies = self._ask_all("fedsvd.cover", {"block": block})
            columns = right[:, start : start + len(replies[self.holders[0]]["cover"])]
            width = columns.shape[1]
            odd = {
                site: "MALFORMED"
                for site, reply in replies.items()
                if len(reply["cover"]) != width
            }
            if odd:
                raise IncompleteError("fedsvd.cover", odd)
            messages = {
                site: {"covered": columns @ reply["cover"]}
                for site, reply in replies.items()
            }
            self._ask("fedsvd.rows", messages, k=len(right))
            start += width

    def _add(self, name: str, payload: Payload, **sizes: int) -> Matrix:
        """Ask for one sum over the holders."""
        replies = self._ask_all(name, payload, words=CODE.words, **sizes)
        return CODE.decode(total(reply["masked"] for reply in replies.values()))

    def _ask_all(self, name: str, payload: Payload, **sizes: int) -> Replies:
        return self._ask(name, dict.fromkeys(self.holders, payload), **sizes)

    def _ask(self, name: str, payloads: Payloads, **sizes: int) -> Replies:
        return ask_checked(
            self.exchange, FEDSVD, name, payloads, self.timeout, sizes=sizes
        )


def _reduce(parts: list[Matrix]) -> Matrix:
    """Find a matrix with the same left singular vectors and values, d x d at most."""
    columns = np.hstack(parts)
    if columns.shape[1] <= columns.shape[0]:
        return columns
    triangle: Matrix = np.linalg.qr(columns.T, mode="r")  # type: ignore[assignment]
    return triangle.T
