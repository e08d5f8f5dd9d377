"""What the analyst does: submit a study, look how it is, fetch the result."""

import io
import json
import logging
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nvflare.fuel.flare_api.api_spec import (
    AuthenticationError,
    AuthorizationError,
    InternalError,
    InvalidJobDefinition,
    JobNotFound,
    NoConnection,
    NoReply,
    SessionClosed,
)
from nvflare.fuel.flare_api.flare_api import new_secure_session
from nvflare.fuel.utils.config_service import ConfigService

from fedsdr.exceptions import InputError
from fedsdr.transports.nvflare.certificates import check_validity, is_foreign
from fedsdr.transports.nvflare.jobs import write_job
from fedsdr.transports.nvflare.node_settings import RESULT_FILE
from fedsdr.transports.nvflare.ports import listens

# Its threads would otherwise write to the terminal.
logging.getLogger("nvflare").addHandler(logging.NullHandler())

# Seconds between two questions, and for which a coordinator that is busy with a study
# may leave one without an answer.
LOOK = 0.5
BUSY = 60.0

COMPLETED = "FINISHED:COMPLETED"


class SessionError(RuntimeError):
    """The coordinator's node does not answer, or does not allow what was asked."""


@dataclass(frozen=True, slots=True)
class JobStatus:
    """How a job is.

    Parameters
    ----------
    job : str
        Its number.
    status : str
        NVFLARE's word for it.
    refused : tuple of str
        What nodes said that would not take the job.
    """

    job: str
    status: str
    refused: tuple[str, ...] = ()

    @property
    def is_over(self) -> bool:
        """Whether it has ended, well or not."""
        return self.status.startswith(("FINISHED", "FAILED", "ABANDONED"))

    @property
    def is_complete(self) -> bool:
        """Whether it ended well."""
        return self.status == COMPLETED


class Session:
    """A connection of the analyst to the coordinator's node.

    Parameters
    ----------
    connection : flare_api.Session
        Open.
    host : str
        Name or address of the coordinator.
    port : int
        Its port.
    """

    def __init__(self, connection: Any, host: str, port: int) -> None:
        self._connection = connection
        self._address = (host, port)

    def sites(self) -> tuple[str, ...]:
        """List sites that are connected.

        Returns
        -------
        tuple of str
            Sorted.
        """
        info = self._look(self._connection.get_system_info)
        return tuple(sorted(client.name for client in info.client_info))

    def running(self) -> tuple[str, ...]:
        """List jobs that run now.

        Returns
        -------
        tuple of str
            Their numbers.
        """
        info = self._look(self._connection.get_system_info)
        return tuple(job.job_id for job in info.job_info)

    def wait_for_sites(
        self,
        sites: Sequence[str],
        timeout: float,
        *,
        watch: Callable[[], None] = lambda: None,
    ) -> None:
        """Wait until sites have joined.

        Parameters
        ----------
        sites : sequence of str
            Their names.
        timeout : float
            Seconds, then a `SessionError` that names those who are missing.
        watch : callable, optional
            Called between two looks, to complain about nodes that have ended.
        """
        deadline = time.monotonic() + timeout
        while missing := sorted(set(sites) - set(self.sites())):
            watch()
            if time.monotonic() >= deadline:
                raise SessionError(
                    f"{', '.join(missing)} did not join within {timeout:.0f} s: is "
                    "site join running there, and does the site reach the coordinator?"
                )
            time.sleep(LOOK)

    def submit(
        self, name: str, sites: Sequence[str], *, minimum: int | None = None
    ) -> str:
        """Start the study, or go on with one that was interrupted.

        Parameters
        ----------
        name : str
            Of the study, in NVFLARE's characters.
        sites : sequence of str
            Who takes part.
        minimum : int or None, default=None
            Sites without which it does not start; all if not given.

        Returns
        -------
        str
            Number of the job.
        """
        with tempfile.TemporaryDirectory() as folder:
            job = write_job(Path(folder), name, sites, minimum=minimum)
            return self.submit_folder(job)

    def submit_folder(self, job: Path) -> str:
        """Submit a job.

        Parameters
        ----------
        job : Path
            Its folder.

        Returns
        -------
        str
            Its number.
        """
        try:
            return str(self._ask(self._connection.submit_job, str(job.resolve())))
        except AuthorizationError:
            raise SessionError("this person may not start a study") from None
        except InvalidJobDefinition as error:
            raise SessionError(f"the coordinator refuses the job: {error}") from None

    def status(self, job: str) -> JobStatus:
        """Ask how a job is.

        Parameters
        ----------
        job : str
            Its number.

        Returns
        -------
        JobStatus
            Now.
        """
        try:
            meta = self._look(self._connection.get_job_meta, job)
        except JobNotFound:
            raise InputError(f"there is no job {job}: see study status") from None
        details = meta.get("job_deploy_detail") or []
        refused = tuple(line for line in details if not line.endswith(": OK"))
        return JobStatus(job, str(meta.get("status", "")), refused)

    def wait(
        self,
        job: str,
        timeout: float,
        *,
        watch: Callable[[], None] = lambda: None,
    ) -> JobStatus:
        """Wait until a job is over.

        Parameters
        ----------
        job : str
            Its number.
        timeout : float
            Seconds, then a `SessionError`.
        watch : callable, optional
            Called between two looks.

        Returns
        -------
        JobStatus
            At the end.
        """
        deadline = time.monotonic() + timeout
        while not (status := self.status(job)).is_over:
            watch()
            if time.monotonic() >= deadline:
                raise SessionError(f"job {job} is not over after {timeout:.0f} s")
            time.sleep(LOOK)
        return status

    def abort(self, job: str) -> None:
        """End a job.

        Parameters
        ----------
        job : str
            Its number.
        """
        self._ask(self._connection.abort_job, job)

    def fetch(self, job: str, target: Path) -> Path:
        """Download the result of a job.

        Parameters
        ----------
        job : str
            Its number.
        target : Path
            File to write.

        Returns
        -------
        Path
            The file.
        """
        with tempfile.TemporaryDirectory() as folder:
            place = Path(self._ask(self._connection.download_job_result, job, folder))
            found = sorted(place.rglob(RESULT_FILE))
            if not found:
                raise InputError(f"job {job} has no result: see study status")
            shutil.copyfile(found[0], target)
        return target

    def _look(self, question: Callable[..., Any], *arguments: str) -> Any:
        """Ask what changes nothing, again if need be."""
        deadline = time.monotonic() + BUSY
        while True:
            try:
                return self._ask(question, *arguments)
            except SessionError:
                if time.monotonic() >= deadline or not listens(*self._address):
                    raise
                time.sleep(LOOK)

    def _ask(self, question: Callable[..., Any], *arguments: str) -> Any:
        try:
            return question(*arguments)
        except (InternalError, NoConnection, NoReply, SessionClosed) as error:
            raise SessionError(
                f"the coordinator's node does not answer ({type(error).__name__}): is "
                "study start still running?"
            ) from None


@contextmanager
def open_session(kit: Path, timeout: float = 30.0) -> Iterator[Session]:
    """Connect to the coordinator's node.

    Parameters
    ----------
    kit : Path
        Of the analyst.
    timeout : float, default=30.0
        Seconds, then a `SessionError`.

    Yields
    ------
    Session
        Closed at the end of the block.
    """
    try:
        admin = json.loads((kit / "startup" / "fed_admin.json").read_text())["admin"]
    except (OSError, ValueError, KeyError):
        raise InputError(
            f"{kit} is not an analyst's kit: study provision makes one"
        ) from None
    check_validity(kit)
    where = f"{admin['host']}:{admin['port']}"
    if not listens(admin["host"], admin["port"]):
        raise SessionError(
            f"the coordinator at {where} does not answer: is study start running?"
        )
    stranger = SessionError(
        f"the coordinator at {where} does not accept this certificate: use the kit "
        "that its own study provision made"
    )
    if is_foreign(kit, admin["host"], admin["port"]):
        raise stranger
    # NVFLARE would otherwise look for a file of settings in all folders below the
    # current one, which can take minutes, and obey whatever it finds.
    ConfigService.initialize({}, [str(kit.resolve() / "startup")])
    try:
        with redirect_stdout(io.StringIO()):
            connection = new_secure_session(
                admin["username"], str(kit.resolve()), timeout=timeout
            )
    except (NoConnection, AuthenticationError):
        raise stranger from None
    try:
        yield Session(connection, admin["host"], admin["port"])
    finally:
        connection.close()
