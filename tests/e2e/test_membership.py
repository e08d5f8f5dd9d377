"""Who takes part is true: restarts, second processes, departures, other studies."""

import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip(
    "nvflare",
    reason="the extra fedsdr[federation] is not installed",
    exc_type=ImportError,
)

from tests.e2e.holding import PATIENCE, Holds, holding, kill_process
from tests.e2e.offices import Office, count_text, open_office, wait_for, wait_until
from tests.study.consortia import FILLED, NAMES, Files, simulate_rows, write_toml

from fedsdr.protocols.secure import SumFolder
from fedsdr.result import Result
from fedsdr.study import read_study
from fedsdr.study.verification import are_equal
from fedsdr.transports.nvflare.study_view import look_at_study

pytestmark = [
    pytest.mark.e2e,
    # NVFLARE's own.
    pytest.mark.filterwarnings("ignore:ssl_context is deprecated:DeprecationWarning"),
]


# What a node says that takes a process which was ready, and one that has none.
WARM = "(warm)"
COLD = "No process is ready for this job (it has ended): it starts anew"


# Seconds for an answer: a site that sleeps longer is lost.
TIMEOUT = 30.0


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
    files = Files(
        root, rows, columns=columns, model={"refit": "pooled"}, timeout=TIMEOUT
    )
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
    # Nobody sleeps in it: what is held may take as long as a busy machine needs.
    changes = {"name": "second", "columns": columns, "timeout": PATIENCE}
    table = {**office.files.study, **changes}
    return write_toml(path, table)


def test_a_study_that_nobody_has_accepted_is_refused(office: Office) -> None:
    """The node used to send the study that it was started with, once more."""
    done = office.run("study", "submit", other_study(office))
    assert done.exit_code == 4, done.output
    for name in NAMES:
        assert f"{name} refuses, since the study.toml that it has" in done.stderr
        assert not (office.files.root / name / "result.json").exists()
        assert office.files.ledger(name).entries() == ()
    # Fetching used to object, and to leave the result of the other study there.
    target = office.files.coordinator / "wrong.json"
    done = office.run("study", "fetch", other_study(office), "--out", target)
    assert done.exit_code != 0
    assert not target.exists()


def test_an_edited_study_file_is_named(office: Office) -> None:
    files = office.files
    refusal = "secure.agree was answered with the code TERMS: see site.log"
    before = {name: count_text(office.joined[name], refusal) for name in NAMES}
    path = files.root / "west" / "study.toml"
    write_toml(path, {**files.study, "purpose": "something else"})
    done = office.study("submit").end()
    assert done.exit_code == 4, done.output
    assert "west refuses, since the study.toml that it has agreed to" in done.stderr
    assert "--without west" in done.stdout
    # Everybody is told the same, with the same counts.
    told = "message 1, secure.agree: 3 of 4 sites have answered; west: TERMS"
    assert told in done.stderr
    for verb in ("status", "attach"):
        shown = office.study(verb).end().stdout
        assert told in shown
        assert "ORDER" not in shown
    wait_until(office.joined["west"], refusal, before["west"] + 1)
    assert count_text(office.joined["east"], refusal) == before["east"]
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


def awaited(office: Office, study: Path) -> str:
    """Look who is awaited, as a coordinator does."""
    shown = office.run("study", "attach", study, "--once").stdout
    return next((one for one in shown.splitlines() if "awaited for" in one), "")


def test_a_site_that_sleeps_is_in_all_sums_or_in_none(
    office: Office, holds: Holds
) -> None:
    """It wakes up between means and moments, which used to be over other sites."""
    study = office.files.study_file
    holds.at("west", "secure.shares", "before")
    submit = office.begin("study", "submit", study, "--attempts", 1)
    holds.wait()
    with office.asleep("west"):
        holds.release()
        wait_for(lambda: awaited(office, study).endswith(" s: west"))
        submit.wait_for(" s: west")
        wait_for(lambda: "west" in look_at_study(office.state).rounds[-1].failures)
    assert submit.end() == 5, submit.said()
    assert "west has left, or was started again (LEFT)" in submit.said()
    assert not (office.state / "result.json").exists()
    begun = SumFolder(office.state).begun().values()
    assert all(tuple(one["sites"]) == NAMES for one in begun)


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


def submit_and_attach(office: Office, holds: Holds, study: Path) -> None:
    """Leave a study alone with Ctrl-C in the middle, and follow it from elsewhere."""
    holds.at("south", "secure.masked", "before")
    submit = office.begin("study", "submit", study)
    holds.wait()
    submit.wait_for("secure.masked")
    assert submit.interrupt() == 130
    assert f"fedsdr study attach '{study}'" in submit.said()
    attached = office.begin("study", "attach", study)
    wait_for(lambda: awaited(office, study).endswith(" s: south"))
    attached.wait_for("secure.masked: 3 of 4 sites have answered")
    holds.release()
    assert attached.end() == 0
    assert "finished: message 8, secure.result: 4 of 4" in attached.said()


def test_a_second_study_needs_no_kits_and_no_new_nodes(
    office: Office, holds: Holds
) -> None:
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
    submit_and_attach(office, holds, other)
    for name in NAMES:
        log = office.node_log(name)
        assert log.count(WARM) == warm[name] + (name != "north")
        assert (COLD in log) == (name == "north")
    assert WARM in (office.folder / "coordinator.log").read_text()
    target = office.files.coordinator / "fetched.json"
    fetched = office.run("study", "fetch", other, "--out", target)
    assert fetched.exit_code == 0, fetched.output
    result = Result.from_json(target)
    assert result.feature_names == ("x0", "x2", "x3", "x4")
    digest = read_study(other).digest
    for name in NAMES:
        there = office.files.root / name / "studies" / f"{digest}.result.json"
        assert are_equal(Result.from_json(there), result)
    # The first study has kept its own result.
    assert office.study("fetch", "--out", target).end().exit_code == 0
    assert len(Result.from_json(target).feature_names) == 6


def test_stewards_have_been_told_everything(office: Office) -> None:
    """Their terminals used to say "Joined" through round, release and result."""
    sums = (("example", "means"), ("example", "moments"), ("second", "moments"))
    for name in ("east", "north"):
        terminal = office.joined[name]
        for study in ("example", "second"):
            terminal.wait_for(f"{study}: the result has come")
        lines = terminal.said().splitlines()
        for study, what in sums:
            own = [line for line in lines if f"{study}, round " in line]
            for words in (
                f"masked numbers of {what} leave, to be added over {', '.join(NAMES)}",
                f"this site agrees to open the sum of {what} over {', '.join(NAMES)}",
            ):
                assert any(words in line for line in own), terminal.said()


def test_logs_of_nodes_are_collected_without_values_and_paths(office: Office) -> None:
    secrets = [str(office.files.root), *map("{:.4f}".format, office.files.rows["x0"])]
    for words, names in (
        (("study", office.files.study_file), {"coordinator.log", "journal.jsonl"}),
        (("site", office.sites["west"]), {"node.log", "site.log"}),
    ):
        target = office.logs / f"{words[0]}.zip"
        done = office.run(words[0], "logs", words[1], "--out", target)
        assert done.exit_code == 0, done.output
        with zipfile.ZipFile(target) as archive:
            assert names <= set(archive.namelist())
            texts = {one: archive.read(one).decode() for one in names}
        assert not [one for one in secrets if one in "".join(texts.values())]
        assert "secure." in "".join(texts.values())


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


def more_patients(office: Office) -> int:
    """Add patients of another year to a site's file, and return how many."""
    rows = simulate_rows(seed=9)
    new = rows[rows["site"] == "north"].drop(columns="site")
    file = office.files.root / "north" / "rows.csv"
    new.to_csv(file, mode="a", header=False, index=False)
    return len(new)


def test_a_new_hospital_and_new_patients_come_later(office: Office) -> None:
    """As docs/operations/growing.md says, with the same kits and the same rules."""
    files, up = office.files, new_hospital(office)
    n_new = more_patients(office)
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
    assert result.n_rows == len(files.rows) + n_new + own


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
