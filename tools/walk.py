"""How far a reader walks: the files and calls between an entry and the arithmetic.

Three walks are traced: ``FedSSIR().fit``, a study at its sites and at its coordinator,
and a task of ``fedsdr reproduce table1``. Each is run once before it is traced, so that
imports are not counted. Functions are looked up by where they are defined, so that the
tool needs no change when they move to other files.

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
from functools import cache
from importlib import import_module
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import fedsdr

PACKAGE = Path(fedsdr.__file__).resolve().parent
CLONE = Path(__file__).resolve().parent.parent
EXPERIMENTS = CLONE / "reproduction"

#: Where chains end: products of rows in this room, and these functions of the solver.
SUMS, SOLVER = "summaries", "solver"
ITERATIONS = ("solve_dense", "solve_interior")
TRANSPORTS = ("transports", "federation")
COMPREHENSIONS = ("<listcomp>", "<dictcomp>", "<setcomp>")


@dataclass
class Walk:
    """What one party's part of a run goes through.

    Parameters
    ----------
    title : str
        What is run.
    starts : tuple of str, default=()
        Functions under which calls count; all calls if empty.
    without : tuple of str, default=()
        Functions under which calls do not count.
    skipped : tuple of str, default=()
        Rooms that do not count.
    ends : tuple of str
        The chains that are wanted.
    """

    title: str
    starts: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    ends: tuple[str, ...] = (SUMS, *ITERATIONS)
    files: Counter[str] = field(default_factory=Counter)
    chains: dict[str, list[CodeType]] = field(default_factory=dict)

    def enter(self, stack: list[CodeType], end: str) -> None:
        """Note a call.

        Parameters
        ----------
        stack : list of code
            Of the package, from the outermost to the one that is entered.
        end : str
            Which end of a chain that is; empty for none.
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
        if end in self.ends and len(chain) > len(self.chains.get(end, ())):
            self.chains[end] = chain

    def lines(self, *, markdown: bool) -> Iterator[str]:
        """Tell what was found.

        Parameters
        ----------
        markdown : bool
            Whether to mark it up.

        Yields
        ------
        str
            A line.
        """
        before, after = (["```text"], ["```"]) if markdown else ([], [])
        rooms = Counter(file.split("/")[0].removesuffix(".py") for file in self.files)
        told = ", ".join(f"{room} {n}" for room, n in sorted(rooms.items()))
        yield from ("## " * markdown + self.title, "")
        yield from (f"{len(self.files)} files in {len(rooms)} rooms: {told}.", "")
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


def _walk_fit() -> list[Walk]:
    """Walk from the estimator's `fit`."""
    data = _find("make_setting")(3, n_per_site=200, n_features=40, random_state=0)
    model = fedsdr.FedSSIR()
    return _trace(
        lambda: model.fit(data.X, data.y, sites=data.sites), Walk("FedSSIR().fit")
    )


def _walk_study() -> list[Walk]:
    """Walk through a study, leaving out what carries the messages."""
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
    """Walk through one task of Table 1, which writes nothing."""
    experiment = _find("find_experiment")("table1")
    tasks = experiment.tasks(runs=1, methods=["default"])
    task = next(task for task in tasks if task.setting == "3")
    return _trace(
        lambda: experiment.run(task), Walk("A task of fedsdr reproduce table1")
    )


def _trace(run: Callable[[], Any], *walks: Walk) -> list[Walk]:
    """Run something twice, and note the calls of the second time."""

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
    """Find a function, wherever the clone defines it."""
    sys.path.append(str(CLONE))
    for folder in (PACKAGE, EXPERIMENTS):
        for path in sorted(folder.rglob("*.py")):
            if re.search(rf"^def {name}\(", path.read_text("utf-8"), re.MULTILINE):
                parts = path.relative_to(folder.parent).with_suffix("").parts
                return getattr(import_module(".".join(parts)), name)
    raise SystemExit(f"there is no function {name} in {PACKAGE} or {EXPERIMENTS}")


@cache
def _file(code: CodeType) -> str:
    """Name the file within the package; empty for the code of others."""
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
    """Say which end of a chain is entered, if any."""
    code = frame.f_code
    if code.co_name in ITERATIONS and _room(code) == SOLVER:
        return code.co_name
    if _room(code) != SUMS or not _multiplies(code):
        return ""
    given = frame.f_locals.values()
    # Functions of y alone are no sums of rows.
    return SUMS if any(getattr(one, "ndim", 0) == 2 for one in given) else ""


@cache
def _multiplies(code: CodeType) -> bool:
    # What a finished summary does with its sums does not count.
    if code.co_qualname.startswith("Summary.") or not _is_call(code):
        return False
    return any(one.argrepr in ("@", "@=") for one in dis.get_instructions(code))


def main() -> None:
    """Print the walks."""
    walks = {"fit": _walk_fit, "study": _walk_study, "reproduce": _walk_reproduce}
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", choices=walks, help="one of the walks")
    parser.add_argument("--markdown", action="store_true", help="mark the output up")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name, run in walks.items():
        if options.only in (None, name):
            for walk in run():
                print("\n".join(walk.lines(markdown=options.markdown)))


if __name__ == "__main__":
    main()
