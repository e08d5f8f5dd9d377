"""Count the files and calls between an entry point and the arithmetic.

Walks are traced for ``FedSSIR().fit``, for the fit that was the default of version 0.1,
for a study at its sites and at its coordinator, and for a task of ``fedsdr reproduce
table1``. Each is run once before it is traced, so that imports are not counted.
Functions are searched by name in all files, so that the tool needs no change when they
move.

Usage: ``python tools/walk.py [--only fit|study|reproduce] [--markdown]``
"""

import argparse
import dis
import inspect
import re
import sys
import tempfile
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import fedsdr

PACKAGE = Path(fedsdr.__file__).resolve().parent
CLONE = Path(__file__).resolve().parent.parent
EXPERIMENTS = CLONE / "reproduction"

#: Ends of chains: products of rows in this room, and these functions of the solver.
SUMS, SOLVER = "summaries", "solver"
ITERATIONS = ("solve_by_signs", "solve_interior")
TRANSPORTS = ("transports", "federation")
#: How a product is written, in Python 3.11 and later.
PRODUCTS = ("@", "@=", "dot", "einsum", "matmul", "dsyrk", "dgemm", "dger")
COMPREHENSIONS = ("<listcomp>", "<dictcomp>", "<setcomp>")


@dataclass
class Walk:
    """Files and calls that one party's part of a run uses.

    Parameters
    ----------
    title : str
        Title of the walk.
    starts : tuple of str, default=()
        Functions within which calls are counted; all calls if empty.
    without : tuple of str, default=()
        Functions within which calls are not counted.
    skipped : tuple of str, default=()
        Rooms that are not counted.
    ends : tuple of str
        Ends of the chains to report.
    """

    title: str
    starts: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    ends: tuple[str, ...] = (SUMS, *ITERATIONS)
    files: Counter[str] = field(default_factory=Counter)
    passed: set[str] = field(default_factory=set)
    chains: dict[str, list[CodeType]] = field(default_factory=dict)

    def enter(self, stack: list[CodeType], end: str) -> None:
        """Record a call.

        Parameters
        ----------
        stack : list of code
            Functions of the package on the stack, from the outermost to the called one.
        end : str
            End of a chain that the call reaches; empty for none.
        """
        if _room(stack[-1]) in self.skipped:
            return
        own = [code for code in stack if _room(code) not in self.skipped]
        if any(code.co_name in self.without for code in own):
            return
        while self.starts and own and own[0].co_name not in self.starts:
            own = own[1:]
        if not own:
            return
        self.files[_file(own[-1])] += 1
        chain = [code for code in own if _is_call(code)]
        if end in self.ends:
            self.passed |= {_file(code) for code in own}
        if end in self.ends and len(chain) > len(self.chains.get(end, ())):
            self.chains[end] = chain

    def lines(self, *, markdown: bool) -> Iterator[str]:
        """Report the files and chains.

        Parameters
        ----------
        markdown : bool
            Whether to write Markdown.

        Yields
        ------
        str
            One line of the report.
        """
        before, after = (["```text"], ["```"]) if markdown else ([], [])
        rooms = Counter(file.split("/")[0].removesuffix(".py") for file in self.files)
        told = ", ".join(f"{room} {n}" for room, n in sorted(rooms.items()))
        yield from ("## " * markdown + self.title, "")
        yield from (f"{len(self.files)} files in {len(rooms)} rooms: {told}.", "")
        on_the_way = ", ".join(sorted(self.passed))
        yield from (f"On the way to an end {len(self.passed)}: {on_the_way}.", "")
        for end in self.ends:
            chain = self.chains.get(end)
            if not chain:
                yield from (f"Down to {end}: not reached.", "")
                continue
            yield from (f"Down to {end}: {len(chain)} calls.", "", *before)
            yield from (f"{_file(code)}:{code.co_qualname}" for code in chain)
            yield from (*after, "")
        yield from ("Calls into each file:", "", *before)
        yield from (f"{n:7d}  {file}" for file, n in sorted(self.files.items()))
        yield from (*after, "")


def walk_fit() -> list[Walk]:
    """Trace the estimator's `fit`: the default, and the fit of version 0.1."""
    data = _find("make_setting")(3, n_per_site=200, n_features=40, random_state=0)
    as_before = {"kernel": "smooth(own=1)", "refit": "pooled"}
    walks = []
    for title, options in (
        ("FedSSIR().fit", {}),
        ("FedSSIR(...).fit as in version 0.1", as_before),
    ):
        fit = partial(fedsdr.FedSSIR(**options).fit, data.X, data.y, sites=data.sites)
        walks += _trace(fit, Walk(title))
    return walks


def walk_study() -> list[Walk]:
    """Trace a study, without its transport.

    Returns
    -------
    list of Walk
        That of its sites, and that of its coordinator.
    """
    site = ("open_site", "handle")
    walks = (
        Walk("A study: a site", site, (), TRANSPORTS, (SUMS,)),
        Walk("A study: the coordinator", ("conduct",), site, TRANSPORTS, ITERATIONS),
    )
    rehearse = _find("rehearse")
    with tempfile.TemporaryDirectory() as folder:
        files = _find("write_example")(Path(folder), _find("simulate_example")())
        return _trace(
            lambda: rehearse(files.study_file, files.site_files.values()), *walks
        )


def _walk_reproduce() -> list[Walk]:
    """Trace one task of Table 1, which writes no file."""
    experiment = _find("find_experiment")("table1")
    tasks = experiment.tasks(runs=1, methods=["default"])
    task = next(task for task in tasks if task.setting == "3")
    return _trace(
        lambda: experiment.run(task), Walk("A task of fedsdr reproduce table1")
    )


def _trace(run: Callable[[], Any], *walks: Walk) -> list[Walk]:
    """Run a function twice, and record the calls of the second run."""

    def note(frame: FrameType | None, event: str, _: Any) -> None:
        if event != "call" or not _file(frame.f_code) or frame.f_code.co_name[0] == "<":
            return
        end, stack = _end(frame), []
        while frame is not None:
            if _file(frame.f_code):
                stack.insert(0, frame.f_code)
            frame = frame.f_back
        for walk in walks:
            walk.enter(stack, end)

    run()
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return list(walks)


def _find(name: str) -> Any:
    """Find a function by name in the files of the clone."""
    sys.path.append(str(CLONE))
    for folder in (PACKAGE, EXPERIMENTS):
        for path in sorted(folder.rglob("*.py")):
            if re.search(rf"^def {name}\(", path.read_text("utf-8"), re.MULTILINE):
                parts = path.relative_to(folder.parent).with_suffix("").parts
                return getattr(import_module(".".join(parts)), name)
    raise SystemExit(f"there is no function {name} in {PACKAGE} or {EXPERIMENTS}")


@cache
def _file(code: CodeType) -> str:
    """Return the file within the package; empty for other code."""
    path = Path(code.co_filename)
    for folder, above in ((PACKAGE, PACKAGE), (EXPERIMENTS, CLONE)):
        if path.is_relative_to(folder):
            return path.relative_to(above).as_posix()
    return ""


def _room(code: CodeType) -> str:
    return _file(code).split("/")[0]


def _is_call(code: CodeType) -> bool:
    generator = code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE)
    return not generator and code.co_name not in COMPREHENSIONS


def _end(frame: FrameType) -> str:
    """Return the end of a chain that a call reaches, or an empty text."""
    code = frame.f_code
    if code.co_name in ITERATIONS and _room(code) == SOLVER:
        return code.co_name
    if _room(code) != SUMS or not _multiplies(code):
        return ""
    given = frame.f_locals.values()
    # Functions of y alone are not sums of rows.
    return SUMS if any(getattr(one, "ndim", 0) == 2 for one in given) else ""


@cache
def _multiplies(code: CodeType) -> bool:
    # Operations of a finished summary on its sums are not counted, nor is how large
    # single columns are: no matrix is formed from rows there.
    if code.co_qualname.startswith(("Summary.", "ColumnSpread.")) or not _is_call(code):
        return False
    return any(
        one.argrepr.removeprefix("NULL + ") in PRODUCTS
        for one in dis.get_instructions(code)
    )


def main() -> None:
    """Trace the walks and print them."""
    walks = {"fit": walk_fit, "study": walk_study, "reproduce": _walk_reproduce}
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", choices=walks, help="one of the walks")
    parser.add_argument("--markdown", action="store_true", help="write Markdown")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name, run in walks.items():
        if options.only in (None, name):
            for walk in run():
                print("\n".join(walk.lines(markdown=options.markdown)))


if __name__ == "__main__":
    main()
