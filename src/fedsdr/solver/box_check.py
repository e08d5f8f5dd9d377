r"""How far an implicit dual point is outside the box, for all pairs of variables.

Only pairs that the inequality of Cauchy and Schwarz cannot settle are multiplied out.
An entry :math:`Z_{jk}` outside the box costs nothing where the diagonal leaves room: Z
may be raised by any :math:`P \succeq 0`, since :math:`\langle P, \Pi\rangle \ge 0`, and
:math:`P = \mathrm{diag}(m) - aE`, with room :math:`m_j = \rho - Z_{jj}` and the excess
E with its signs, is one if :math:`a|E| x \le m \circ x` for some positive vector x.
What is left of the excess is met by a multiple of Z.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from fedsdr.arrays import Mask, Matrix, Vector
from fedsdr.solver.clock import Clock
from fedsdr.solver.implicit_dual import ImplicitDual
from fedsdr.solver.problem import Indices

# Entries of Z that are held in memory at a time.
ENTRIES = 4_000_000
# Entries outside the box that are kept; with more, none is absorbed by the diagonal.
MOST_PAIRS = 3_000_000
POWER_STEPS = 30
# Diagonal entries of Z with less room than this share of the box absorb nothing.
LITTLE = 0.02


@dataclass(frozen=True, slots=True, eq=False)
class BoxCheck:
    r"""What leaves the box, and what that costs.

    Parameters
    ----------
    violation : float
        Number v such that Z / (1 + v), raised by a positive semi-definite matrix, is
        in the box; 0 inside.
    blame : ndarray of shape (d,)
        Largest violation on the diagonal and in the tight columns, relative to the
        penalty; at most 0 inside.
    worst : ndarray of shape (d,)
        Largest violation of any entry, before some are absorbed by the diagonal.
    n_unsettled : int
        Rows that the inequality of Cauchy and Schwarz did not settle.
    absorbed : float
        Share of the excess that the diagonal absorbs, for pairs of variables that have
        room there.
    """

    violation: float
    blame: Vector
    worst: Vector
    n_unsettled: int
    absorbed: float = 0.0

    @property
    def share(self) -> float:
        """Multiple of Z that lies in the box."""
        return 1.0 / (1.0 + self.violation)


def check_singles(dual: ImplicitDual, penalty: float) -> BoxCheck:
    """Look at the diagonal and the tight columns only.

    Parameters
    ----------
    dual : ImplicitDual
        Z.
    penalty : float
        Half the width of the box.

    Returns
    -------
    BoxCheck
        As if no other pair of variables were outside.
    """
    rest = _outside(dual)
    blame = np.abs(dual.across).max(axis=1, initial=0.0)
    blame[rest] = np.maximum(blame[rest], dual.diagonal[rest])
    blame = blame / penalty - 1.0
    return BoxCheck(max(float(blame.max(initial=0.0)), 0.0), blame, blame, 0)


def _outside(dual: ImplicitDual) -> Mask:
    rest = np.ones(dual.diagonal.size, dtype=bool)
    rest[dual.tight] = False
    return rest


def check_box(
    dual: ImplicitDual, penalty: float, max_rows: int, clock: Clock
) -> BoxCheck:
    """Look for entries of Z outside [-rho, rho].

    Parameters
    ----------
    dual : ImplicitDual
        Z.
    penalty : float
        Half the width of the box.
    max_rows : int
        Rows that may be multiplied out.
    clock : Clock
        When it runs out, what is left is bounded instead of multiplied out.

    Returns
    -------
    BoxCheck
        For all pairs of variables.
    """
    singles = check_singles(dual, penalty)
    hard, blame = singles.violation, singles.blame
    rest = _outside(dual)
    order = np.flatnonzero(rest & (dual.bound > penalty))
    order = order[np.argsort(-dual.bound[order], kind="stable")]
    if order.size == 0:
        return singles
    pairs = _Pairs(dual, penalty, rest)
    # A bound for some pairs is no better than the bound for all of them.
    affordable = order.size <= max_rows
    n_done = pairs.multiply_out(order, max_rows, clock) if affordable else 0
    left = order[n_done:]
    remaining, absorbed = pairs.absorb()
    if left.size:
        # Pairs of two rows that were not multiplied out are bounded; what they may need
        # of the room on the diagonal is not known.
        hard = max(hard, float(dual.bound[left].max()) / penalty - 1.0)
        remaining, absorbed = float(pairs.worst.max(initial=0.0)), 0.0
    worst = np.maximum(blame, pairs.worst / penalty)
    violation = max(hard, remaining / penalty)
    return BoxCheck(violation, blame, worst, order.size, absorbed)


class _Pairs:
    """Entries outside the box, off the diagonal and outside the tight rows."""

    def __init__(self, dual: ImplicitDual, penalty: float, rest: Mask) -> None:
        self.dual, self.penalty = dual, penalty
        self.others = np.flatnonzero(rest)
        # Outside the tight rows, rows are multiplied out with those that they can
        # leave the box with, the largest bounds first.
        self.others = self.others[np.argsort(-dual.bound[self.others], kind="stable")]
        self.heights = dual.bound[self.others]
        self.worst = np.full(dual.diagonal.size, -np.inf)
        self.found: list[tuple[Indices, Indices, Vector]] = []
        self.n_found = 0

    def multiply_out(self, order: Indices, max_rows: int, clock: Clock) -> int:
        """Go through rows in decreasing bound; return how many were affordable."""
        done, rho = 0, self.penalty
        while done < min(order.size, max_rows):
            if done and clock.expired:
                break
            # Rows before this one have been multiplied out with it already.
            top = self.dual.bound[order[done]]
            count = int(np.searchsorted(-self.heights, -(rho**2) / top))
            others = self.others[done:count]
            size = max(1, ENTRIES // max(others.size, 1))
            rows = order[done : min(done + size, order.size, max_rows)]
            excess = np.abs(self.dual.block(rows, others)) - rho
            own = np.arange(rows.size)
            excess[own, own] = -rho
            self._take(excess, rows, others)
            done += rows.size
        return done

    def _take(self, excess: Matrix, rows: Indices, others: Indices) -> None:
        i, j = np.nonzero(excess > 0.0)
        if not i.size:
            return
        np.maximum.at(self.worst, rows[i], excess[i, j])
        np.maximum.at(self.worst, others[j], excess[i, j])
        # Pairs of two rows of this block appear twice.
        once = (j >= rows.size) | (j > i)
        i, j = i[once], j[once]
        self.n_found += i.size
        if self.n_found <= MOST_PAIRS:
            self.found.append((rows[i], others[j], excess[i, j]))

    def absorb(self) -> tuple[float, float]:
        """Return the excess that is left, and the share that the diagonal absorbs."""
        largest = float(self.worst.max(initial=0.0))
        if not self.found or self.n_found > MOST_PAIRS:
            return largest, 0.0
        first, second, excess = (
            np.concatenate(part) for part in zip(*self.found, strict=True)
        )
        room = self.penalty - self.dual.diagonal
        soft = np.minimum(room[first], room[second]) > LITTLE * self.penalty
        left = float(excess[~soft].max(initial=0.0))
        if not soft.any():
            return left, 0.0
        ends = np.concatenate([first[soft], second[soft]])
        involved, place = np.unique(ends, return_inverse=True)
        i, j = np.split(place, 2)
        shape = (involved.size, involved.size)
        upper = csr_array((excess[soft], (i, j)), shape=shape)
        share = _absorbed(csr_array(upper + upper.T), room[involved])
        return max(left, (1.0 - share) * float(excess[soft].max())), share


def _absorbed(excess: csr_array, room: Vector) -> float:
    """Share of the excess for which ``room - share * excess`` is a dominant diagonal.

    Every positive vector proves one (Collatz and Wielandt); power iterations find a
    good one.
    """
    vector, best = np.ones(room.size), np.inf
    for _ in range(POWER_STEPS):
        image = excess @ vector / room
        best = min(best, float((image / vector).max()))
        # A little of the old vector keeps it positive where blocks separate.
        vector = image / image.max() + 1e-3 * vector
        vector /= vector.max()
    return min(1.0, 1.0 / best)
