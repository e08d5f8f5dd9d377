"""A node's kit: who may do what there, decided by files on the node's own machine."""

import json
from pathlib import Path
from typing import Any

from fedsdr.exceptions import InputError
from fedsdr.files import write_atomically
from fedsdr.transports.nvflare.node_settings import CONTROLLER, EXECUTOR

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

# They send log files of a site to the server, and receive them there.
LOG_COMPONENTS = ("site_log_streamer", "log_receiver")


def secure_site(kit: Path) -> None:
    """Let a site's node run our executor, for the lead, and nothing else.

    Parameters
    ----------
    kit : Path
        Folder that NVFLARE provisioned; its ``local`` files are written.
    """
    resources = _read_defaults(kit)
    resources["class_list_enforcement_mode"] = "enforce"
    resources["class_allow_list"] = [EXECUTOR]
    resources["allow_log_streaming"] = False
    resources["client"]["client_register_interval"] = JOIN_INTERVAL
    resources["client"]["maint_msg_timeout"] = ANSWER_TIMEOUT
    resources["client"]["engine_create_timeout"] = ANSWER_TIMEOUT
    _write(kit, "resources.json", resources)
    _write(kit, "authorization.json", PERMISSIONS)


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
    for component in resources["components"]:
        if component["id"] == "job_manager":
            component["args"]["uri_root"] = str(storage / "jobs")
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


def check_kit(kit: Path, *, server: bool) -> None:
    """Refuse a folder that is not such a kit, or whose rules were loosened.

    Parameters
    ----------
    kit : Path
        Folder.
    server : bool
        Whether it must be the coordinator's, or else a site's.
    """
    role = "server" if server else "client"
    if not (kit / "startup" / f"fed_{role}.json").is_file():
        owner = "the coordinator's" if server else "a site's"
        raise InputError(f"{kit} is not {owner} kit: study provision makes them")
    expected = CONTROLLER if server else EXECUTOR
    resources = _read(kit, "resources.json")
    enforced = resources.get("class_list_enforcement_mode") == "enforce"
    if not enforced or resources.get("class_allow_list") != [expected]:
        raise InputError(
            f"{kit / 'local' / 'resources.json'} does not restrict jobs to {expected}: "
            "ask the coordinator for a new kit, or mend the file"
        )
    if _read(kit, "authorization.json") != PERMISSIONS:
        raise InputError(
            f"{kit / 'local' / 'authorization.json'} allows more than fedsdr needs: "
            "ask the coordinator for a new kit, or mend the file"
        )


def read_address(kit: Path) -> tuple[str, int]:
    """Look up where the coordinator listens.

    Parameters
    ----------
    kit : Path
        Of any node.

    Returns
    -------
    host : str
        Name or address.
    port : int
        One for sites and analysts alike.
    """
    for role in ("server", "client"):
        file = kit / "startup" / f"fed_{role}.json"
        if file.is_file():
            target = json.loads(file.read_text())["servers"][0]["service"]["target"]
            host, _, port = target.rpartition(":")
            return host, int(port)
    raise InputError(f"{kit} is not a node's kit: study provision makes them")


def read_site_name(kit: Path) -> str:
    """Look up whose kit it is.

    Parameters
    ----------
    kit : Path
        Of a site.

    Returns
    -------
    str
        Name of the site, as in its certificate.
    """
    check_kit(kit, server=False)
    content = json.loads((kit / "startup" / "fed_client.json").read_text())
    return str(content["client"]["fqsn"])


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
            f"{file} cannot be read: ask the coordinator for a new kit"
        ) from None
    if not isinstance(content, dict):
        raise InputError(f"{file} is damaged: ask the coordinator for a new kit")
    return content


def _write(kit: Path, name: str, content: dict[str, Any]) -> None:
    write_atomically(kit / "local" / name, json.dumps(content, indent=2) + "\n")
