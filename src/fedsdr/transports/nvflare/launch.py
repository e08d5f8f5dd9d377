"""What has to be run for a node: a program of the installed packages, in a folder."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fedsdr.transports.nvflare.certificates import check_validity
from fedsdr.transports.nvflare.kits import check_kit, read_address, secure_server
from fedsdr.transports.nvflare.node_names import node_name
from fedsdr.transports.nvflare.ports import check_port
from fedsdr.transports.nvflare.site_kit import SiteKit
from fedsdr.transports.nvflare.site_node import lay_out
from fedsdr.transports.nvflare.site_request import find_key

CLIENT = "nvflare.private.fed.app.client.client_train"
SERVER = "fedsdr.transports.nvflare.server_node"


@dataclass(frozen=True, slots=True)
class Launch:
    """A node that is ready to be started.

    Parameters
    ----------
    name : str
        For messages.
    folder : Path
        From which it runs.
    command : tuple of str
        Program and arguments: the interpreter of this process and a module that is
        installed in it, never a script from the folder.
    """

    name: str
    folder: Path
    command: tuple[str, ...]


def launch_site(kit: SiteKit, key_file: Path, folder: Path) -> Launch:
    """Prepare the node of a site.

    Parameters
    ----------
    kit : SiteKit
        From the coordinator.
    key_file : Path
        TLS key of the site.
    folder : Path
        For the node; made if it does not exist.

    Returns
    -------
    Launch
        Ready.
    """
    folder = folder.resolve()
    lay_out(kit, find_key(key_file, kit.public_key()), folder)
    check_validity(folder)
    name = node_name(kit.site)
    settings = (f"uid={name}", f"org=site_{name.replace('-', '_')}")
    command = _command(CLIENT, folder, "fed_client.json", settings)
    return Launch(kit.site, folder, command)


def launch_server(kit: Path) -> Launch:
    """Prepare the coordinator's node.

    Parameters
    ----------
    kit : Path
        Its folder, which the coordinator has made itself.

    Returns
    -------
    Launch
        Ready.
    """
    kit = kit.resolve()
    check_kit(kit)
    # Kits can be moved, and this one holds its own place.
    secure_server(kit)
    check_validity(kit)
    check_port(*read_address(kit))
    (kit / "transfer").mkdir(exist_ok=True)
    command = _command(SERVER, kit, "fed_server.json", ("org=coordinator",))
    return Launch("the coordinator", kit, command)


def _command(
    module: str, folder: Path, file: str, settings: Sequence[str]
) -> tuple[str, ...]:
    program = (sys.executable, "-u", "-m", module, "-m", str(folder), "-s", file)
    return (*program, "--set", "secure_train=true", *settings, "config_folder=config")
