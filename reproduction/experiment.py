"""What an experiment is: tasks, what they measure, and how that is judged."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from fedsdr.exceptions import InputError

#: Defaults were chosen on seeds below this one; reported runs have seeds above it.
FIRST_SEED = 1_000_000

#: Columns of the results that every experiment has, before its measurements.
KEY = ("condition", "setting", "method", "run")


@dataclass(frozen=True, slots=True)
class Task:
    """One method on one data set.

    Parameters
    ----------
    experiment : str
        Name of the experiment.
    condition : str
        Row of the paper's table, such as "n=100".
    setting : str
        Column of the paper's table, such as "3".
    method : str
        What is fitted.
    run : int
        Number of the repetition, from 0.
    data : str, default=""
        Experiment whose data sets are taken; its own if empty.
    """

    experiment: str
    condition: str
    setting: str
    method: str
    run: int
    data: str = ""

    @property
    def key(self) -> tuple[str, str, str, int]:
        """What distinguishes this task from the others of its experiment."""
        return self.condition, self.setting, self.method, self.run

    @property
    def seed(self) -> int:
        """Seed of the data: the same for all methods, and of no other cell or run."""
        source = self.data or self.experiment
        words = "|".join((source, self.condition, self.setting, str(self.run)))
        digest = hashlib.sha256(words.encode()).digest()
        return FIRST_SEED + int.from_bytes(digest[:6], "big") % (2**31 - FIRST_SEED)


@dataclass(frozen=True, slots=True)
class Check:
    """One sentence that the results confirm or not.

    Parameters
    ----------
    claim : str
        What should hold, with its target.
    measured : str
        What was found.
    met : bool or None
        Whether it holds; None while it cannot be said, for lack of runs.
    """

    claim: str
    measured: str
    met: bool | None

    @property
    def word(self) -> str:
        """Whether it holds, in one to three words."""
        return {True: "yes", False: "no", None: "not yet known"}[self.met]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the results of an experiment say beside the paper's.

    Parameters
    ----------
    body : str
        Markdown: the tables, from headings of the second level down.
    checks : tuple of Check
        Checks for the page about all experiments.
    differs : tuple of str
        One line for every cell where we differ from the paper.
    """

    body: str
    checks: tuple[Check, ...] = ()
    differs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Experiment:
    """A table or figure of the paper.

    Parameters
    ----------
    name : str
        Name of its command and folder.
    title : str
        What it is in the paper.
    conditions, settings : sequence of str
        Rows and columns of the table; each pair is a cell.
    methods : mapping of str to int
        Runs that each method gets by default, in the order in which methods are run.
        A slow method may get fewer runs than in the paper.
    measures : sequence of str
        Names of what `run` measures.
    run : callable
        From a `Task` to a number for each measure; NaN where there is none. A function
        of a module, since it is sent to other processes; it should draw everything
        random from ``task.seed``, so that all methods see the same data.
    judge : callable
        From the results to a `Verdict`. They are a data frame with columns
        ``condition``, ``setting``, ``method`` (text), ``run``, ``seed``, the measures,
        ``seconds`` and ``experiment``, and may lack any method, or any run of it.
    draw : callable or None, default=None
        Draws a picture from the results to a path, by functions of
        `fedsdr.reporting`. It is not called without results.
    labels : mapping of str to str, default={}
        What methods are called in tables, where it is not their name.
    paper_runs : int, default=0
        Runs per cell in the paper; 0 for an experiment that the paper does not have.
    builds_on : sequence of str, default=()
        Experiments that are run before this one; their results are judged with it.
    data : callable or None, default=None
        Gives the experiment whose data sets a condition takes; None if each takes its
        own.

    Examples
    --------
    A module such as ``experiments/credit.py`` defines an experiment, and `registry`
    names the module:

    >>> from reproduction import Check, Experiment, Task, Verdict
    >>> def toss(task: Task) -> dict[str, float]:
    ...     return {"heads": float(task.seed % 2)}
    >>> def judge(results: pd.DataFrame) -> Verdict:
    ...     share = results.heads.mean()
    ...     check = Check("a fair coin", f"{share:.2f}", 0.4 < share < 0.6)
    ...     return Verdict("## Heads", (check,))
    >>> EXPERIMENT = Experiment(
    ...     name="coin", title="a coin", conditions=("m=5",), settings=("alpha=1",),
    ...     methods={"M1": 100}, measures=("heads",), run=toss, judge=judge,
    ... )
    >>> tasks = EXPERIMENT.tasks(runs=2)
    >>> [task.key for task in tasks]
    [('m=5', 'alpha=1', 'M1', 0), ('m=5', 'alpha=1', 'M1', 1)]
    """

    name: str
    title: str
    conditions: Sequence[str]
    settings: Sequence[str]
    methods: Mapping[str, int]
    measures: Sequence[str]
    run: Callable[[Task], Mapping[str, float]]
    judge: Callable[[pd.DataFrame], Verdict]
    draw: Callable[[pd.DataFrame, Path], None] | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    paper_runs: int = 0
    builds_on: Sequence[str] = ()
    data: Callable[[str], str] | None = None

    def tasks(
        self, runs: int | None = None, methods: Sequence[str] | None = None
    ) -> list[Task]:
        """List the tasks: method by method, and run by run over all cells.

        Parameters
        ----------
        runs : int or None, default=None
            Runs of every method, instead of each one's own number.
        methods : sequence of str or None, default=None
            Only these.

        Returns
        -------
        list of Task
            In the order in which they should be done.
        """
        unknown = sorted(set(methods or ()) - set(self.methods))
        if unknown:
            raise InputError(
                f"{self.name} has no method {', '.join(unknown)}: "
                f"choose from {', '.join(self.methods)}"
            )
        return list(self._tasks(runs, methods))

    def _tasks(self, runs: int | None, methods: Sequence[str] | None) -> Iterator[Task]:
        for method in self.methods if methods is None else methods:
            for run in range(self.methods[method] if runs is None else runs):
                for condition in self.conditions:
                    data = "" if self.data is None else self.data(condition)
                    for setting in self.settings:
                        yield Task(self.name, condition, setting, method, run, data)
