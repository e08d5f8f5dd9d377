"""A folder that is ours to fill and to empty again, and nobody else's."""

import io
import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from fedsdr.exceptions import InputError
from fedsdr.files import explained, locked

#: Says that a folder was made here, and what in it may be replaced.
MARK = "demo.json"


@contextmanager
def claimed(folder: Path, content: Sequence[str]) -> Iterator[None]:
    """Claim a folder; what an earlier example left there is deleted.

    Parameters
    ----------
    folder : Path
        New, empty, or of an earlier example that is not running. An `InputError` for
        all others: nothing of theirs is touched.
    content : sequence of str
        Names of the folders that will be made in it, to be replaced next time.

    Yields
    ------
    None
        Nobody else can claim the folder until the end of the block.
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
        # A name that leads elsewhere was not written here.
        if path.is_dir() and path.resolve().parent == folder.resolve():
            shutil.rmtree(path)
