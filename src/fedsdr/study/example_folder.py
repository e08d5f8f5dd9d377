"""Claim a folder for an example, without touching folders of other origin."""

import io
import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from fedsdr.exceptions import InputError
from fedsdr.files import explained, locked

#: File that marks a folder of this program and lists what in it may be replaced.
MARK = "demo.json"


@contextmanager
def claimed(folder: Path, content: Sequence[str]) -> Iterator[None]:
    """Claim a folder, and delete what an earlier example left there.

    Parameters
    ----------
    folder : Path
        Folder that is new, empty, or of an earlier example that is not running. Any
        other folder is left as it is, and an `InputError` is raised.
    content : sequence of str
        Names of the folders that will be created in it, which the next call deletes.

    Yields
    ------
    None
        No other process can claim the folder until the end of the block.
    """
    _check(folder)
    with ExitStack() as stack:
        with explained(f"{folder} cannot be written", "name another folder with --out"):
            folder.mkdir(parents=True, exist_ok=True)
            try:
                file = stack.enter_context(locked(folder / MARK, wait=False))
            except BlockingIOError:
                raise InputError(
                    f"another demo is running in {folder}: wait for it, or name "
                    "another folder with --out"
                ) from None
        _empty(folder, file)
        file.truncate(0)
        mark = {"made by": "fedsdr demo", "content": list(content)}
        file.write(json.dumps(mark).encode() + b"\n")
        yield


def _check(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file: name a folder with --out")
    foreign = folder.is_dir() and any(folder.iterdir())
    if foreign and not (folder / MARK).is_file():
        raise InputError(
            f"{folder} is not empty, and not from an earlier demo: name another folder "
            "with --out"
        )


def _empty(folder: Path, mark: io.FileIO) -> None:
    text = mark.readall()
    try:
        names = json.loads(text)["content"] if text else []
        paths = [folder / name for name in names]
    except (ValueError, TypeError, KeyError):
        raise InputError(
            f"{folder / MARK} is damaged: delete {folder}, or name another folder with "
            "--out"
        ) from None
    for path in paths:
        # A name that points outside the folder was not written by this program.
        if path.is_dir() and path.resolve().parent == folder.resolve():
            shutil.rmtree(path)
