"""The files in deploy: known keys, no root, restarts, rotation, commands that exist."""

import configparser
import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import typer

from fedsdr.cli import app

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))

#: Keys of systemd 252 that our units may use.
KNOWN = {
    "Unit": {"Description", "Documentation", "Wants", "After", "StartLimitIntervalSec",
             "StartLimitBurst"},
    "Service": {"Type", "User", "Group", "WorkingDirectory", "Environment",
                "ExecStartPre", "ExecStart", "KillSignal", "KillMode", "TimeoutStopSec",
                "Restart", "RestartSec", "UMask", "LimitCORE", "NoNewPrivileges",
                "CapabilityBoundingSet", "ProtectSystem", "ProtectHome",
                "ProtectKernelTunables", "ProtectKernelModules",
                "ProtectControlGroups", "PrivateTmp", "PrivateDevices",
                "RestrictSUIDSGID", "RestrictAddressFamilies", "LockPersonality",
                "ReadWritePaths"},
    "Install": {"WantedBy"},
}  # fmt: skip


def find_command(words: list[str]) -> Any:
    """Find a command of ours, and check that it takes so many arguments."""
    command: Any = typer.main.get_command(app)
    while hasattr(command, "commands"):
        assert words, "a group needs a command"
        command = command.commands[words.pop(0)]
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    needed = sum(one.required for one in arguments)
    given = [word for word in words if not word.startswith("-")]
    assert needed <= len(given) <= len(arguments), (command.name, words)
    return command


def read_unit(path: Path) -> configparser.ConfigParser:
    unit = configparser.ConfigParser(strict=True, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string(path.read_text())
    return unit


# --- systemd --------------------------------------------------------------------------


def test_there_is_a_unit_for_each_role() -> None:
    names = [path.name for path in UNITS]
    assert names == ["fedsdr-coordinator@.service", "fedsdr-site@.service"]


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.stem)
def test_a_unit_has_known_keys_and_no_rights(path: Path) -> None:
    unit = read_unit(path)
    assert {name: set(unit[name]) - KNOWN[name] for name in unit.sections()} == {
        name: set() for name in KNOWN
    }
    service = unit["Service"]
    assert service["User"] not in ("", "root", "0")
    assert service["Restart"] == "on-failure"
    assert service["KillSignal"] == "SIGINT"
    assert service["ProtectSystem"] == "strict"
    assert service["CapabilityBoundingSet"] == ""
    assert service["ReadWritePaths"] == service["WorkingDirectory"]
    assert service["UMask"] == "0077"


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.stem)
def test_a_unit_runs_commands_that_exist(path: Path) -> None:
    service = read_unit(path)["Service"]
    for key in ("ExecStartPre", "ExecStart"):
        if key in service:
            program, *words = shlex.split(service[key].removeprefix("-"))
            assert program == "/opt/fedsdr/bin/fedsdr"
            find_command(words)


@pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="systemd is not installed"
)
def test_systemd_understands_the_units(tmp_path: Path) -> None:
    for path in UNITS:
        # The program need not be installed where the test runs.
        text = path.read_text().replace("/opt/fedsdr/bin/fedsdr", "/bin/true")
        (tmp_path / path.name.replace("@", "@north")).write_text(text)
    files = sorted(map(str, tmp_path.glob("*.service")))
    done = subprocess.run(
        ["systemd-analyze", "verify", *files],
        capture_output=True,
        text=True,
        check=False,
    )
    said = [line for line in done.stderr.splitlines() if "fedsdr" in line]
    assert said == []


def test_logs_are_rotated_and_ledgers_are_not() -> None:
    text = (DEPLOY / "logrotate" / "fedsdr").read_text()
    plain = re.sub(r"^\s*#.*$", "", text, flags=re.M)
    paths, inner = plain.split("{")
    listed = paths.split()
    assert all(path.endswith(".log") for path in listed)
    assert {Path(path).name for path in listed} == {
        *("site.log", "node.log", "coordinator.log"),
    }
    assert not any("ledger" in path for path in listed)
    words = {
        line.split()[0] for line in inner.strip("} \n").splitlines() if line.strip()
    }
    assert words <= {"su", "weekly", "rotate", "maxsize", "missingok", "notifempty",
                     "compress", "delaycompress", "copytruncate"}  # fmt: skip
    assert "copytruncate" in words


# --- containers -----------------------------------------------------------------------

#: Keys of the compose specification that our file may use, and their types.
SERVICE = {
    "image": str, "user": str, "init": bool, "read_only": bool, "restart": str,
    "stop_signal": str, "stop_grace_period": str, "cap_drop": list,
    "security_opt": list, "tmpfs": list, "logging": dict, "command": list,
    "hostname": str, "networks": list, "ports": list, "volumes": list,
    "depends_on": list,
}  # fmt: skip


@pytest.fixture(name="compose")
def compose_file() -> dict[str, Any]:
    """Read the compose file."""
    return yaml.safe_load((DEPLOY / "containers" / "compose.yaml").read_text())


def test_compose_has_a_coordinator_and_four_sites(compose) -> None:
    assert set(compose) == {"name", "x-node", "services", "networks"}
    sites = set(compose["services"]) - {"coordinator"}
    assert sites == {"north", "south", "east", "west"}
    for name, service in compose["services"].items():
        for key, value in service.items():
            assert isinstance(value, SERVICE[key]), (name, key)
        assert set(service["networks"]) <= set(compose["networks"])
        assert set(service.get("depends_on", ())) <= set(compose["services"])
        find_command(list(service["command"]))
        assert service["volumes"] == [f"./{name}:/study"]
    for name in sites:
        assert f"{name}.kit" in compose["services"][name]["command"]
        # Nobody connects to a site.
        assert "ports" not in compose["services"][name]


def test_containers_have_no_rights_and_come_back(compose) -> None:
    for service in compose["services"].values():
        assert service["user"].split(":")[0] not in ("0", "root")
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert "no-new-privileges:true" in service["security_opt"]
        assert service["restart"] == "unless-stopped"
        assert service["stop_signal"] == "SIGINT"
        assert set(service["logging"]["options"]) == {"max-size", "max-file"}
        assert "privileged" not in service


def instructions() -> list[tuple[str, str]]:
    """Read the Containerfile: instruction and arguments, with lines joined."""
    text = (DEPLOY / "containers" / "Containerfile").read_text()
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    found = [line.split(None, 1) for line in joined.splitlines() if line.strip()]
    return [(word, rest) for word, rest in found]


def test_the_image_is_built_from_the_clone_and_runs_without_root() -> None:
    found = instructions()
    known = {"FROM", "COPY", "RUN", "ENV", "USER", "WORKDIR", "STOPSIGNAL"}
    assert {word for word, _ in found} == known | {"ENTRYPOINT", "CMD"}
    for word, rest in found:
        if word == "FROM":
            image = rest.split()[0]
            assert ":" in image
            assert not image.endswith(":latest")
        if word == "COPY" and not rest.startswith("--from="):
            for source in rest.split()[:-1]:
                assert (ROOT / source).exists(), source
    last = max(i for i, (word, _) in enumerate(found) if word == "FROM")
    final = dict(found[last:])
    assert final["USER"] == "10001:10001"
    assert final["STOPSIGNAL"] == "SIGINT"
    assert json.loads(final["ENTRYPOINT"]) == ["fedsdr"]
    json.loads(final["CMD"])
    copied = " ".join(rest for word, rest in found if word == "COPY")
    assert not re.search(r"\.key|ledger|\.kit|\s\.\s", copied)


def test_the_image_installs_extras_that_exist() -> None:
    import tomllib

    table = tomllib.loads((ROOT / "pyproject.toml").read_text())
    known = set(table["project"]["optional-dependencies"])
    run = " ".join(rest for word, rest in instructions() if word == "RUN")
    (wanted,) = re.findall(r"/source\[([\w,]+)\]", run)
    assert set(wanted.split(",")) <= known


def test_pages_name_files_and_commands_that_exist() -> None:
    for page in ("services", "containers"):
        text = (ROOT / "docs" / "operations" / f"{page}.md").read_text()
        for path in re.findall(r"deploy/[\w./@-]+\w", text):
            assert (ROOT / path).exists(), path
        for words in re.findall(r"fedsdr:0\.2 ((?:site|study) .*)$", text, re.M):
            find_command(shlex.split(words))
