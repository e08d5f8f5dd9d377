"""Files that several processes may write."""

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def replace_text(path: Path, text: str) -> None:
    """Write a text file in one step: another process sees the old one or the new one.

    Parameters
    ----------
    path : Path
        The file.
    text : str
        Its content.
    """
    draft = path.with_name(f"{path.name}.{os.getpid()}.new")
    draft.write_text(text, encoding="utf-8", newline="\n")
    draft.replace(path)


@contextmanager
def locked(path: Path) -> Iterator[io.FileIO]:
    """Keep other processes that use this function from a file.

    Parameters
    ----------
    path : Path
        The file, made if it is not there. It may be replaced while it is locked.

    Yields
    ------
    io.FileIO
        The file, for reading and writing.
    """
    flags = os.O_RDWR | os.O_CREAT
    while True:
        with io.FileIO(os.open(path, flags, 0o644), "r+") as file:
            _lock(file)
            # While we waited, another process may have put another file in its place.
            if path.exists() and os.path.samestat(os.fstat(file.fileno()), path.stat()):
                yield file
                return


def _lock(file: io.FileIO) -> None:
    try:
        import fcntl
    except ImportError:  # pragma: no cover - one process at a time, then
        return
    fcntl.flock(file, fcntl.LOCK_EX)
