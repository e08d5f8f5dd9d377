"""Where a ledger is kept: a file with a head and a key beside it, or memory."""

import io
import os
import secrets
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from fedsdr.disclosure.chain import LedgerError
from fedsdr.exceptions import InputError
from fedsdr.files import (
    CAN_LOCK,
    PRIVATE,
    explained,
    locked,
    sync_folder,
    write_atomically,
)

KEY_BYTES = 32


class MemoryStore:
    """A ledger that ends with its process.

    Parameters
    ----------
    lines : bytes, default=b""
        Entries that it starts with.
    head : bytes or None, default=None
        Which of them is the last.
    key : bytes or None, default=None
        Key of its fingerprints; a new one if None.
    """

    def __init__(
        self,
        lines: bytes = b"",
        head: bytes | None = None,
        key: bytes | None = None,
    ) -> None:
        self._lock = threading.RLock()
        self._lines = bytearray(lines)
        self._head = head
        self._key = secrets.token_bytes(KEY_BYTES) if key is None else key

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

    def create(self) -> None:
        """Do nothing: a ledger in memory is there."""

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
        self._file: io.FileIO | None = None

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
            with self._lock_file(exclusive=True) as self._file:
                try:
                    if new:
                        sync_folder(self.path.parent)
                    yield
                finally:
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
            with self._lock_file(exclusive=False):
                return self._read()

    def append(self, line: bytes) -> None:
        """Add a line, on the disk when this returns.

        Parameters
        ----------
        line : bytes
            With its line feed.
        """
        with self.locked():
            assert self._file is not None
            size = self._file.seek(0, os.SEEK_END)
            try:
                while line:
                    line = line[os.write(self._file.fileno(), line) :]
                os.fsync(self._file.fileno())
            except OSError:
                # The disk is full. No answer left the site for what was written of
                # this line, so it goes.
                self._file.truncate(size)
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
            self._file.truncate(size)
            os.fsync(self._file.fileno())

    def write_head(self, head: bytes) -> None:
        """Replace the head file, all of it or nothing.

        Parameters
        ----------
        head : bytes
            Which entry is the last.
        """
        write_atomically(self._head_path, head, private=True)

    def create(self) -> None:
        """Make an empty file and a key; an `InputError` if any of the files exists."""
        for path in (self.path, self._head_path, self._key_path):
            if path.exists():
                raise InputError(
                    f"{path} exists: a ledger is never replaced. Restore the missing "
                    "files from a backup"
                )
        with self.locked():
            self.key()

    def in_memory(self) -> MemoryStore:
        """Copy everything, so that what is added to the copy is not kept.

        Returns
        -------
        MemoryStore
            Lines, head and key as they are now.
        """
        lines, head = self.read()
        # A new ledger without a key gets one here, and not on the disk.
        made = bool(lines) or self._key_path.exists()
        return MemoryStore(lines, head, self.key() if made else None)

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
                key = secrets.token_bytes(KEY_BYTES)
                write_atomically(self._key_path, key, private=True)
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

    @contextmanager
    def _lock_file(self, *, exclusive: bool) -> Iterator[io.FileIO]:
        if not CAN_LOCK:  # pragma: no cover
            raise InputError(
                "this system cannot lock files, and a ledger in a file needs that: "
                "keep it in memory, Ledger(None), or use a POSIX system"
            )
        with ExitStack() as stack:
            with explained(f"the ledger {self.path} cannot be opened"):
                lock = locked(self.path, exclusive=exclusive, private=True)
                file = stack.enter_context(lock)
            yield file
