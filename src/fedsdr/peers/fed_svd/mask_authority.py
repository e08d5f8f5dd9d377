"""The authority, which draws the masks and sees nothing that they hide."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from fedsdr.exceptions import InputError
from fedsdr.peers.fed_svd.rotations import block_sizes, haar, random_rotation
from fedsdr.peers.fed_svd.secret_draws import Draws
from fedsdr.peers.fed_svd.svd_schema import FEDSVD
from fedsdr.peers.fed_svd.svd_terms import LARGEST, check_range
from fedsdr.protocols.checked_exchange import ask_checked
from fedsdr.protocols.exchange import Exchange, Payloads, Replies


@dataclass(frozen=True, slots=True, eq=False)
class MaskAuthority:
    r"""Draws P, Q and the pairwise seeds, and hands them to the holders.

    Parameters
    ----------
    exchange : Exchange
        Reaches the holders' `MaskKeeper`. Nobody else may read it, least of all the
        server.
    holders : sequence of str
        Their names, the same that the server uses.
    seed : bytes of length 32
        Secret, drawn for this one decomposition.
    block_size : int or None, default=None
        Largest block of P and of Q, 1000 if None. Smaller blocks are quicker and hide
        less, see `fedsdr.peers.fed_svd.rotations.Rotation`.
    timeout : float, default=600.0
        Seconds a holder may take for an answer; none may fail.

    Notes
    -----
    It sees the number of rows and columns of every holder. All holders get P; each gets
    its own rows of Q only, and a seed for every other holder. Whoever holds P, Q and
    :math:`P X Q` can read X, so that the authority has to be trusted to tell nothing
    to the server; that it draws the seeds of the secure sum too asks for no more trust.

    Rows of all holders are shuffled before they are cut into the blocks of Q. Otherwise
    a block could hold the rows of one holder alone, and the sum over holders would hide
    nothing there.
    """

    exchange: Exchange
    holders: Sequence[str]
    seed: bytes = field(repr=False)
    block_size: int | None = None
    timeout: float = 600.0

    def run(self) -> None:
        """Ask for sizes, then hand out all masks."""
        sizes = self._ask("fedsvd.size", {name: {} for name in self.holders})
        widths = {check_range(one["n_features"], 1, LARGEST) for one in sizes.values()}
        if len(widths) > 1:
            raise InputError(
                "the holders have different numbers of columns: agree on them first"
            )
        counts = [check_range(one["n_rows"], 1, LARGEST) for one in sizes.values()]
        draws = Draws(self.seed)
        self._left(widths.pop(), sum(counts), draws)
        self._right(counts, draws)

    def _left(self, n_features: int, n_columns: int, draws: Draws) -> None:
        """Hand out P and the seeds of pairs."""
        order = draws.permutation(n_features)
        rotation = random_rotation(order, draws.normal, self.block_size)
        seeds: dict[str, dict[str, bytes]] = {holder: {} for holder in self.holders}
        for one, other in combinations(self.holders, 2):
            seeds[one][other] = seeds[other][one] = draws.bytes()
        common = {
            "order": rotation.order,
            "blocks": list(rotation.blocks),
            "n_columns": n_columns,
        }
        messages = {name: {**common, "seeds": seeds[name]} for name in self.holders}
        self._ask("fedsvd.left", messages, d=n_features)

    def _right(self, counts: list[int], draws: Draws) -> None:
        """Hand out Q, one block at a time."""
        owner = np.repeat(np.arange(len(counts)), counts)
        row = np.concatenate([np.arange(count) for count in counts])
        order = draws.permutation(len(owner))
        start = 0
        for size in block_sizes(len(owner), self.block_size):
            members = order[start : start + size]
            block = haar(size, draws.normal)
            messages = {}
            for index, name in enumerate(self.holders):
                own = owner[members] == index
                messages[name] = {
                    "start": start,
                    "rows": row[members[own]],
                    "block": block[own],
                }
            self._ask("fedsvd.right", messages, w=size)
            start += size

    def _ask(self, name: str, payloads: Payloads, **sizes: int) -> Replies:
        return ask_checked(
            self.exchange, FEDSVD, name, payloads, self.timeout, sizes=sizes
        )
