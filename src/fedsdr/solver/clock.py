"""How long a solve may take, and what it tells while it runs."""

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

from fedsdr.exceptions import InputError

# Seconds between two reports of progress.
PAUSE = 1.0


@dataclass(frozen=True, slots=True)
class SolveProgress:
    """Where a solve stands.

    Parameters
    ----------
    seconds : float
        Time since it began.
    penalty : float
        Penalty that is being solved for.
    gap : float
        Best relative gap on all variables so far; infinite before there is one.
    n_variables : int
        Size of the present working set.
    n_columns : int
        Columns that the source was asked for, over all its solves.
    """

    seconds: float
    penalty: float
    gap: float
    n_variables: int
    n_columns: int


class Clock:
    """A time limit, and a listener that is called about once a second.

    Parameters
    ----------
    max_seconds : float, optional
        Positive; no limit if not given.
    progress : callable, optional
        Called with a `SolveProgress`.
    """

    def __init__(
        self,
        max_seconds: float | None = None,
        progress: Callable[[SolveProgress], None] | None = None,
    ) -> None:
        if max_seconds is not None and not max_seconds > 0.0:
            raise InputError(f"max_seconds must be positive, got {max_seconds}")
        self._begin = monotonic()
        self._limit = max_seconds
        self._progress = progress
        self._told = self._begin

    @property
    def seconds(self) -> float:
        """Time since the clock was started."""
        return monotonic() - self._begin

    @property
    def expired(self) -> bool:
        """Whether the limit is reached."""
        return self._limit is not None and self.seconds >= self._limit

    def part(self, share: float) -> "Clock":
        """Give a part of the time that is left to a part of the work.

        Parameters
        ----------
        share : float
            In (0, 1].

        Returns
        -------
        Clock
            Without a listener.
        """
        if self._limit is None:
            return Clock()
        return Clock(max(share * (self._limit - self.seconds), 1e-9))

    def tell(
        self, penalty: float, gap: float, n_variables: int, n_columns: int
    ) -> None:
        """Report progress, unless the last report was a moment ago.

        Parameters
        ----------
        penalty : float
            Penalty that is being solved for.
        gap : float
            Best relative gap so far.
        n_variables : int
            Size of the working set.
        n_columns : int
            Columns asked for.
        """
        if self._progress is None or monotonic() - self._told < PAUSE:
            return
        self._told = monotonic()
        self._progress(
            SolveProgress(self.seconds, penalty, gap, n_variables, n_columns)
        )
