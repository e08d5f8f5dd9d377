"""What a site takes from a coordinator is data: nothing in it runs or loosens rules."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip(
    "nvflare",
    reason="the extra fedsdr[federation] is not installed",
    exc_type=ImportError,
)

from fedsdr.exceptions import InputError
from fedsdr.secure_sum import Identity
from fedsdr.spoken import is_name
from fedsdr.transports.nvflare.admission import is_admitted, read_admitted
from fedsdr.transports.nvflare.enrolment import revoke, sign_request
from fedsdr.transports.nvflare.kits import PERMISSIONS
from fedsdr.transports.nvflare.launch import launch_server, launch_site
from fedsdr.transports.nvflare.node_names import (
    in_names_of_sites,
    node_name,
    sites_of_nodes,
)
from fedsdr.transports.nvflare.node_settings import EXECUTOR
from fedsdr.transports.nvflare.provision import Network, provision
from fedsdr.transports.nvflare.site_kit import SiteKit, _load, read_kit
from fedsdr.transports.nvflare.site_node import LOCAL, STARTUP
from fedsdr.transports.nvflare.site_request import make_request, read_request

SITES = ("east", "north", "south")


class Enrolled:
    """A coordinator, and sites whose requests it has signed."""

    def __init__(self, root: Path, sites: tuple[str, ...] = SITES) -> None:
        self.root = root
        self.identities = {name: Identity.generate() for name in sites}
        self.roster = {name: own.public for name, own in self.identities.items()}
        self.kits = provision(Network("Study", sites), root / "kits")
        for name in sites:
            (root / name).mkdir()
            self.sign(name)

    def sign(self, name: str, **options: Any) -> SiteKit:
        """Let a site ask, over files, and the coordinator sign."""
        key, file = self.root / name / "tls.key", self.root / f"{name}.request"
        make_request(name, self.identities[name], key, **options).write(file)
        return sign_request(self.kits, read_request(file), self.roster)

    def launch(self, name: str, kit: Path | None = None) -> Any:
        """Prepare the node of a site."""
        folder = self.root / name
        found = read_kit(kit or self.kits.site(name))
        return launch_site(found, folder / "tls.key", folder / "node")


@pytest.fixture
def enrolled(tmp_path: Path) -> Enrolled:
    return Enrolled(tmp_path)


# --- names ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["Zürich", "東京", "St. Mary's", "x" * 62 + "é"])
def test_nodes_have_names_that_nvflare_takes(name: str) -> None:
    found = node_name(name)
    assert is_name(found)
    assert found == node_name(name) != node_name(f"{name}2")
    assert sites_of_nodes([name, "north"]) == {found: name, "north": "north"}
    assert in_names_of_sites(f"{found}: no", {found: name}) == f"{name}: no"


def test_two_sites_never_have_the_same_node() -> None:
    with pytest.raises(InputError, match="have the same name"):
        Network("Study", ("Zürich", node_name("Zürich"), "north"))


def test_a_site_with_any_letters_is_enrolled(tmp_path: Path) -> None:
    here = Enrolled(tmp_path, ("Zürich", "St. Mary's", "東京"))
    for name in here.roster:
        kit = read_kit(here.kits.site(name))
        assert kit.site == name
        assert f"uid={node_name(name)}" in here.launch(name).command
        certificate = _load(kit.certificate)
        assert is_admitted(here.kits.server, node_name(name), certificate)
        assert not is_admitted(here.kits.server, node_name("north"), certificate)


def test_a_node_runs_installed_programs_with_our_settings(enrolled: Enrolled) -> None:
    launch = enrolled.launch("east")
    assert launch.command[:3] == (sys.executable, "-u", "-m")
    assert launch.command[3].startswith("nvflare.")
    node = enrolled.root / "east" / "node"
    found = {
        path.relative_to(node).as_posix() for path in node.rglob("*") if path.is_file()
    }
    assert found == {
        *(f"startup/{name}" for name in STARTUP),
        *(f"local/{name}" for name in LOCAL),
    }
    resources = json.loads((node / "local" / "resources.json").read_text())
    assert resources["class_allow_list"] == [EXECUTOR]
    assert resources["class_list_enforcement_mode"] == "enforce"
    assert resources["allow_log_streaming"] is False
    assert not any("log" in one["path"].lower() for one in resources["components"])
    rights = json.loads((node / "local" / "authorization.json").read_text())
    assert rights == PERMISSIONS
    lead = rights["permissions"]["lead"]
    assert lead["byoc"] == lead["shell_commands"] == "none"


def test_the_coordinators_node_runs_no_script_either(enrolled: Enrolled) -> None:
    launch = launch_server(enrolled.kits.server)
    assert launch.command[:3] == (sys.executable, "-u", "-m")
    assert launch.command[3] == "fedsdr.transports.nvflare.server_node"


def test_the_coordinator_has_no_private_key_of_a_site(enrolled: Enrolled) -> None:
    for name in SITES:
        secret = (enrolled.root / name / "tls.key").read_text()
        body = "".join(secret.splitlines()[1:-1])
        for path in enrolled.kits.folder.rglob("*"):
            if path.is_file():
                text = path.read_text(errors="replace")
                assert body[:60] not in text.replace("\\n", "").replace("\n", "")


@pytest.mark.parametrize(
    "changes",
    [
        {"script": "#!/bin/sh\ncat identity.key"},
        {"local/custom/mine.py": "import os"},
        {"format": "fedsdr-kit-2"},
        {"host": 'localhost", "x": "y'},
        {"host": "-oProxyCommand=id"},
        {"host": ""},
        {"port": "8002; id"},
        {"port": True},
        {"port": 0},
        {"site": "../east"},
        {"site": "north"},
        {"study": "../../x"},
        {"study": None},
        {"authority": "no certificate"},
        {"certificate": ["a"]},
    ],
)
def test_a_loosened_kit_is_refused(enrolled: Enrolled, changes: dict[str, Any]) -> None:
    kit = enrolled.kits.site("east")
    kit.write_text(json.dumps({**json.loads(kit.read_text()), **changes}))
    with pytest.raises(InputError, match="ask the coordinator for a new kit"):
        enrolled.launch("east")
    assert not (enrolled.root / "east" / "node").exists()


@pytest.mark.parametrize("content", ["", "[]", "{}", "[" * 100_000, "x" * 10**6])
def test_what_is_no_kit_is_refused(enrolled: Enrolled, content: str) -> None:
    enrolled.kits.site("east").write_text(content)
    with pytest.raises(InputError, match="is not a kit"):
        enrolled.launch("east")


def test_text_around_a_certificate_is_dropped(enrolled: Enrolled) -> None:
    kit = enrolled.kits.site("east")
    content = json.loads(kit.read_text())
    content["authority"] = "#!/bin/sh\n" + content["authority"] + "more\n"
    kit.write_text(json.dumps(content))
    assert read_kit(kit).authority.startswith("-----BEGIN CERTIFICATE-----")
    assert read_kit(kit).authority.endswith("-----END CERTIFICATE-----\n")


def test_a_kit_of_an_earlier_version_is_a_folder(
    enrolled: Enrolled, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="fedsdr site request"):
        enrolled.launch("east", tmp_path)


@pytest.mark.parametrize(
    "foreign", ["local/custom/mine.py", "startup/sub_start.sh", "local/privacy.json"]
)
def test_a_foreign_file_refuses_the_start(enrolled: Enrolled, foreign: str) -> None:
    enrolled.launch("east")
    path = enrolled.root / "east" / "node" / foreign
    path.parent.mkdir(exist_ok=True)
    path.write_text("")
    with pytest.raises(InputError, match="not a file that fedsdr writes"):
        enrolled.launch("east")


def test_changed_settings_are_written_again(enrolled: Enrolled) -> None:
    enrolled.launch("east")
    rights = enrolled.root / "east" / "node" / "local" / "authorization.json"
    rights.write_text(json.dumps({"permissions": {"lead": "any"}}))
    enrolled.launch("east")
    assert json.loads(rights.read_text()) == PERMISSIONS


def test_a_kit_is_for_the_key_of_its_site(enrolled: Enrolled) -> None:
    with pytest.raises(InputError, match="the kit is not for"):
        launch_site(
            read_kit(enrolled.kits.site("east")),
            enrolled.root / "north" / "tls.key",
            enrolled.root / "north" / "node",
        )
    with pytest.raises(InputError, match="does not exist: 'fedsdr site request'"):
        launch_site(
            read_kit(enrolled.kits.site("east")),
            enrolled.root / "none.key",
            enrolled.root / "none",
        )


def test_renewal_voids_the_certificate_before(enrolled: Enrolled) -> None:
    server = enrolled.kits.server
    before = _load(read_kit(enrolled.kits.site("east")).certificate)
    assert is_admitted(server, "east", before)
    assert not is_admitted(server, "north", before)
    kit = enrolled.sign("east", renew=True)
    after = _load(kit.certificate)
    assert is_admitted(server, "east", after)
    assert not is_admitted(server, "east", before)
    enrolled.launch("east")
    revoke(enrolled.kits, "east")
    assert not is_admitted(server, "east", after)
    assert set(read_admitted(server)) == {"north", "south"}
    # A list that cannot be read lets nobody in.
    north = _load(read_kit(enrolled.kits.site("north")).certificate)
    (server / "admitted.json").write_text("{")
    assert not is_admitted(server, "north", north)


def test_the_old_key_serves_until_the_new_kit_is_here(enrolled: Enrolled) -> None:
    key = enrolled.root / "east" / "tls.key"
    make_request("east", enrolled.identities["east"], key, renew=True)
    # The coordinator has not answered yet.
    enrolled.launch("east")


def test_others_may_not_read_the_key(enrolled: Enrolled) -> None:
    (enrolled.root / "east" / "tls.key").chmod(0o644)
    with pytest.raises(InputError, match="others may read"):
        enrolled.launch("east")
