"""A small set of variables, and the proof of its solution on all of them."""

from dataclasses import replace

import numpy as np

from fedsdr.arrays import Vector
from fedsdr.solver.box_check import BoxCheck, check_box, check_singles
from fedsdr.solver.clock import Clock
from fedsdr.solver.implicit_dual import ImplicitDual, SchurDual
from fedsdr.solver.problem import Indices, relative_gap
from fedsdr.solver.solution import Solution
from fedsdr.solver.sources import ColumnSource
from fedsdr.solver.working_set import solve_working_set

# Variables of the first set, variables that enter at a time at least, and how many of
# the set may be outside the support before the least suspicious leave.
FIRST_SIZE = 40
ENTERING = 10
MOST_SPARE = 60
# Variables of the set outside the support that join the base of the completion at a
# time.
JOINING = 5
MAX_ROUNDS = 60
# Where the rows can be searched, or matrices written out, that begins after so many
# rounds, or if more variables than that are outside.
FEW_ROUNDS = 3
HOPELESS = 50
# Variables outside the box, at most, that are let in instead of shifting the diagonal
# of all variables.
FEW_OUTSIDE = 15
# Relative gap of the restricted problems, as a share of the tolerance, and at most
# where their dual point is to be continued.
INNER = 0.1
INNER_MOST = 1e-6
# Share of the time left that one restricted problem may take.
PATIENT = 0.25
# Share of the time left that completion may take; the rest is for checking all pairs.
FOR_ROUNDS = 0.5
# Violations below this, relative to the penalty, are rounding.
NEGLIGIBLE = 1e-9
# Variables up to which the dense solver is the last resort.
WRITTEN_OUT = 1500


class ColumnSet:
    """The set in play, the best solution on it, and the best bound on all variables.

    Parameters
    ----------
    source : ColumnSource
        Diagonals, columns and products.
    n_directions : int
        K, between 1 and d.
    penalty : float
        Positive; rho of eq2.10.
    tol : float
        Relative gap to reach on all variables.
    max_iter : int
        Iterations at most of every restricted problem.
    clock : Clock
        Time limit and listener.

    Attributes
    ----------
    active : ndarray of int
        Variables of the set, ascending.
    place : ndarray of int
        Where the selected ones are among them.
    pi, inner_dual : ndarray
        Solution on the selected variables, dual point on the set.
    searches : bool
        Whether a search in the space of the rows has taken over, which needs no exact
        dual point.
    """

    def __init__(
        self,
        source: ColumnSource,
        n_directions: int,
        penalty: float,
        tol: float,
        max_iter: int,
        clock: Clock,
    ) -> None:
        self.source, self.n_directions, self.penalty = source, n_directions, penalty
        self.tol, self.max_iter, self.clock = tol, max_iter, clock
        # Z = 0, since no generalised eigenvalue of the kernel is larger.
        self.bound = -n_directions * source.largest_eigenvalue
        self.dual = (None, None)
        self.n_iter, self.objective = 0, np.inf
        self.active: Indices = np.empty(0, dtype=np.intp)
        self.extra: Indices = np.empty(0, dtype=np.intp)
        self.is_exact = False
        self.searches = False

    dual: tuple[ImplicitDual | None, BoxCheck | None]

    @property
    def gap(self) -> float:
        """Best relative gap on all variables."""
        return relative_gap(self.objective, self.bound)

    def is_done(self) -> bool:
        """Tell whether the tolerance or the time limit is reached.

        Returns
        -------
        bool
            True if nothing more is to be done.
        """
        return self.gap <= self.tol or self.clock.expired

    @property
    def support(self) -> Indices:
        """Variables that are selected."""
        return self.active[self.place]

    def start(self, warm_start: Solution | None) -> None:
        """Choose the first set and solve on it.

        Parameters
        ----------
        warm_start : Solution, optional
            Its variables belong to the set.
        """
        size = min(max(FIRST_SIZE, self.n_directions + 3), self.source.n_features)
        score = self.source.kernel_diagonal
        known = np.empty(0, dtype=np.intp) if warm_start is None else warm_start.active
        self.solve(np.union1d(np.argpartition(-score, size - 1)[:size], known))

    def take(self, active: Indices, known: Solution) -> None:
        """Begin with a solution on some variables.

        Parameters
        ----------
        active : ndarray of int
            Variables of the solution, ascending.
        known : Solution
            Solution on them, with its dual point written out.
        """
        self.active, self.place, self.pi = active, known.active, known.pi_active
        self.objective, self.inner_dual = known.objective, np.asarray(known.dual)
        self.is_exact, self.n_iter = known.gap <= self.tol, known.n_iter

    def solve(self, active: Indices) -> bool:
        """Solve on a set that holds the present support.

        Parameters
        ----------
        active : ndarray of int
            Variables, ascending.

        Returns
        -------
        bool
            False if the solution, cut short, is worse than the last one, which is kept.
        """
        inner_tol = INNER * self.tol
        if not self.searches:
            inner_tol = min(inner_tol, INNER_MOST)
        problem = self.source.restricted(active, self.n_directions, self.penalty)
        clock = self.clock.part(PATIENT)
        found = solve_working_set(
            problem, inner_tol, self.max_iter, None, clock=clock, warns=False
        )
        self.n_iter += found.n_iter
        is_worse = found.objective > self.objective
        if is_worse and found.gap > self.tol:
            return False
        if is_worse:
            # By rounding: the last solution is one of this set as well.
            self.place = np.searchsorted(active, self.support)
        else:
            self.place, self.pi = found.active, found.pi_active
            self.objective = found.objective
        self.active, self.inner_dual = active, np.asarray(found.dual)
        self.is_exact = found.gap <= self.tol
        self.extra = np.intersect1d(self.extra, active)
        self._tell()
        return True

    def _tell(self) -> None:
        n_columns = self.source.n_columns
        self.clock.tell(self.penalty, self.gap, self.active.size, n_columns)

    def offer(self, dual: ImplicitDual, *, whole: bool = True) -> BoxCheck:
        """Check a dual point, and keep it if it proves more.

        Parameters
        ----------
        dual : ImplicitDual
            On all variables.
        whole : bool, default=True
            If false, products are spared, and nothing is kept, where the diagonal and
            the tight columns alone are too far outside.

        Returns
        -------
        BoxCheck
            What is outside.
        """
        check = check_singles(dual, self.penalty)
        gap = relative_gap(self.objective, dual.value(check.share))
        if not whole and gap > self.tol:
            return check
        affordable = self.source.affordable_rows
        check = check_box(dual, self.penalty, affordable, self.clock)
        bound = dual.value(check.share)
        if bound > self.bound:
            self.bound, self.dual = bound, (dual, check)
        self._tell()
        return check

    def schur(self, share: float | None = None) -> SchurDual:
        """Continue the dual point of the support, and of what has to be with it.

        Parameters
        ----------
        share : float, optional
            Of the residual covariance, see `SchurDual`.

        Returns
        -------
        SchurDual
            On all variables.
        """
        base = np.union1d(self.support, self.extra).astype(np.intp)
        place = np.searchsorted(self.active, base)
        small = self.source.restricted(base, self.n_directions, self.penalty)
        small = replace(small, n_directions=self.n_directions)
        inner = self.inner_dual[np.ix_(place, place)]
        return SchurDual(self.source, small, base, inner, share)

    def complete(self) -> None:
        """Let variables in until the completion is in the box, or does not help."""
        self._complete_rounds()
        if not self.is_done() and not self.source.has_row_space:
            self.offer(self.schur())

    def _complete_rounds(self) -> None:
        """Solve, complete and check, as long as some variable can be blamed."""
        clock = self.clock.part(FOR_ROUNDS)
        for n_rounds in range(MAX_ROUNDS):
            spares = n_rounds < FEW_ROUNDS and not self.source.has_row_space
            dual = self._least_shifted() if spares else self.schur()
            check = self.offer(dual, whole=False)
            if not self.is_done() and not (check.blame > NEGLIGIBLE).any():
                # Only pairs of variables are outside: the other end of the choice.
                check = self.offer(self.schur((1.0 + dual.used_share) / 2))
            if self.is_done():
                return
            n_bad = (check.blame > NEGLIGIBLE).sum()
            is_hopeless = n_bad > HOPELESS or n_rounds >= FEW_ROUNDS or not n_bad
            if clock.expired or (is_hopeless and self._has_resort):
                return
            score = check.blame if n_bad else check.worst
            entering = self._suspicious(score)
            joined = self._join_base(score)
            if entering.size:
                joined = self.solve(self._next_set(entering, check.blame))
            if not joined:
                return

    def _least_shifted(self) -> SchurDual:
        """Continue the dual point without the residual covariance if few object.

        The residual covariance brings the diagonal into the box, but then pairs of
        variables have to be multiplied out; variables that join the base have not.
        """
        plain = self.schur(0.0)
        n_bad = (check_singles(plain, self.penalty).blame > NEGLIGIBLE).sum()
        return plain if n_bad <= FEW_OUTSIDE else self.schur()

    @property
    def _has_resort(self) -> bool:
        """Whether there is something else to try."""
        small = self.source.n_features <= WRITTEN_OUT and self.source.can_write_out
        return self.source.has_row_space or small

    def _join_base(self, blame: Vector) -> bool:
        """Complete from variables of the set, too, that are not selected but outside.

        The restricted dual point has their rows in the box, the completion from the
        support alone has not.
        """
        known = np.setdiff1d(self.active, np.union1d(self.support, self.extra))
        known = known[blame[known] > NEGLIGIBLE]
        known = known[np.argsort(-blame[known], kind="stable")][:JOINING]
        self.extra = np.union1d(self.extra, known).astype(np.intp)
        return bool(known.size)

    def _suspicious(self, blame: Vector) -> Indices:
        """Find the variables outside the set that are worst."""
        score = np.where(blame > NEGLIGIBLE, blame, 0.0)
        score[self.active] = 0.0
        count = max(ENTERING, self.place.size // 2)
        order = np.argsort(-score, kind="stable")[:count]
        return order[score[order] > 0.0]

    def _next_set(self, entering: Indices, blame: Vector) -> Indices:
        """Add variables, and drop those outside the support that look harmless."""
        base = np.union1d(self.support, self.extra)
        spare = np.setdiff1d(self.active, base)
        spare = spare[np.argsort(-blame[spare], kind="stable")]
        spare = spare[: max(MOST_SPARE - entering.size, 0)]
        return np.union1d(np.union1d(base, spare), entering).astype(np.intp)

    def solution(self) -> Solution:
        """Say what was found and proved.

        Returns
        -------
        Solution
            With the best bound on all variables.
        """
        proved = self.gap <= self.tol
        n_certified = self.source.n_features if proved else self.active.size
        return Solution(
            n_features=self.source.n_features,
            n_directions=self.n_directions,
            penalty=self.penalty,
            active=self.support,
            pi_active=self.pi,
            objective=self.objective,
            dual_bound=self.bound,
            gap=self.gap,
            converged=proved,
            n_iter=self.n_iter,
            dual=self.dual[0] or np.empty((0, 0)),
            n_certified=n_certified if proved or self.is_exact else 0,
            n_columns=self.source.n_columns,
        )

    def write_out(self, found: Solution) -> Solution:
        """Hand the whole problem to the dense solver, if it is small enough.

        Parameters
        ----------
        found : Solution
            What was found without it.

        Returns
        -------
        Solution
            The better one of both.
        """
        if self.source.n_features > WRITTEN_OUT or not self.source.can_write_out:
            return found
        everything = np.arange(self.source.n_features)
        problem = self.source.restricted(everything, self.n_directions, self.penalty)
        dense = solve_working_set(
            problem, self.tol, self.max_iter, None, clock=self.clock, warns=False
        )
        if dense.gap >= found.gap:
            return found
        return replace(
            dense,
            n_certified=dense.n_features if dense.converged else found.n_certified,
            n_columns=self.source.n_columns,
            n_iter=dense.n_iter + found.n_iter,
        )
