"""Who takes part is true: restarts, second processes, departures, other studies."""

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip(
    "nvflare",
    reason="the extra fedsdr[federation] is not installed",
    exc_type=ImportError,
)

from tests.e2e.holding import Holds, holding
from tests.e2e.offices import Office, count_text, open_office, wait_until
from tests.study.consortia import FILLED, NAMES, Files, simulate_rows, write_toml

from fedsdr.result import Result

pytestmark = [
    pytest.mark.e2e,
    # NVFLARE's own.
    pytest.mark.filterwarnings("ignore:ssl_context is deprecated:DeprecationWarning"),
]


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


def test_another_study_is_refused(office: Office) -> None:
    other = office.files.coordinator / "study2.toml"
    write_toml(other, {**office.files.study, "name": "second", "purpose": "other"})
    done = office.run("study", "submit", other)
    assert done.exit_code == 2
    assert "was started for another study than" in done.stderr
    assert not (office.state / "result.json").exists()


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


def test_the_result_of_another_study_is_not_fetched(office: Office) -> None:
    other = office.files.coordinator / "study2.toml"
    target = office.files.coordinator / "fetched.json"
    done = office.run("study", "fetch", other, "--out", target)
    assert done.exit_code == 2
    assert "is not that of the study" in done.stderr
    assert not target.exists()
    assert office.study("fetch", "--out", target).end().exit_code == 0
    assert target.exists()
