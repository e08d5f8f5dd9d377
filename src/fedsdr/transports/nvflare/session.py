"""What the analyst does: submit a study, look how it is, fetch the result."""

import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from nvflare.fuel.flare_api.api_spec import (
    AuthorizationError,
    InvalidJobDefinition,
    JobNotFound,
)

from fedsdr.exceptions import InputError
from fedsdr.transports.nvflare.admission import read_admitted
from fedsdr.transports.nvflare.connection import Connection, SessionError, connect
from fedsdr.transports.nvflare.jobs import write_job
from fedsdr.transports.nvflare.node_names import in_names_of_sites, sites_of_nodes
from fedsdr.transports.nvflare.node_settings import RESULT_FILE
from fedsdr.transports.nvflare.patience import read_patience

# Seconds between two questions.
LOOK = 0.2

# Seconds for which the reason of a job that was not run may come after the news.
REASON = 10.0

COMPLETED = "FINISHED:COMPLETED"
NOT_RUN = "FAILED_TO_RUN"


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
    def lacks_reason(self) -> bool:
        """Whether it was not run, and no node has said why."""
        return NOT_RUN in self.status and not self.refused

    @property
    def is_complete(self) -> bool:
        """Whether it ended well."""
        return self.status == COMPLETED


class Session:
    """What the analyst asks the coordinator's node.

    Parameters
    ----------
    connection : Connection
        Open.
    server : Path or None, default=None
        Kit of the coordinator's node, which knows the sites by the names of their
        nodes.
    """

    def __init__(self, connection: Connection, server: Path | None = None) -> None:
        self._connection = connection
        self._server = server

    def sites(self) -> tuple[str, ...]:
        """List sites that are connected.

        Returns
        -------
        tuple of str
            Sorted.
        """
        info = self._connection.ask("get_system_info")
        known = self._known()
        nodes = [client.name for client in info.client_info]
        return tuple(sorted(known.get(node, node) for node in nodes))

    def _known(self) -> dict[str, str]:
        """Find the sites by the names of their nodes."""
        names = {} if self._server is None else read_admitted(self._server)
        return sites_of_nodes(names)

    def running(self) -> tuple[str, ...]:
        """List jobs that run now.

        Returns
        -------
        tuple of str
            Their numbers.
        """
        info = self._connection.ask("get_system_info")
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
        # The node runs one job per token, so that a job whose number was lost on the
        # way can be submitted again.
        token = secrets.token_hex(16)
        try:
            return str(self._connection.ask("submit_job", str(job.resolve()), token))
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
            meta = self._connection.ask("get_job_meta", job)
        except JobNotFound:
            raise InputError(f"there is no job {job}: see study status") from None
        details = meta.get("job_deploy_detail") or []
        refused = tuple(
            in_names_of_sites(line, self._known())
            for line in details
            if not line.endswith(": OK")
        )
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
        # NVFLARE writes down that a job was not run, and then why.
        deadline = time.monotonic() + REASON
        while status.lacks_reason and time.monotonic() < deadline:
            time.sleep(LOOK)
            status = self.status(job)
        return status

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
            place = Path(self._connection.ask("download_job_result", job, folder))
            found = sorted(place.rglob(RESULT_FILE))
            if not found:
                raise InputError(f"job {job} has no result: see study status")
            shutil.copyfile(found[0], target)
        return target


@contextmanager
def open_session(
    kit: Path,
    patience: float | None = None,
    *,
    starting: Callable[[], bool] = lambda: False,
) -> Iterator[Session]:
    """Connect to the coordinator's node.

    Parameters
    ----------
    kit : Path
        Of the analyst.
    patience : float or None, default=None
        Seconds after which a node that does not answer is a `SessionError`;
        `read_patience` if not given.
    starting : callable, optional
        Whether somebody is starting the node now.

    Yields
    ------
    Session
        Closed at the end of the block.
    """
    seconds = read_patience() if patience is None else patience
    connection = connect(kit, seconds, starting)
    try:
        # The coordinator keeps all kits in one folder, see `Kits`.
        yield Session(connection, kit.parents[1] / "coordinator")
    finally:
        connection.close()
