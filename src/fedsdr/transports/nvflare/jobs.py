"""The job that starts a study: names of classes, and no code."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fedsdr.files import write_atomically
from fedsdr.transports.nvflare.node_names import node_name
from fedsdr.transports.nvflare.node_settings import (
    CONTROLLER,
    EXECUTOR,
    TASK,
    TASK_INTERVAL,
)

APP = "app"


def write_job(
    folder: Path,
    name: str,
    sites: Sequence[str],
    *,
    minimum: int | None = None,
    controller: str = CONTROLLER,
    executor: str = EXECUTOR,
) -> Path:
    """Write a job.

    Parameters
    ----------
    folder : Path
        In which to make the job's folder.
    name : str
        Of the job.
    sites : sequence of str
        Who takes part.
    minimum : int or None, default=None
        Sites without which the job does not start; all if not given.
    controller, executor : str
        Paths of classes. Nodes refuse others than the defaults.

    Returns
    -------
    Path
        The job's folder, for `Session.submit`.
    """
    job = folder / name
    config = job / APP / "config"
    config.mkdir(parents=True, exist_ok=True)
    meta = {
        "name": name,
        "resource_spec": {},
        "deploy_map": {APP: ["server", *map(node_name, sites)]},
        "min_clients": len(sites) if minimum is None else minimum,
    }
    server = {
        "format_version": 2,
        "server": {"task_request_interval": TASK_INTERVAL},
        "workflows": [{"id": "study", "path": controller, "args": {}}],
        "components": [],
        "task_data_filters": [],
        "task_result_filters": [],
    }
    client = {
        "format_version": 2,
        "executors": [
            {"tasks": [TASK], "executor": {"path": executor, "args": {}}},
        ],
        "components": [],
        "task_data_filters": [],
        "task_result_filters": [],
    }
    _write(job / "meta.json", meta)
    _write(config / "config_fed_server.json", server)
    _write(config / "config_fed_client.json", client)
    return job


def _write(path: Path, content: dict[str, Any]) -> None:
    # A job lives in a temporary folder until it is uploaded.
    write_atomically(path, json.dumps(content, indent=2) + "\n", durable=False)
