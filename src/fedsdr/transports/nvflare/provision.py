"""An authority, and kits for the coordinator's node and its people."""

import logging
import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nvflare.lighter.constants import CtxKey
from nvflare.lighter.entity import Project
from nvflare.lighter.impl.cert import CertBuilder
from nvflare.lighter.impl.signature import SignatureBuilder
from nvflare.lighter.impl.static_file import StaticFileBuilder
from nvflare.lighter.impl.workspace import WorkspaceBuilder
from nvflare.lighter.provisioner import Provisioner

from fedsdr.exceptions import InputError
from fedsdr.spoken import is_site_name
from fedsdr.transports.nvflare.kits import prepare_person, secure_server
from fedsdr.transports.nvflare.node_names import node_name

ANALYST = "analyst@coordinator.study"

#: In the folder of kits: the key that signs certificates.
AUTHORITY = "authority"

RESERVED = ("server", "localhost", "all")


@dataclass(frozen=True, slots=True)
class Network:
    """Who takes part, and where the coordinator listens.

    Parameters
    ----------
    name : str
        Of the study.
    sites : tuple of str
        Names of the sites, as in the roster.
    host : str, default="localhost"
        Name or address under which sites reach the coordinator.
    port : int, default=8002
        One for sites and analysts alike. Sites connect outwards only.
    people : tuple of (str, str)
        Who may log in, and as what: "lead" may start studies, "member" may look.
    """

    name: str
    sites: tuple[str, ...]
    host: str = "localhost"
    port: int = 8002
    people: tuple[tuple[str, str], ...] = ((ANALYST, "lead"),)

    def __post_init__(self) -> None:
        bad = [site for site in self.sites if not _is_fit(site)]
        if bad:
            raise InputError(
                f"{', '.join(map(repr, bad))} cannot be the name of a site: use "
                "letters, digits and blanks, at most 63"
            )
        if len({*map(node_name, self.sites), self.host}) <= len(self.sites):
            raise InputError("two sites, or a site and the host, have the same name")
        if not self.sites:
            raise InputError("the study has no sites")
        if not 0 < self.port < 2**16:
            raise InputError(f"{self.port} is not a port: use one from 1 to 65535")

    @property
    def project(self) -> str:
        """Name of the study in the characters of NVFLARE."""
        plain = re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")
        return plain[:63].strip("-") or "study"


@dataclass(frozen=True, slots=True)
class Kits:
    """Where the kits are.

    Parameters
    ----------
    folder : Path
        That holds them all. Only the coordinator has it.
    """

    folder: Path

    @property
    def server(self) -> Path:
        """Kit of the coordinator's node."""
        return self.folder / "coordinator"

    @property
    def analyst(self) -> Path:
        """Kit of the person who starts studies."""
        return self.person(ANALYST)

    def person(self, name: str) -> Path:
        """Kit of a person.

        Parameters
        ----------
        name : str
            As in `Network.people`.

        Returns
        -------
        Path
            Folder.
        """
        return self.folder / "people" / name

    def site(self, name: str) -> Path:
        """Kit to hand to a site; nothing in it is secret.

        Parameters
        ----------
        name : str
            Of the site.

        Returns
        -------
        Path
            File, once the site's request is signed.
        """
        return self.folder / "sites" / f"{name}.kit"


def provision(network: Network, folder: Path) -> Kits:
    """Make an authority, and the coordinator's own certificates and kits.

    Parameters
    ----------
    network : Network
        Who takes part.
    folder : Path
        Must not exist, or be empty.

    Returns
    -------
    Kits
        Of the coordinator's node and of people. Sites make their own keys, and get a
        kit each from `fedsdr.transports.nvflare.enrolment.sign_request`.

    Notes
    -----
    The authority can certify any key, so that TLS keeps others out and not the
    coordinator. What protects sums from the coordinator are the identity keys that
    sites make themselves, whose public halves are in the study's roster.
    """
    if folder.exists() and any(folder.iterdir()):
        raise InputError(
            f"{folder} is not empty: name a new folder, or delete it to replace all "
            "certificates"
        )
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    folder.chmod(0o700)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        made = _run(network, Path(scratch))
        kits = Kits(folder)
        _move(made / network.host, kits.server)
        for name, _ in network.people:
            _move(made / name, kits.person(name))
            prepare_person(kits.person(name))
        secure_server(kits.server)
        # With the key that signs certificates, those of the node and of people.
        _move(Path(scratch) / network.project / "state", folder / AUTHORITY)
        for file in (folder / AUTHORITY).iterdir():
            file.chmod(0o600)
    _remove_scripts(folder)
    return kits


def _remove_scripts(folder: Path) -> None:
    """Remove NVFLARE's own ways to start a node: they know nothing of the study."""
    for file in [one for one in folder.rglob("*") if one.is_file()]:
        if file.suffix in (".sh", ".ipynb") or file.name == "readme.txt":
            file.unlink()
    note = "These files belong to fedsdr. Start the node with: fedsdr study start\n"
    (folder / "readme.txt").write_text(note, encoding="utf-8")


def _run(network: Network, scratch: Path) -> Path:
    project = Project(
        name=network.project,
        description="",
        props={"api_version": 3, "name": network.project},
    )
    project.set_server(
        network.host,
        "coordinator",
        {"fed_learn_port": network.port, "admin_port": network.port},
    )
    for name, role in network.people:
        project.add_admin(name, "coordinator", {"role": role})
    builders = [
        WorkspaceBuilder(),
        StaticFileBuilder(config_folder="config"),
        CertBuilder(),
        SignatureBuilder(),
    ]
    context = Provisioner(str(scratch), builders).provision(project, logger=_Quiet())
    if context.get(CtxKey.BUILD_ERROR):
        raise RuntimeError("NVFLARE could not make the kits")
    return Path(context.get_result_location())


class _Quiet:
    """Passes on what NVFLARE says while it makes kits, to a log."""

    def __init__(self) -> None:
        logger = logging.getLogger(__name__)
        self.debug = self.info = logger.debug
        self.warning = self.error = logger.warning


def _move(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(source, target)
    target.chmod(0o700)


def _is_fit(site: Any) -> bool:
    return is_site_name(site) and site.lower() not in RESERVED
