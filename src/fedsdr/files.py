"""Writing a file so that nobody sees half of it, and locking one."""

import io
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType

from fedsdr.exceptions import InputError

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # pragma: no cover
    fcntl = None

#: Whether this system can lock files; where it cannot, `locked` only opens them.
CAN_LOCK = fcntl is not None

#: Permissions of a file for its owner only.
PRIVATE = 0o600

#: Permissions of other new files, less what the process's umask takes away.
_SHARED = 0o666


def write_atomically(
    path: str | Path,
    content: str | bytes,
    *,
    private: bool = False,
    durable: bool = True,
) -> None:
    """Write a file, all of it or nothing.

    Parameters
    ----------
    path : str or Path
        File, replaced if it exists. Its folder must exist.
    content : str or bytes
        What to write; text is written as UTF-8, with line feeds as they are.
    private : bool, default=False
        Let the owner only read and write it. Otherwise a file that is replaced passes
        its permissions on, and a symbolic link is followed.
    durable : bool, default=True
        Return when the content is on the disk. Without it, a computer that loses power
        may come back with an older file.

    Raises
    ------
    OSError
        The file is as it was before, and nothing is left beside it.

    See Also
    --------
    explained : Turns the error into one for the user.
    """
    path = Path(path) if private else Path(os.path.realpath(path))
    data = content.encode() if isinstance(content, str) else content
    mode = PRIVATE if private else _SHARED
    with suppress(FileNotFoundError):
        found = path.stat()
        if not private and not stat.S_ISREG(found.st_mode):
            # A pipe or a terminal is written to; a folder is an error.
            path.write_bytes(data)
            return
        mode = PRIVATE if private else stat.S_IMODE(found.st_mode)
    # A name of its own for every writer: two of them never write to one file.
    partial = path.with_name(f"{path.name}.{os.urandom(4).hex()}.partial")
    try:
        _write_new(partial, data, mode, durable=durable)
        partial.replace(path)
    except BaseException:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise
    if durable:
        sync_folder(path.parent)


def _write_new(path: Path, data: bytes, mode: int, *, durable: bool) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, flags, mode), "wb") as stream:
        if mode != _SHARED:
            # The umask may have taken some of them away.
            path.chmod(mode)
        stream.write(data)
        stream.flush()
        if durable:
            os.fsync(stream.fileno())


def sync_folder(folder: Path) -> None:
    """Make sure that the names of new files in a folder are on the disk.

    Parameters
    ----------
    folder : Path
        Nothing is done on Windows, which cannot open folders.
    """
    if sys.platform == "win32":  # pragma: no cover
        return
    file = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


@contextmanager
def locked(
    path: str | Path,
    *,
    exclusive: bool = True,
    wait: bool = True,
    private: bool = False,
) -> Iterator[io.FileIO]:
    """Keep other processes that use this function away from a file.

    Parameters
    ----------
    path : str or Path
        File. It may be replaced while it is locked, by `write_atomically` for example:
        a process that waited for the lock then gets the new file.
    exclusive : bool, default=True
        Lock for writing, and make the file if it does not exist. Otherwise lock for
        reading, which several processes may do at the same time.
    wait : bool, default=True
        Wait for others. Otherwise a `BlockingIOError` where the file is locked.
    private : bool, default=False
        Let the owner only read and write a file that is made.

    Yields
    ------
    io.FileIO
        The file, from its beginning. Whatever is written goes to its end.
    """
    path = Path(path)
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT if exclusive else os.O_RDONLY
    flags |= getattr(os, "O_BINARY", 0)
    while True:
        file = os.open(path, flags, PRIVATE if private else _SHARED)
        # Closing it gives the lock back.
        with io.FileIO(file, "r+" if exclusive else "r") as stream:
            _lock(stream, exclusive=exclusive, wait=wait)
            if _is_at(stream, path):
                yield stream
                return


def is_locked(path: str | Path) -> bool:
    """Look whether a process keeps others away from a file.

    Parameters
    ----------
    path : str or Path
        File, which need not exist.

    Returns
    -------
    bool
        Whether it is locked for writing now.
    """
    try:
        with locked(path, exclusive=False, wait=False):
            return False
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True


def _lock(stream: io.FileIO, *, exclusive: bool, wait: bool) -> None:
    if fcntl is None:  # pragma: no cover
        return
    kind = fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH
    fcntl.flock(stream, kind if wait else kind | fcntl.LOCK_NB)


def _is_at(stream: io.FileIO, path: Path) -> bool:
    """Tell whether a path still leads to an open file."""
    try:
        return os.path.samestat(os.fstat(stream.fileno()), path.stat())
    except FileNotFoundError:
        return False


@contextmanager
def explained(problem: str, remedy: str = "") -> Iterator[None]:
    """Turn an error of the operating system into one that the user can mend.

    Parameters
    ----------
    problem : str
        What could not be done, for example "cannot write result.json".
    remedy : str, default=""
        What to do about it.

    Yields
    ------
    None
        An `OSError` in the block becomes an `InputError`: the problem, the system's
        reason, and the remedy.
    """
    try:
        yield
    except OSError as error:
        hint = f"; {remedy}" if remedy else ""
        reason = error.strerror or str(error)
        raise InputError(f"{problem}: {reason}{hint}") from error
