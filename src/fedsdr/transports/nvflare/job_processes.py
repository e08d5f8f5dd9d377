"""How a node starts the process of a job: from one that is ready, or anew."""

import os
import shlex
import sys
from typing import Any

from nvflare.apis.event_type import EventType
from nvflare.apis.fl_constant import FLContextKey
from nvflare.apis.job_launcher_spec import JobHandleSpec, JobProcessArgs
from nvflare.app_common.job_launcher.process_launcher import ProcessJobLauncher
from nvflare.utils.job_launcher_utils import (
    get_client_job_args,
    get_credential_env,
    get_server_job_args,
)

from fedsdr.transports.nvflare.job_process import COORDINATOR, SITE
from fedsdr.transports.nvflare.warm_workers import (
    WARM_VARIABLE,
    NotWarmError,
    WarmWorkers,
)

PROGRAM = "fedsdr.transports.nvflare.job_process"


class _Jobs(ProcessJobLauncher):
    """Starts the processes of jobs.

    Notes
    -----
    NVFLARE's own launcher writes paths into one line and splits it at blanks, and each
    of its processes imports everything anew.
    """

    kind: str
    names: tuple[str, ...]

    def __init__(self) -> None:
        super().__init__()
        self._warm: WarmWorkers | None = None

    def handle_event(self, event_type: str, fl_ctx: Any) -> None:
        """Get ready when the node is: NVFLARE calls this.

        Parameters
        ----------
        event_type : str
            What happens.
        fl_ctx : FLContext
            Of the node.
        """
        if event_type == EventType.SYSTEM_START:
            self._get_ready()
        super().handle_event(event_type, fl_ctx)

    def launch_job(self, job_meta: Any, fl_ctx: Any) -> JobHandleSpec:
        """Start the process of a job.

        Parameters
        ----------
        job_meta : dict
            Not used.
        fl_ctx : FLContext
            Holds the arguments that NVFLARE has prepared.

        Returns
        -------
        JobHandleSpec
            Of the process, which serves this job and no other.
        """
        if self._warm is not None:
            prepared = fl_ctx.get_prop(FLContextKey.JOB_PROCESS_ARGS) or {}
            arguments = shlex.split(job_arguments(prepared, self.names))
            try:
                job = self._warm.launch(arguments, get_credential_env(prepared))
            except NotWarmError as error:
                self.logger.warning(
                    f"No process is ready for this job ({error}): it starts anew, and "
                    "takes seconds longer"
                )
                if not self._warm.is_alive():
                    self._get_ready()
            else:
                self.logger.info(f"Launch the job in process ID: {job.pid} (warm)")
                return job
        return super().launch_job(job_meta, fl_ctx)

    def get_command(self, job_meta: Any, fl_ctx: Any) -> str:
        """Write the command that starts a job anew.

        Parameters
        ----------
        job_meta : dict
            Not used.
        fl_ctx : FLContext
            Holds the arguments that NVFLARE has prepared.

        Returns
        -------
        str
            Line that a shell would read as intended.
        """
        del job_meta
        prepared = fl_ctx.get_prop(FLContextKey.JOB_PROCESS_ARGS) or {}
        words = (shlex.quote(sys.executable), "-u", "-m", PROGRAM, self.kind)
        return " ".join([*words, job_arguments(prepared, self.names)])

    def _get_ready(self) -> None:
        if os.environ.get(WARM_VARIABLE) == "0":
            return
        try:
            self._warm = WarmWorkers(self.kind)
        except OSError as error:
            self._warm = None
            self.logger.warning(f"No process is ready for jobs: {error.strerror}")


class SiteJobs(_Jobs):
    """Starts a job's process at a site."""

    kind = SITE
    names = tuple(get_client_job_args(include_exe_module=False))


class CoordinatorJobs(_Jobs):
    """Starts a job's process at the coordinator."""

    kind = COORDINATOR
    names = tuple(get_server_job_args(include_exe_module=False))


def job_arguments(prepared: Any, names: tuple[str, ...]) -> str:
    """Write the arguments of a job's process, each of them quoted.

    Parameters
    ----------
    prepared : dict
        Options and values that NVFLARE has prepared.
    names : tuple of str
        Which of them are used, in this order.

    Returns
    -------
    str
        Words; only the settings at the end, which have no paths, stay several.
    """
    words = []
    for name in names:
        if name in prepared:
            option, value = prepared[name]
            several = name == JobProcessArgs.OPTIONS
            words += [option, str(value) if several else shlex.quote(str(value))]
    return " ".join(words)
