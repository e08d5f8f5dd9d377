"""The folder from which a site's node runs, written by the installed package."""

import json
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from nvflare.fuel.utils import log_utils

from fedsdr.exceptions import InputError
from fedsdr.files import PRIVATE, explained, locked, write_atomically
from fedsdr.spoken import escaped
from fedsdr.transports.nvflare.kits import (
    ANSWER_TIMEOUT,
    JOIN_INTERVAL,
    PERMISSIONS,
)
from fedsdr.transports.nvflare.node_names import node_name
from fedsdr.transports.nvflare.node_settings import EXECUTOR, OCCUPIED, SITE_JOBS
from fedsdr.transports.nvflare.site_kit import SiteKit

#: Every file that NVFLARE reads settings, certificates or code from. It also imports
#: what it finds in ``local/custom``.
STARTUP = ("fed_client.json", "rootCA.pem", "client.crt", "client.key")
LOCAL = ("resources.json", "authorization.json", "log_config.json")

#: One component less than NVFLARE's own: the one that sends logs to the server.
RESOURCES: dict[str, Any] = {
    "format_version": 2,
    "class_list_enforcement_mode": "enforce",
    "class_allow_list": [EXECUTOR],
    "allow_log_streaming": False,
    "client": {
        "retry_timeout": 30,
        "compression": "Gzip",
        "client_register_interval": JOIN_INTERVAL,
        "maint_msg_timeout": ANSWER_TIMEOUT,
        "engine_create_timeout": ANSWER_TIMEOUT,
    },
    "components": [
        {
            "id": "resource_manager",
            "path": "nvflare.app_common.resource_managers.gpu_resource_manager."
            "GPUResourceManager",
            "args": {
                "num_of_gpus": 0,
                "mem_per_gpu_in_GiB": 0,
                "expiration_period": 300,
            },
        },
        {
            "id": "resource_consumer",
            "path": "nvflare.app_common.resource_consumers.gpu_resource_consumer."
            "GPUResourceConsumer",
            "args": {},
        },
        {
            "id": "process_launcher",
            "path": SITE_JOBS,
            "args": {},
        },
    ],
}


def lay_out(kit: SiteKit, key: bytes, folder: Path) -> None:
    """Write all files from which a site's node runs.

    Parameters
    ----------
    kit : SiteKit
        Names, address and certificates.
    key : bytes
        TLS key of the site, in PEM.
    folder : Path
        Of the node. Settings of an earlier start are replaced; an `InputError` if there
        are files that this package does not write.
    """
    check_folder(folder)
    with explained(f"{folder} cannot be written"):
        for name in ("startup", "local"):
            shutil.rmtree(folder / name, ignore_errors=True)
            (folder / name).mkdir(parents=True, mode=0o700)
        (folder / "transfer").mkdir(exist_ok=True, mode=0o700)
        folder.chmod(0o700)
        startup, local = folder / "startup", folder / "local"
        _write(startup / "fed_client.json", _client(kit))
        write_atomically(startup / "rootCA.pem", kit.authority)
        write_atomically(startup / "client.crt", kit.certificate)
        write_atomically(startup / "client.key", key, private=True)
        _write(local / "resources.json", RESOURCES)
        _write(local / "authorization.json", PERMISSIONS)
        shutil.copyfile(
            Path(log_utils.__file__).with_name("log_config.json"),
            local / "log_config.json",
        )


@contextmanager
def occupied(folder: Path) -> Iterator[None]:
    """Keep a second node from running in the same folder.

    Parameters
    ----------
    folder : Path
        Of the node; made if it does not exist.

    Yields
    ------
    None
        While the node runs. An `InputError` if another process has it.
    """
    with explained(f"{folder} cannot be written"):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with ExitStack() as stack:
        try:
            stack.enter_context(locked(folder / OCCUPIED, wait=False, private=True))
        except BlockingIOError:
            raise InputError(
                f"this site has joined already, and its node runs in {folder}: two "
                "would take each other's messages. End the other 'fedsdr site join' "
                "first"
            ) from None
        yield


def check_folder(folder: Path) -> None:
    """Refuse a folder with settings or code that this package has not written.

    Parameters
    ----------
    folder : Path
        Of a site's node; it need not exist.
    """
    known = {
        *(folder / "startup" / name for name in STARTUP),
        *(folder / "local" / name for name in LOCAL),
    }
    for name in ("startup", "local"):
        place = folder / name
        found = [place] if place.is_symlink() else place.rglob("*")
        foreign = sorted(path for path in found if path not in known)
        if foreign:
            raise InputError(
                f"{escaped(str(foreign[0]))} is not a file that fedsdr writes: find "
                f"out who put it there, and delete {folder} before the site joins"
            )


def _client(kit: SiteKit) -> dict[str, Any]:
    return {
        "format_version": 2,
        "servers": [
            {
                "name": kit.study,
                "service": {"target": f"{kit.host}:{kit.port}", "scheme": "http"},
                "identity": kit.host,
            }
        ],
        "client": {
            "ssl_private_key": "client.key",
            "ssl_cert": "client.crt",
            "ssl_root_cert": "rootCA.pem",
            "fqsn": node_name(kit.site),
            "is_leaf": True,
            "connection_security": "mtls",
        },
    }


def _write(path: Path, content: dict[str, Any]) -> None:
    write_atomically(path, json.dumps(content, indent=2) + "\n")
    path.chmod(PRIVATE)
