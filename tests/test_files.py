"""Files are written completely or not at all, and locks exclude other processes."""

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from fedsdr import InputError
from fedsdr.files import explained, locked, write_atomically

WRITER = """
import sys
from fedsdr.files import locked
path, name = sys.argv[1:]
print("ready", flush=True)
for number in range(50):
    with locked(path) as file:
        count = len(file.readall().splitlines())
        file.write(f"{count} {name}\\n".encode())
"""

KILLED = """
import os, signal, sys
from fedsdr import files
os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)
files.write_atomically(sys.argv[1], "new")
"""


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# --- writing --------------------------------------------------------------------------


@pytest.mark.parametrize("private", [False, True])
@pytest.mark.parametrize("content", ["grün\r\n", b"\x00\xff\n", ""])
def test_content_is_written_as_it_is(tmp_path, content, private) -> None:
    path = tmp_path / "file"
    for _ in range(2):
        write_atomically(str(path), content, private=private)
        expected = content if isinstance(content, bytes) else content.encode()
        assert path.read_bytes() == expected
        assert names(tmp_path) == ["file"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("private", [False, True])
def test_a_failure_keeps_the_old_file_and_leaves_nothing(
    tmp_path, monkeypatch, step, private
) -> None:
    path = tmp_path / "file"
    write_atomically(path, "old", private=private)

    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(*(os, "fsync") if step == "fsync" else (Path, "replace"), fail)
    with pytest.raises(OSError, match="No space left"):
        write_atomically(path, "new", private=private)
    assert path.read_text() == "old"
    assert names(tmp_path) == ["file"]
    with pytest.raises(OSError, match="No space left"):
        write_atomically(tmp_path / "other", "new", private=private)
    assert names(tmp_path) == ["file"]


def test_an_interrupt_leaves_nothing_either(tmp_path, monkeypatch) -> None:
    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("os.fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(tmp_path / "file", "new")
    assert names(tmp_path) == []


def test_a_process_killed_in_the_middle_keeps_the_old_file(tmp_path) -> None:
    path = tmp_path / "file"
    write_atomically(path, "old")
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert done.returncode == -9
    assert path.read_text() == "old"
    # What it left does not stand in the way of the next one.
    write_atomically(path, "new", private=True)
    assert path.read_text() == "new"


def test_permissions(tmp_path) -> None:
    before = os.umask(0o027)
    try:
        shared, private = tmp_path / "shared", tmp_path / "private"
        write_atomically(shared, "1")
        write_atomically(private, "1", private=True)
        assert (mode(shared), mode(private)) == (0o640, 0o600)
        # A file that exists passes its permissions on, unless it must be private.
        shared.chmod(0o606)
        private.chmod(0o644)
        write_atomically(shared, "2")
        write_atomically(private, "2", private=True)
        assert (mode(shared), mode(private)) == (0o606, 0o600)
    finally:
        os.umask(before)


def test_nobody_can_read_a_private_file_while_it_is_written(
    tmp_path, monkeypatch
) -> None:
    modes = []
    replace = Path.replace

    def look(partial: Path, path: Path) -> Path:
        modes.append(mode(partial))
        return replace(partial, path)

    monkeypatch.setattr(Path, "replace", look)
    write_atomically(tmp_path / "file", "secret", private=True)
    assert modes == [0o600]


def test_links_are_followed_unless_private(tmp_path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    link.symlink_to(target)
    write_atomically(link, "public")
    assert link.is_symlink()
    assert target.read_text() == "public"
    write_atomically(link, "private", private=True)
    assert not link.is_symlink()
    assert (link.read_text(), target.read_text()) == ("private", "public")


def test_a_pipe_is_written_to_and_not_replaced(tmp_path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = subprocess.Popen(["cat", path], stdout=subprocess.PIPE)
    write_atomically(path, "text")
    assert reader.communicate(timeout=60)[0] == b"text"
    assert stat.S_ISFIFO(path.stat().st_mode)


def test_a_folder_is_an_error(tmp_path) -> None:
    with pytest.raises(IsADirectoryError):
        write_atomically(tmp_path, "text")
    with pytest.raises(FileNotFoundError):
        write_atomically(tmp_path / "no" / "file", "text")


@pytest.mark.parametrize(
    ("error", "remedy", "sentence"),
    [
        (
            OSError(errno.ENOSPC, "No space left"),
            "make room",
            "No space left; make room",
        ),
        (OSError("odd"), "", "odd"),
    ],
)
def test_errors_are_explained_to_the_user(error, remedy, sentence) -> None:
    with (
        pytest.raises(InputError, match=f"^cannot write: {sentence}$"),
        explained("cannot write", remedy),
    ):
        raise error


# --- locking --------------------------------------------------------------------------


def test_two_processes_wait_for_a_lock_and_for_each_other(tmp_path) -> None:
    path = tmp_path / "file"
    with locked(path) as file:
        writers = [
            subprocess.Popen(
                [sys.executable, "-c", WRITER, str(path), name],
                stdout=subprocess.PIPE,
                text=True,
            )
            for name in ("a", "b")
        ]
        assert [writer.stdout.readline() for writer in writers] == ["ready\n"] * 2
        with pytest.raises(subprocess.TimeoutExpired):
            writers[0].wait(timeout=0.3)
        assert file.readall() == b""
        # Who waited gets the file that stands there now.
        write_atomically(path, "0 first\n")
    assert [writer.wait(timeout=120) for writer in writers] == [0, 0]
    for writer in writers:
        writer.stdout.close()
    lines = [line.split() for line in path.read_text().splitlines()]
    assert [int(count) for count, _ in lines] == list(range(101))
    assert sorted(name for _, name in lines) == ["a"] * 50 + ["b"] * 50 + ["first"]


def test_a_lock_that_does_not_wait(tmp_path) -> None:
    path = tmp_path / "file"
    with locked(path), pytest.raises(BlockingIOError), locked(path, wait=False):
        pass
    with locked(path, wait=False) as file:
        assert not file.closed
    assert file.closed


def test_several_may_read_and_nobody_writes_meanwhile(tmp_path) -> None:
    path = tmp_path / "file"
    with pytest.raises(FileNotFoundError), locked(path, exclusive=False):
        pass
    path.write_text("text")
    with (
        locked(path, exclusive=False) as one,
        locked(path, exclusive=False, wait=False) as two,
    ):
        assert one.readall() == two.readall() == b"text"
        assert not one.writable()
        with pytest.raises(BlockingIOError), locked(path, wait=False):
            pass


def test_a_locked_file_keeps_what_it_has_and_grows_at_its_end(tmp_path) -> None:
    path = tmp_path / "file"
    path.write_text("old ")
    with locked(path) as file:
        file.write(b"new")
    assert path.read_text() == "old new"
    with locked(tmp_path / "key", private=True):
        assert mode(tmp_path / "key") == 0o600
