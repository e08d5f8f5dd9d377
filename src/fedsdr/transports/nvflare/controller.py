"""What runs at the coordinator: conduct the study of its own file."""

import logging
import os
import shutil
from pathlib import Path
from typing import Any

from nvflare.apis.impl.controller import Controller
from nvflare.apis.job_def import JobMetaKey
from nvflare.apis.shareable import Shareable
from nvflare.private.fed.utils.fed_utils import get_job_meta_from_workspace

from fedsdr.exceptions import InputError, Refusal
from fedsdr.protocols.exchange import Exchange, IncompleteError
from fedsdr.protocols.lost_sites import SILENT
from fedsdr.study.order_file import read_order
from fedsdr.transports.nvflare.flare_exchange import AbortedError, TaskExchange
from fedsdr.transports.nvflare.node_settings import (
    RESULT_FILE,
    STUDY_FILE,
    STUDY_FOLDER,
)
from fedsdr.transports.nvflare.progress import (
    FAILED,
    FINISHED,
    INTERRUPTED,
    REFUSED,
    Ending,
    NodeProgress,
)

logger = logging.getLogger(__name__)

# Seconds between two looks of NVFLARE at answers that came in.
CHECK_PERIOD = 0.01


class StudyController(Controller):
    """Conducts a study over tasks.

    Notes
    -----
    It takes no arguments, since those would come with the job. The variables
    ``FEDSDR_STUDY_FILE`` and ``FEDSDR_STUDY_FOLDER`` of the node's environment name the
    study's file and the folder where finished rounds are kept. If the job has the name
    of an order in that folder, that may be for another study of the same sites. A study
    that was interrupted goes on when a new job arrives: what is in the folder is not
    asked for again.
    """

    def __init__(self) -> None:
        super().__init__(task_check_period=CHECK_PERIOD)

    def start_controller(self, fl_ctx: Any) -> None:
        """Do nothing: NVFLARE asks for this.

        Parameters
        ----------
        fl_ctx : FLContext
            Not used.
        """
        del fl_ctx

    def stop_controller(self, fl_ctx: Any) -> None:
        """Do nothing: NVFLARE asks for this.

        Parameters
        ----------
        fl_ctx : FLContext
            Not used.
        """
        del fl_ctx

    def process_result_of_unknown_task(
        self,
        client: Any,
        task_name: str,
        client_task_id: str,
        result: Shareable,
        fl_ctx: Any,
    ) -> None:
        """Forget an answer that came too late.

        Parameters
        ----------
        client : Client
            Who sent it.
        task_name : str
            What it answers.
        client_task_id : str
            Which one exactly.
        result : Shareable
            The answer.
        fl_ctx : FLContext
            Not used.
        """
        del client, task_name, client_task_id, result, fl_ctx

    def conduct(
        self,
        study_file: Path,
        exchange: Exchange,
        folder: Path,
        without: tuple[str, ...] = (),
    ) -> None:
        """Conduct the study.

        Parameters
        ----------
        study_file : Path
            What was agreed.
        exchange : Exchange
            Reaches the sites.
        folder : Path
            For finished rounds and the result.
        without : tuple of str, default=()
            Sites that are left out by choice.
        """
        from fedsdr.study import conduct

        conduct(study_file, exchange, folder, without=without)

    def control_flow(self, abort_signal: Any, fl_ctx: Any) -> None:
        """Conduct the study and leave its result with the job: NVFLARE calls this.

        Parameters
        ----------
        abort_signal : Signal
            Triggered when the job must end.
        fl_ctx : FLContext
            Of the job.
        """
        progress: NodeProgress | None = None
        try:
            study_file, folder = own_files()
            order = read_order(folder, job_name(fl_ctx))
            without: tuple[str, ...] = ()
            if order is not None:
                study_file, folder, without = order.file, order.folder, order.without
                folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            progress = NodeProgress(folder)
            if order is not None:
                order.check()
            exchange = TaskExchange(self, fl_ctx, abort_signal, progress)
            self.conduct(study_file, exchange, folder, without)
            self._hand_over(folder / RESULT_FILE, fl_ctx)
            progress.end(FINISHED)
        except Exception as error:
            # The coordinator has no rows, so its own folder may hold the whole text.
            logger.exception("the study stopped")
            if progress is not None:
                progress.end(FAILED, judge(error))
            self.system_panic("the study stopped, see the coordinator's log", fl_ctx)

    def _hand_over(self, result: Path, fl_ctx: Any) -> None:
        """Put the result where NVFLARE keeps what belongs to a job."""
        if result.exists():
            workspace = fl_ctx.get_engine().get_workspace()
            run = Path(workspace.get_run_dir(fl_ctx.get_job_id()))
            shutil.copyfile(result, run / RESULT_FILE)


def judge(error: Exception) -> Ending:
    """Tell why a study has stopped, and whether it can go on by itself.

    Parameters
    ----------
    error : Exception
        What went wrong.

    Returns
    -------
    Ending
        A job that was ended is interrupted, and so is a study whose sites are silent.
    """
    lost = error.failures if isinstance(error, IncompleteError) else {}
    if isinstance(error, AbortedError) or (lost and SILENT.issuperset(lost.values())):
        kind = INTERRUPTED
    else:
        kind = REFUSED if lost else FAILED
    return Ending(kind, describe(error), lost)


def describe(error: Exception) -> str:
    """Word an error for whoever started the study.

    Parameters
    ----------
    error : Exception
        What went wrong.

    Returns
    -------
    str
        Our own errors are sentences; of others the type says more than the text.
    """
    if isinstance(error, AbortedError | IncompleteError | InputError | Refusal):
        return str(error)
    return f"{type(error).__name__}: {error}"


def job_name(fl_ctx: Any) -> str:
    """Look up the name of a job.

    Parameters
    ----------
    fl_ctx : FLContext
        Of the job.

    Returns
    -------
    str
        As whoever submitted it has chosen: it must not be trusted for anything but
        finding an order.
    """
    workspace = fl_ctx.get_engine().get_workspace()
    meta = get_job_meta_from_workspace(workspace, fl_ctx.get_job_id())
    return str(meta.get(JobMetaKey.JOB_NAME.value, ""))


def own_files() -> tuple[Path, Path]:
    """Look up which study this coordinator conducts.

    Returns
    -------
    study_file : Path
        What was agreed.
    folder : Path
        Made if it does not exist.
    """
    study_file, folder = os.environ.get(STUDY_FILE), os.environ.get(STUDY_FOLDER)
    if study_file is None or folder is None:
        raise InputError(
            f"{STUDY_FILE} and {STUDY_FOLDER} are not set: start the coordinator with "
            "study start"
        )
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    return Path(study_file), path
