"""How a node starts the process of a job: also where paths have blanks in them."""

import shlex
import sys
from typing import Any

from nvflare.apis.fl_constant import FLContextKey
from nvflare.apis.job_launcher_spec import JobProcessArgs
from nvflare.app_common.job_launcher.process_launcher import ProcessJobLauncher
from nvflare.utils.job_launcher_utils import get_client_job_args, get_server_job_args


class SiteJobs(ProcessJobLauncher):
    """Starts a job's process at a site.

    Notes
    -----
    NVFLARE's own launcher writes the paths into one line and splits it at blanks.
    """

    def get_command(self, job_meta: Any, fl_ctx: Any) -> str:
        """Write the command that starts a job.

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
        return quoted_command(fl_ctx, get_client_job_args())


class CoordinatorJobs(ProcessJobLauncher):
    """Starts a job's process at the coordinator; see `SiteJobs`."""

    def get_command(self, job_meta: Any, fl_ctx: Any) -> str:
        """Write the command that starts a job.

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
        return quoted_command(fl_ctx, get_server_job_args())


def quoted_command(fl_ctx: Any, names: list[str]) -> str:
    """Write a command with each argument quoted.

    Parameters
    ----------
    fl_ctx : FLContext
        Holds the arguments that NVFLARE has prepared.
    names : list of str
        Which of them are used, in this order.

    Returns
    -------
    str
        Command; only the settings at its end, which have no paths, stay several words.
    """
    prepared = fl_ctx.get_prop(FLContextKey.JOB_PROCESS_ARGS) or {}
    words = [shlex.quote(sys.executable)]
    for name in names:
        if name in prepared:
            option, value = prepared[name]
            several = name == JobProcessArgs.OPTIONS
            words += [option, str(value) if several else shlex.quote(str(value))]
    return " ".join(words)
