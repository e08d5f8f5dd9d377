"""The coordinator's kits, and who may do what at any node."""

import json
from pathlib import Path
from typing import Any

from fedsdr.exceptions import InputError
from fedsdr.files import write_atomically
from fedsdr.transports.nvflare.node_settings import CONTROLLER, COORDINATOR_JOBS

#: The one role that may start a study. NVFLARE's own list lets it upload code, which
#: goes past the list of classes, and everything is allowed to its "project_admin".
PERMISSIONS = {
    "format_version": "1.0",
    "permissions": {
        "lead": {
            "submit_job": "any",
            "clone_job": "none",
            "manage_job": "n:submitter",
            "download_job": "n:submitter",
            "view": "any",
            "operate": "none",
            "shell_commands": "none",
            "byoc": "none",
            "server-predeployed-flwr": "none",
        },
        "member": {"view": "any"},
    },
}

# Seconds without a sign of life after which a site's node has left; NVFLARE would give
# it ten minutes. A node gives one every ten seconds, if its machine lets it.
HEART_BEAT_TIMEOUT = 120

# Seconds for a question between nodes, and of an analyst. NVFLARE's own 10, 5 and 2 are
# too few for a machine that is busy, and a question that was answered waits no longer.
ANSWER_TIMEOUT = 60.0

# Seconds between two tries to hand out a job, at first and at last, and their number.
# NVFLARE would wait for 10 seconds, then for 20, and give up after 10 tries.
SCHEDULE_INTERVAL = (1.0, 30.0)
SCHEDULE_COUNT = 100

# Seconds between two tries of a site to join. The first one comes before the connection
# is there, and NVFLARE would then wait for 2 seconds.
JOIN_INTERVAL = 0.5

# Seconds between two looks of the coordinator's job whether it is over, instead of 3.
END_INTERVAL = 0.2

# It receives log files that sites send.
LOG_COMPONENTS = ("log_receiver",)


def secure_server(kit: Path) -> None:
    """Let the coordinator's node run our controller, and keep jobs in its own folder.

    Parameters
    ----------
    kit : Path
        Folder that NVFLARE provisioned, in its final place: NVFLARE wants absolute
        paths, and would use the system's temporary folder by default.
    """
    resources = _read_defaults(kit)
    resources["class_list_enforcement_mode"] = "enforce"
    resources["class_allow_list"] = [CONTROLLER]
    storage = kit.resolve() / "storage"
    snapshots = resources["snapshot_persistor"]["args"]["storage"]["args"]
    snapshots["root_dir"] = str(storage / "snapshots")
    resources["servers"][0]["heart_beat_timeout"] = HEART_BEAT_TIMEOUT
    resources["servers"][0]["admin_timeout"] = ANSWER_TIMEOUT
    resources["servers"][0]["check_engine_frequency"] = END_INTERVAL
    for component in resources["components"]:
        if component["id"] == "job_manager":
            component["args"]["uri_root"] = str(storage / "jobs")
        if component["id"] == "process_launcher":
            component["path"] = COORDINATOR_JOBS
        if component["id"] == "job_scheduler":
            # Two jobs would ask the sites for the same sums.
            component["args"]["max_jobs"] = 1
            component["args"]["max_schedule_count"] = SCHEDULE_COUNT
            shortest, longest = SCHEDULE_INTERVAL
            component["args"]["min_schedule_interval"] = shortest
            component["args"]["max_schedule_interval"] = longest
    _write(kit, "resources.json", resources)
    _write(kit, "authorization.json", PERMISSIONS)


def prepare_person(kit: Path) -> None:
    """Give the coordinator's node the time for answers that it needs when it is busy.

    Parameters
    ----------
    kit : Path
        Of a person, as NVFLARE provisioned it.
    """
    resources = _read(kit, "resources.json.default")
    resources["admin"]["authenticate_msg_timeout"] = ANSWER_TIMEOUT
    resources["admin"]["file_download_progress_timeout"] = ANSWER_TIMEOUT
    _write(kit, "resources.json", resources)


def check_kit(kit: Path) -> None:
    """Refuse a folder that is not the kit of the coordinator's node.

    Parameters
    ----------
    kit : Path
        Folder.
    """
    if not (kit / "startup" / "fed_server.json").is_file():
        raise InputError(
            f"{kit} is not the coordinator's kit: study provision makes it"
        )


def read_address(kit: Path) -> tuple[str, int]:
    """Look up where the coordinator listens.

    Parameters
    ----------
    kit : Path
        Of its node.

    Returns
    -------
    host : str
        Name or address.
    port : int
        One for sites and analysts alike.
    """
    host, _, port = str(_read_server(kit)["service"]["target"]).rpartition(":")
    return host, int(port)


def read_project(kit: Path) -> str:
    """Look up what NVFLARE calls the study.

    Parameters
    ----------
    kit : Path
        Of the coordinator's node.

    Returns
    -------
    str
        `Network.project`.
    """
    return str(_read_server(kit)["name"])


def _read_server(kit: Path) -> dict[str, Any]:
    check_kit(kit)
    content = json.loads((kit / "startup" / "fed_server.json").read_text())
    server: dict[str, Any] = content["servers"][0]
    return server


def _read_defaults(kit: Path) -> dict[str, Any]:
    resources = _read(kit, "resources.json.default")
    resources["components"] = [
        component
        for component in resources["components"]
        if component["id"] not in LOG_COMPONENTS
    ]
    return resources


def _read(kit: Path, name: str) -> dict[str, Any]:
    file = kit / "local" / name
    try:
        content = json.loads(file.read_text())
    except (OSError, ValueError):
        raise InputError(
            f"{file} cannot be read: provision again in another folder"
        ) from None
    if not isinstance(content, dict):
        raise InputError(f"{file} is damaged: provision again in another folder")
    return content


def _write(kit: Path, name: str, content: dict[str, Any]) -> None:
    write_atomically(kit / "local" / name, json.dumps(content, indent=2) + "\n")
