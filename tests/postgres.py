"""A PostgreSQL server for the tests, if its programs are installed."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

PASSWORD = "pass word@%/:"

# Seconds: cores may be busy with something else.
PATIENCE = 300.0


@dataclass(frozen=True)
class Server:
    """Address of the server, and its owner's password."""

    port: int
    folder: Path
    user: str = "steward"
    password: str = PASSWORD

    def url(self, database: str = "postgres") -> str:
        """Address without a password."""
        return f"postgresql://{self.user}@127.0.0.1:{self.port}/{database}"


def find_programs() -> Path:
    """Find the folder of initdb and postgres, or skip the test."""
    folders = (
        [Path(found).resolve().parent] if (found := shutil.which("initdb")) else []
    )
    if shutil.which("pg_config"):
        shown = subprocess.run(
            ["pg_config", "--bindir"], capture_output=True, text=True, check=True
        )
        folders.append(Path(shown.stdout.strip()))
    # Debian keeps them out of the PATH.
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    for folder in folders:
        if (folder / "initdb").exists() and (folder / "postgres").exists():
            return folder
    pytest.skip("PostgreSQL is not installed: the Debian package is 'postgresql'")


@contextmanager
def running_server() -> Iterator[Server]:
    """Start a server on a free port, and stop it in the end."""
    programs = find_programs()
    # Not pytest's folder: PostgreSQL refuses to run as root, and nobody else may look
    # into that one.
    folder = Path(tempfile.mkdtemp(prefix="fedsdr-postgres-"))
    identity = {}
    if os.geteuid() == 0:
        account = _unprivileged()
        identity = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
        os.chown(folder, account.pw_uid, account.pw_gid)
    server = Server(_free_port(), folder)
    try:
        _create(programs, server, identity)
        command = [programs / "postgres", "-D", folder / "data", "-p", str(server.port)]
        command += ["-k", folder, "-h", "127.0.0.1", "-F"]
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                command, stdout=log, stderr=log, cwd=folder, **identity
            )
        try:
            _wait(server, process)
            yield server
        finally:
            # SIGINT is what PostgreSQL calls a fast shutdown.
            process.send_signal(2)
            process.wait(timeout=PATIENCE)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _create(programs: Path, server: Server, identity: dict) -> None:
    secret = server.folder / "password"
    secret.write_text(server.password + "\n")
    secret.chmod(0o644)
    command = [programs / "initdb", "-D", server.folder / "data", "-U", server.user]
    command += ["-A", "scram-sha-256", f"--pwfile={secret}", "-E", "UTF8", "--no-sync"]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=server.folder, **identity
    )
    assert done.returncode == 0, done.stderr
    secret.unlink()


def _wait(server: Server, process: subprocess.Popen) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        assert process.poll() is None, (server.folder / "log").read_text()
        with suppress(OSError), socket.create_connection(("127.0.0.1", server.port), 1):
            if "ready to accept" in (server.folder / "log").read_text():
                return
        time.sleep(0.05)
    pytest.fail("PostgreSQL did not start in time")


def _unprivileged() -> pwd.struct_passwd:
    for name in ("postgres", "nobody"):
        with suppress(KeyError):
            return pwd.getpwnam(name)
    pytest.skip("PostgreSQL refuses to run as root, and there is no other user")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
