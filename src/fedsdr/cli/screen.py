"""Output of the commands: results on stdout, everything else on stderr."""

import itertools
import time
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.segment import Segment
from rich.text import Text

from fedsdr.exceptions import InputError
from fedsdr.spoken import (
    LONGEST,
    escaped,
    in_words,
    is_site_name,
    nearest_name,
    one_line,
)
from fedsdr.telling import Doing, listening

#: Exit code of a command that ran and failed.
FAILED = 1

#: Exit code for input that the caller can correct.
BAD_INPUT = 2

#: Number of warnings shown: a study may have hundreds of sites, each with a warning.
SHOWN_WARNINGS = 8


@dataclass
class Stage:
    """One step of a command; `done` is the line that is printed at its end."""

    done: str


class SafeConsole(Console):
    """A console that prints codes of characters that a terminal would obey.

    Names and purposes come from other parties. Rich keeps what it tells the terminal
    itself apart from text, so that all text can be escaped at this one place.
    """

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Render as Rich does, with escaped text."""
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                lines = map(escaped, segment.text.split("\n"))
                yield Segment("\n".join(lines), segment.style)


class Screen:
    """Two consoles: one for results, one for progress, warnings and errors.

    Parameters
    ----------
    quiet : bool, default=False
        Whether to hide progress, for output that a program reads.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self.quiet = quiet
        self._warned: set[str] = set()
        # No colours for numbers in sentences.
        self.out = SafeConsole(highlight=False)
        self.err = SafeConsole(stderr=True, highlight=False)

    @contextmanager
    def stage(self, doing: str) -> Iterator["Stage"]:
        """Show what is being done during a step, and afterwards its duration.

        What the library tells meanwhile appears beside the seconds so far and, where
        the number of parts is known, the seconds left.
        """
        stage = Stage(doing)
        start = time.perf_counter()
        if self.quiet:
            yield stage
            return
        with _progress(self.err) as shown:
            task = shown.add_task(escaped(doing), total=None, left="")

            def hear(told: Doing) -> None:
                shown.update(
                    task,
                    description=escaped(f"{doing}: {told}"),
                    left=_time_left(told, begun),
                )

            begun: dict[str, float] = {}
            with listening(hear):
                yield stage
        seconds = time.perf_counter() - start
        self.err.print(Text(f"{stage.done} ({seconds:.1f} s)", style="dim"))

    def say(self, line: str) -> None:
        """Print a line without wrapping it and without reading brackets as markup."""
        self.out.print(Text(line), soft_wrap=True)

    def show_digest(self, name: str, digest: str) -> None:
        """Print a digest, and under it the words by which people compare it."""
        self.say(f"{name} {digest}")
        groups = in_words(digest).split(" . ")
        for i in range(0, len(groups), 2):
            self.say(f"    {' . '.join(groups[i : i + 2])}")

    @contextmanager
    def polite(self) -> Iterator[None]:
        """Turn errors in the input into one line and an exit code.

        All other errors keep their traceback: they are bugs of this package.
        """
        with warnings.catch_warnings():
            # All warnings of fedsdr are UserWarnings, as is ConvergenceWarning.
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = self._show_warning
            try:
                yield
            except ValueError as error:
                from numpy.linalg import LinAlgError

                if isinstance(error, LinAlgError):
                    raise
                self._count_hidden_warnings()
                # A file may have several mistakes: one line each.
                for problem in getattr(error, "problems", [None]):
                    where = f"{getattr(error, 'where', '')}: "
                    self.complain(f"{where}{problem}" if problem else str(error))
                raise typer.Exit(BAD_INPUT) from None
            self._count_hidden_warnings()

    def complain(self, message: str) -> None:
        """Print an error as one line."""
        self._complain("Error", message, "bold red")

    def note(self, message: str) -> None:
        """Print a note to the caller as one line on stderr."""
        self._complain("Note", message, "bold")

    def remark(self, message: str) -> None:
        """Print what was found or guessed on the way, unless a program reads."""
        if not self.quiet:
            self.err.print(Text(message, style="dim"), soft_wrap=True)

    def warn(self, message: str) -> None:
        """Print a warning as one line."""
        self._complain("Warning", message, "yellow")

    def _show_warning(
        self, message: Warning | str, *_where: object, **_more: object
    ) -> None:
        if str(message) not in self._warned:
            self._warned.add(str(message))
            if len(self._warned) <= SHOWN_WARNINGS:
                self.warn(str(message))

    def _count_hidden_warnings(self) -> None:
        hidden = len(self._warned) - SHOWN_WARNINGS
        if hidden > 0:
            self._complain("Warning", f"and {hidden} more warnings", "yellow")

    def _complain(self, kind: str, message: str, style: str) -> None:
        # One line per message, however long, so that it can be searched for.
        line = one_line(message)
        self.err.print(Text.assemble((f"{kind}: ", style), line), soft_wrap=True)


def _progress(console: Console) -> Progress:
    """Make a line that disappears, for terminals only."""
    return Progress(
        SpinnerColumn("line"),
        TextColumn("{task.description}", markup=False),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}", markup=False),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )


def _time_left(told: Doing, begun: dict[str, float]) -> str:
    """Estimate the seconds that a step with known parts still needs."""
    now = time.perf_counter()
    start = begun.setdefault(told.step, now)
    if not told.done or not told.total:
        return ""
    seconds = (now - start) * (told.total - told.done) / told.done
    return f"about {seconds:.0f} s left" if seconds >= 1.0 else ""


def write_new(path: Path, text: str) -> None:
    """Write a file that must not exist yet."""
    try:
        with path.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        raise InputError(f"{path} exists: name another file with --out") from None
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from error


def check_name(name: str, option: str) -> None:
    """Refuse a name that no site can have, before it is written anywhere."""
    if is_site_name(name):
        return
    near = nearest_name(name)
    hint = f", such as {near}" if near else ""
    raise InputError(
        f"{option}: '{name}' cannot be the name of a site: use at most {LONGEST} "
        f"letters, digits and blanks{hint}"
    )


def check_writable(path: Path | None) -> None:
    """Check that an output file can be written, before the work starts."""
    if path is None:
        return
    if path.is_dir():
        raise InputError(f"{path} is a folder: name a file for the result")
    if not path.parent.is_dir():
        raise InputError(f"{path} cannot be written: {path.parent} does not exist")


def keep_former(path: Path | None) -> Path | None:
    """Rename a file that is about to be written anew; return its name, if any."""
    if path is None or not path.exists():
        return None
    numbers = itertools.count(1)
    kept = next(
        one
        for number in numbers
        if not (one := path.with_suffix(f".{number}{path.suffix}")).exists()
    )
    return path.rename(kept)
