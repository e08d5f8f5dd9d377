"""The process of one job, at a site or at the coordinator.

Started as ``python -m``, or by the process that `fork_server` keeps ready.
"""

import importlib
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from fedsdr.transports.nvflare.orphans import end_with_parent
from fedsdr.transports.nvflare.pauses import hold_questions, shorten_sleeps

#: What is run for a job, and what that needs: the longest of all waits of a second
#: study would be for these imports.
SITE, COORDINATOR = "site", "coordinator"
PROGRAMS = {
    SITE: "nvflare.private.fed.app.client.worker_process",
    COORDINATOR: "nvflare.private.fed.app.server.runner_process",
}
NEEDED = {
    SITE: ("fedsdr.transports.nvflare.executor", "fedsdr.study"),
    COORDINATOR: ("fedsdr.transports.nvflare.controller", "fedsdr.study"),
}

#: What a job would import later, unless this is another version of NVFLARE.
USUAL = (
    "cryptography.hazmat.primitives.kdf.hkdf",
    "fedsdr.data.arrow_files",
    "fedsdr.transports.nvflare.job_processes",
    "nvflare.app_common.decomposers.numpy_decomposers",
    "nvflare.app_common.executors.client_api_executor",
    "nvflare.app_common.job_schedulers.job_scheduler",
    "nvflare.app_common.resource_consumers.gpu_resource_consumer",
    "nvflare.app_common.resource_managers.gpu_resource_manager",
    "nvflare.app_common.state_persistors.storage_state_persistor",
    "nvflare.app_common.storages.filesystem_storage",
    "nvflare.fuel.f3.drivers.aio_grpc_driver",
    "nvflare.fuel.f3.drivers.aio_http_driver",
    "nvflare.fuel.f3.drivers.aio_tcp_driver",
    "nvflare.fuel.f3.drivers.tcp_driver",
    "pyarrow.dataset",
    "pyarrow.parquet",
)

# Seconds that NVFLARE's loops in a job may sleep.
PAUSE = 0.05


def load_all(kind: str) -> None:
    """Import whatever a job may need.

    Parameters
    ----------
    kind : {"site", "coordinator"}
        Whose job.
    """
    load(kind)
    for name in USUAL:
        with suppress(ImportError):
            importlib.import_module(name)


def load(kind: str) -> Any:
    """Import what a job cannot do without.

    Parameters
    ----------
    kind : {"site", "coordinator"}
        Whose job.

    Returns
    -------
    module
        NVFLARE's program.
    """
    for name in NEEDED[kind]:
        importlib.import_module(name)
    return importlib.import_module(PROGRAMS[kind])


def run_job(kind: str, arguments: Sequence[str], parent: int) -> int:
    """Run one job, in the main thread of a process of its own.

    Parameters
    ----------
    kind : {"site", "coordinator"}
        Whose job.
    arguments : sequence of str
        Of NVFLARE's program.
    parent : int
        Process with which this one ends.

    Returns
    -------
    int
        Exit code.
    """
    end_with_parent(parent)
    program = load(kind)
    _shorten(kind)
    sys.argv = [str(program.__file__), *arguments]
    parsed = program.parse_arguments()
    code = program.mpm.run(
        main_func=program.main,
        run_dir=str(Path(parsed.workspace) / parsed.job_id),
        # What has to be finished is, when the program returns.
        shutdown_grace_time=0,
        args=parsed,
    )
    return code if isinstance(code, int) else 0


def _shorten(kind: str) -> None:
    from nvflare.private.fed.app import utils

    if kind == COORDINATOR:
        from nvflare.private.fed.server import server_engine

        shorten_sleeps(PAUSE, utils, server_engine)
        hold_questions()
    else:
        from nvflare.private.fed.client import client_app_runner, client_runner

        shorten_sleeps(PAUSE, utils, client_app_runner, client_runner)


if __name__ == "__main__":
    sys.exit(run_job(sys.argv[1], sys.argv[2:], os.getppid()))
