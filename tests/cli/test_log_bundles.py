"""Logs for others have no values, counts, keys, tokens or folders in them."""

import json
import zipfile
from pathlib import Path

import pytest
from tests.study.consortia import Files, simulate_rows

from fedsdr.exceptions import Refusal
from fedsdr.study.redaction import redact_node_log, redact_site_log
from fedsdr.study.study_site import log_failure

pytest.importorskip(
    "nvflare",
    reason="the extra fedsdr[federation] is not installed",
    exc_type=ImportError,
)

from fedsdr.transports.nvflare.progress import Ending, NodeProgress

#: What must not be found: a patient, a value, a token, a password, a count of rows.
SECRETS = (
    *("Meyer", "172.35", "8f14e45fceea167a5a36dedd4bea2543", "hunter2", "(2)"),
    *("steward@hospital.org", "BEGIN PRIVATE KEY"),
)

ACCOUNT = "/".join(("", "home", "meyer"))
HOME = f"{ACCOUNT}/study/node"

NODE_LINES = f"""\
2026-11-18 09:56:26,489 - FederatedClient - INFO - Got token {SECRETS[2]} from {HOME}
2026-11-18 09:56:27,489 - Cell - WARNING - retry 3 of 'Meyer' with password hunter2
2026-11-18 09:56:28,489 - ClientRunner - ERROR - could not read Meyer 172.35
2026-11-18 09:56:29,489 - ClientRunner - INFO - ValueError: not a number: Meyer
2026-11-18 09:56:30,489 - hci - INFO - login of steward@hospital.org
Traceback (most recent call last):
  File "{HOME}/site-packages/fedsdr/rows/memory_rows.py", line 12, in fill
    values = "Meyer 172.35"
ValueError: could not convert string to float: Meyer
-----BEGIN PRIVATE KEY-----
Meyer 172.35 written by a program that nobody knows
"""


@pytest.fixture(name="files")
def four_sites(tmp_path: Path) -> Files:
    """Write a study of four sites; its folder is in a home."""
    return Files(tmp_path / "home" / "meyer" / "study", simulate_rows(n_rows=60))


def contents(path: Path) -> dict[str, str]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def plant(files: Files) -> None:
    """Write secrets to all logs of a site."""
    folder = files.root / "north"
    rule = "LEVELS: only a few rows are different from all others in Meyer (2)"
    log_failure(folder / "site.log", "secure.agree", Refusal("DISCLOSURE", rule))
    try:
        float("Meyer 172.35")
    except ValueError as error:
        log_failure(folder / "site.log", "secure.masked", RuntimeError(str(error)))
    (folder / "node").mkdir()
    (folder / "node" / "node.log").write_text(NODE_LINES)


def test_nothing_secret_is_in_the_bundle_of_a_site(run, files, tmp_path) -> None:
    plant(files)
    outcome = run("site", "logs", files.site_file("north"))
    assert outcome.exit_code == 0, outcome.output
    made = contents(tmp_path / "site-logs.zip")
    names = {"versions.json", "doctor.json", "ledger.json", "site.json"}
    assert set(made) == names | {"site.log", "node.log"}
    folder = files.root / "north"
    secrets = [*SECRETS, str(tmp_path), ACCOUNT]
    for key in ("identity.key", "ledger.key"):
        raw = (folder / key).read_bytes()
        secrets += [raw.hex(), raw.decode("latin-1").strip()]
    secrets += [f"{value:.4f}" for value in files.rows["x0"][:50]]
    for name, text in made.items():
        for secret in secrets:
            assert secret not in text, (name, secret)
    assert "secure.agree DISCLOSURE" in made["site.log"]
    assert "LEVELS: [left out]" in made["site.log"]
    assert "secure.masked INTERNAL" in made["site.log"]
    assert "RuntimeError" in made["site.log"]
    assert "fedsdr/rows/memory_rows.py:12 fill" in made["node.log"]
    assert json.loads(made["doctor.json"])["ledger"] == "ok"
    assert json.loads(made["versions.json"])["fedsdr"]


def test_a_bundle_is_private_and_never_overwritten(run, files, tmp_path) -> None:
    assert run("site", "logs", files.site_file("north")).exit_code == 0
    path = tmp_path / "site-logs.zip"
    assert path.stat().st_mode & 0o077 == 0
    before = path.read_bytes()
    outcome = run("site", "logs", files.site_file("north"))
    assert outcome.exit_code == 2
    assert "name another file" in outcome.stderr
    assert path.read_bytes() == before


def test_the_bundle_of_a_coordinator(run, files, tmp_path) -> None:
    folder = files.coordinator / "federation"
    (folder / "kits").mkdir(parents=True)
    (folder / "state").mkdir()
    (folder / "coordinator.log").write_text(NODE_LINES)
    progress = NodeProgress(folder / "state")
    progress.asked("secure.keys", {"north": 3, "south": 4})
    progress.failed(["north"], "INPUT")
    progress.end("failed", Ending("failed", f"no room in {tmp_path}: Meyer"))
    step = {"time": "t", "name": "secure.keys", "answered": [], "failures": {}}
    step["surplus"] = "Meyer"
    (folder / "state" / "journal.jsonl").write_text(json.dumps(step) + "\n{half")
    outcome = run("study", "logs", files.study_file)
    assert outcome.exit_code == 0, outcome.output
    made = contents(tmp_path / "study-logs.zip")
    for text in made.values():
        for secret in (*SECRETS, str(tmp_path), ACCOUNT):
            assert secret not in text
    assert json.loads(made["progress.json"])["sites"]["north"] == "INPUT"
    assert json.loads(made["journal.jsonl"])["name"] == "secure.keys"


def test_times_and_places_are_kept() -> None:
    kept = list(redact_node_log(NODE_LINES.splitlines(keepends=True)))
    assert len(kept) == 7
    assert kept[0].startswith("2026-11-18 09:56:26,489 FederatedClient INFO Got token")
    assert kept[2].endswith("ClientRunner ERROR [left out]")
    assert kept[-1] == "    ValueError [left out]"
    assert list(redact_site_log(["Meyer\n", "  Meyer: 3\n"])) == []
