"""Who takes part is true: restarts, second processes, departures, other studies."""

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip(
    "nvflare",
    reason="the extra fedsdr[federation] is not installed",
    exc_type=ImportError,
)

from tests.e2e.holding import Holds, holding, kill_process
from tests.e2e.offices import Office, count_text, open_office, wait_for, wait_until
from tests.study.consortia import FILLED, NAMES, Files, simulate_rows, write_toml

from fedsdr.result import Result
from fedsdr.study import read_study
from fedsdr.study.verification import are_equal

pytestmark = [
    pytest.mark.e2e,
    # NVFLARE's own.
    pytest.mark.filterwarnings("ignore:ssl_context is deprecated:DeprecationWarning"),
]


# What a node says that takes a process which was ready, and one that has none.
WARM = "(warm)"
COLD = "No process is ready for this job (it has ended): it starts anew"


@pytest.fixture(scope="module")
def holds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Holds]:
    with holding(tmp_path_factory.mktemp("holds") / "points") as found:
        yield found


@pytest.fixture(scope="module")
def office(holds: Holds, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    # A folder with blanks: the processes of jobs used to end at once there.
    root = tmp_path_factory.mktemp("office") / "all our sites"
    rows = simulate_rows()
    rows.loc[::5, "x1"] = float("nan")
    columns = {f"x{j}": {"type": "number"} for j in range(6)} | {"x1": FILLED}
    files = Files(root, rows, columns=columns, model={"refit": "pooled"})
    with open_office(files, tmp_path_factory.mktemp("logs") / "logs") as found:
        yield found


def test_a_second_process_of_a_site_is_refused(office: Office, tmp_path: Path) -> None:
    left = count_text(office.coordinator, "west has left")
    # In the same folder it does not start.
    second = office.join("west")
    assert second.end() == 2
    assert "this site has joined already, and its node runs in" in second.said()
    # On another machine it is not let in, and the first one does not notice it.
    other = office.join("west", office.copy("west", tmp_path / "copy"))
    other.wait_for("another process has joined with its kit")
    assert "Joined" not in other.said()
    assert other.interrupt() == 0
    assert count_text(office.coordinator, "west has left") == left
    assert "west" in office.study("status").end().stdout


def other_study(office: Office) -> Path:
    """Write a second study of the same sites, with other columns."""
    path = office.files.coordinator / "study2.toml"
    columns = {f"x{j}": {"type": "number"} for j in (0, 2, 3, 4)}
    table = {**office.files.study, "name": "second", "columns": columns}
    return write_toml(path, table)


def test_a_study_that_nobody_has_accepted_is_refused(office: Office) -> None:
    """The node used to send the study that it was started with, once more."""
    done = office.run("study", "submit", other_study(office))
    assert done.exit_code == 4, done.output
    for name in NAMES:
        assert f"{name} refuses, since the study.toml that it has" in done.stderr
        assert not (office.files.root / name / "result.json").exists()
        assert office.files.ledger(name).entries() == ()


def test_an_edited_study_file_is_named(office: Office) -> None:
    files = office.files
    path = files.root / "west" / "study.toml"
    write_toml(path, {**files.study, "purpose": "something else"})
    done = office.study("submit").end()
    assert done.exit_code == 4, done.output
    assert "west refuses, since the study.toml that it has agreed to" in done.stderr
    assert "--without west" in done.stdout
    shown = office.study("status").end().stdout
    assert "west: TERMS" in shown
    assert "ORDER" not in shown
    assert not (office.state / "result.json").exists()
    files.write_study()


def test_a_node_that_left_is_seen_within_seconds(office: Office) -> None:
    left = count_text(office.coordinator, "south has left")
    joined = count_text(office.coordinator, "south has joined")
    office.kill("south")
    seconds = wait_until(office.coordinator, "south has left", left + 1)
    assert seconds < 60.0
    assert "south" not in office.study("status").end().stdout.splitlines()[0]
    office.joined["south"] = office.join("south")
    wait_until(office.coordinator, "south has joined", joined + 1)


def test_a_site_that_is_started_again_is_in_the_result(
    office: Office, holds: Holds
) -> None:
    """It is killed when means have been added over four sites."""
    holds.at("west", "secure.opened", "after")
    command = office.study("submit")
    holds.wait()
    holds.nowhere()
    office.restart("west")
    done = command.end()
    assert done.exit_code == 0, done.output
    assert "west has left, or was started again (LEFT)" in done.stderr
    rows = len(office.files.rows)
    assert f"{rows} rows of east, north, south, west are in each" in done.stdout
    result = Result.from_json(office.state / "result.json")
    assert result.settings["sites"] == list(NAMES)
    sums = result.provenance["sums"]
    assert [one["sites"] for one in sums] == [list(NAMES)] * 2
    for name in NAMES:
        assert (office.files.root / name / "result.json").exists()


def test_a_second_study_needs_no_kits_and_no_new_nodes(office: Office) -> None:
    other = other_study(office)
    for name, site in office.sites.items():
        sent = site.with_name("sent.toml")
        sent.write_bytes(other.read_bytes())
        done = office.run("site", "accept", site, sent)
        assert done.exit_code == 0, done.output
        assert read_study(other).digest in done.stdout
        assert office.joined[name].process.poll() is None
    # All but one have a process that is ready for the job.
    warm = {name: office.node_log(name).count(WARM) for name in NAMES}
    kill_process(office.processes("north")["fork_server"])
    wait_for(lambda: "fork_server" not in office.processes("north"))
    done = office.run("study", "submit", other)
    assert done.exit_code == 0, done.output
    for name in NAMES:
        log = office.node_log(name)
        assert log.count(WARM) == warm[name] + (name != "north")
        assert (COLD in log) == (name == "north")
    assert WARM in (office.folder / "coordinator.log").read_text()
    target = office.files.coordinator / "fetched.json"
    assert office.run("study", "fetch", other, "--out", target).exit_code == 0
    result = Result.from_json(target)
    assert result.feature_names == ("x0", "x2", "x3", "x4")
    digest = read_study(other).digest
    for name in NAMES:
        there = office.files.root / name / "studies" / f"{digest}.result.json"
        assert are_equal(Result.from_json(there), result)
    # The first study has kept its own result.
    assert office.study("fetch", "--out", target).end().exit_code == 0
    assert len(Result.from_json(target).feature_names) == 6


def new_hospital(office: Office) -> Path:
    """Begin a fifth site, as its steward does."""
    folder = office.files.root / "up"
    folder.mkdir()
    site = folder / "site.toml"
    assert office.run("site", "init", "--name", "up", "--out", site).exit_code == 0
    rows = simulate_rows(seed=8)
    rows[rows["site"] == "west"].drop(columns="site").to_csv(
        folder / "rows.csv", index=False
    )
    site.write_text(site.read_text() + "seen_alone = true\n")
    return site


def test_a_new_hospital_joins_later(office: Office) -> None:
    """As docs/operations/growing.md says, without a new kit for anybody else."""
    files, up = office.files, new_hospital(office)
    line = up.with_name("identity.pub").read_text()
    roster = {**files.study["sites"]["roster"], "up": line.split('"')[1]}
    table = {**files.study, "name": "third"}
    table["columns"] = {f"x{j}": {"type": "number"} for j in (0, 2, 3, 4)}
    table["sites"] = {"roster": roster, "joining": ["up"]}
    study = write_toml(files.coordinator / "study3.toml", table)
    for site in (*office.sites.values(), up):
        name = "study.toml" if site == up else "sent3.toml"
        sent = site.with_name(name)
        sent.write_bytes(study.read_bytes())
        assert office.run("site", "check", site, sent).exit_code == 0
        done = office.run("site", "accept", site, sent, "--partners")
        assert done.exit_code == 0, done.output
    asked = up.with_name("up.request")
    done = office.run("study", "sign", study, asked, "--folder", office.folder)
    assert done.exit_code == 0, done.output
    # The node serves the sites that it was started for.
    assert office.coordinator.interrupt() == 0
    office.start(study, "--folder", str(office.folder))
    office.coordinator.wait_for("The coordinator listens")
    office.joined["up"] = office.join("up", up.parent)
    done = office.run("study", "submit", study, "--folder", office.folder)
    assert done.exit_code == 0, done.output
    target = files.coordinator / "third.json"
    words = ("study", "fetch", study, "--folder", office.folder, "--out", target)
    assert office.run(*words).exit_code == 0
    result = Result.from_json(target)
    assert result.settings["sites"] == sorted((*NAMES, "up"))
    own = len(up.with_name("rows.csv").read_text().splitlines()) - 1
    assert result.n_rows == len(files.rows) + own


def test_nothing_is_left_of_a_node(office: Office) -> None:
    """Not of one that leaves, nor of one that is killed, nor of a killed command."""
    for name in ("north", "south", "west"):
        wait_for(lambda name=name: "fork_server" in office.processes(name))
    assert office.joined["north"].interrupt() == 0
    assert office.processes("north") == {}
    kill_process(office.processes("south")["client_train"])
    assert office.joined["south"].end() == 1
    assert office.processes("south") == {}
    office.kill("west")
    wait_for(lambda: office.processes("west") == {})
