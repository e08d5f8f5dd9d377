"""Where a ledger is kept: a file with a head and a key beside it, or memory."""

import os
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fedsdr.disclosure.chain import LedgerError
from fedsdr.exceptions import InputError

KEY_BYTES = 32

#: Of every file here: for the site's own account and nobody else.
PRIVATE = 0o600


class MemoryStore:
    """A ledger that ends with its process."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._lines = bytearray()
        self._head: bytes | None = None
        self._key = secrets.token_bytes(KEY_BYTES)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep every other thread out.

        Yields
        ------
        None
            May be entered again by the same thread.
        """
        with self._lock:
            yield

    def read(self) -> tuple[bytes, bytes | None]:
        """Read lines and head, as they are at one moment.

        Returns
        -------
        lines : bytes
            All of them.
        head : bytes or None
            None before the first entry.
        """
        with self._lock:
            return bytes(self._lines), self._head

    def append(self, line: bytes) -> None:
        """Add a line.

        Parameters
        ----------
        line : bytes
            With its line feed.
        """
        self._lines += line

    def cut(self, size: int) -> None:
        """Drop what comes after some bytes.

        Parameters
        ----------
        size : int
            Bytes to keep.
        """
        del self._lines[size:]

    def write_head(self, head: bytes) -> None:
        """Replace the head.

        Parameters
        ----------
        head : bytes
            Which entry is the last.
        """
        self._head = head

    def key(self) -> bytes:
        """Give the key.

        Returns
        -------
        bytes of length 32
            Random.
        """
        return self._key


class FileStore:
    """A ledger in a file, with ``.head`` and ``.key`` files beside it.

    Parameters
    ----------
    path : Path
        Of the file; its folder must exist. The file is made by the first entry.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._head_path = path.with_name(f"{path.name}.head")
        self._key_path = path.with_name(f"{path.name}.key")
        self._lock = threading.RLock()
        self._file: int | None = None

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep every other thread and process out.

        Yields
        ------
        None
            May be entered again by the same thread.
        """
        with self._lock:
            if self._file is not None:
                yield
                return
            new = not self.path.exists()
            self._file = self._open(os.O_RDWR | os.O_APPEND | os.O_CREAT)
            try:
                _lock_file(self._file, exclusive=True)
                if new:
                    _sync_folder(self.path.parent)
                if not os.path.samestat(os.fstat(self._file), self.path.stat()):
                    raise LedgerError(None, "was replaced by another file just now")
                yield
            finally:
                # Closing gives the lock back.
                os.close(self._file)
                self._file = None

    def read(self) -> tuple[bytes, bytes | None]:
        """Read lines and head, waiting for a writer to finish.

        Returns
        -------
        lines : bytes
            Empty if there is no file.
        head : bytes or None
            None if there is no head file.
        """
        with self._lock:
            if self._file is not None or not self.path.exists():
                return self._read()
            file = self._open(os.O_RDONLY)
            try:
                _lock_file(file, exclusive=False)
                return self._read()
            finally:
                os.close(file)

    def append(self, line: bytes) -> None:
        """Add a line, on the disk when this returns.

        Parameters
        ----------
        line : bytes
            With its line feed.
        """
        with self.locked():
            assert self._file is not None
            size = os.fstat(self._file).st_size
            try:
                _write(self._file, line)
            except OSError:
                # A full disk: what is there of this line was never answered for.
                os.ftruncate(self._file, size)
                raise

    def cut(self, size: int) -> None:
        """Drop what comes after some bytes.

        Parameters
        ----------
        size : int
            Bytes to keep.
        """
        with self.locked():
            assert self._file is not None
            os.ftruncate(self._file, size)
            os.fsync(self._file)

    def write_head(self, head: bytes) -> None:
        """Replace the head file, all of it or nothing.

        Parameters
        ----------
        head : bytes
            Which entry is the last.
        """
        _replace(self._head_path, head)

    def key(self) -> bytes:
        """Read the key, making one for a new ledger.

        Returns
        -------
        bytes of length 32
            A `LedgerError` where a ledger with entries has lost its key.
        """
        with self.locked():
            if not self._key_path.exists():
                if self.read()[0]:
                    raise LedgerError(
                        None,
                        f"has lost its key {self._key_path.name}, without which no one "
                        "can tell whether rows have changed: restore it from a backup",
                    )
                _replace(self._key_path, secrets.token_bytes(KEY_BYTES))
            if self._key_path.stat().st_mode & ~PRIVATE & 0o777:
                raise InputError(
                    f"others may read {self._key_path}: allow its owner only, with "
                    f"chmod {PRIVATE:o}"
                )
            key = self._key_path.read_bytes()
        if len(key) != KEY_BYTES:
            raise LedgerError(None, f"has a damaged key {self._key_path.name}")
        return key

    def _read(self) -> tuple[bytes, bytes | None]:
        lines = self.path.read_bytes() if self.path.exists() else b""
        exists = self._head_path.exists()
        return lines, self._head_path.read_bytes() if exists else None

    def _open(self, flags: int) -> int:
        try:
            return os.open(self.path, flags, PRIVATE)
        except OSError as error:
            raise InputError(
                f"the ledger {self.path} cannot be opened: {error.strerror}"
            ) from error


def _lock_file(file: int, *, exclusive: bool) -> None:
    try:
        import fcntl
    except ImportError:  # pragma: no cover
        raise InputError(
            "this system cannot lock files, and a ledger in a file needs that: keep "
            "it in memory, Ledger(None), or use a POSIX system"
        ) from None
    fcntl.flock(file, fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH)


def _write(file: int, content: bytes) -> None:
    while content:
        content = content[os.write(file, content) :]
    os.fsync(file)


def _replace(path: Path, content: bytes) -> None:
    """Write a file under another name first, so that no one ever sees half of it."""
    draft = path.with_name(f"{path.name}.new")
    file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE)
    try:
        _write(file, content)
    finally:
        os.close(file)
    draft.replace(path)
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    file = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
