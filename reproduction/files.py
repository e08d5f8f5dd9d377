"""Files that several processes may write."""

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write a file so that other processes see the old content or the new one.

    Parameters
    ----------
    path : Path
        File, replaced if it exists.
    content : str or bytes
        What to write; text is written as UTF-8. It is on the disk when the function
        returns.
    """
    data = content.encode() if isinstance(content, str) else content
    draft = path.with_name(f"{path.name}.{os.getpid()}.partial")
    with draft.open("wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
    draft.replace(path)
    _sync_folder(path.parent)


@contextmanager
def locked(path: Path) -> Iterator[io.FileIO]:
    """Keep other processes that use this function away from a file.

    Parameters
    ----------
    path : Path
        File, made if it does not exist. It may be replaced or removed while it is
        locked: a process that waited for the lock then gets the new file.

    Yields
    ------
    io.FileIO
        The file, for reading and writing.
    """
    flags = os.O_RDWR | os.O_CREAT
    while True:
        with io.FileIO(os.open(path, flags, 0o644), "r+") as file:
            _lock(file)
            if _is_at(file, path):
                yield file
                return


def _is_at(file: io.FileIO, path: Path) -> bool:
    """Tell whether a path still leads to an open file."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def _lock(file: io.FileIO) -> None:
    try:
        import fcntl
    except ImportError:  # pragma: no cover - then one process at a time
        return
    fcntl.flock(file, fcntl.LOCK_EX)


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":  # pragma: no cover - it cannot open folders
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
