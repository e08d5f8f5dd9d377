"""A site that is killed in every round of a study, and a study that goes on."""

import re
from pathlib import Path

import pytest

pytest.importorskip(
    "nvflare",
    reason="the extra fedsdr[federation] is not installed",
    exc_type=ImportError,
)

from tests.e2e.chains import SITES, interrupted_study
from tests.e2e.holding import MESSAGES, cut_power, kill_process
from tests.study.consortia import write_toml

pytestmark = [
    pytest.mark.e2e,
    # NVFLARE's own.
    pytest.mark.filterwarnings("ignore:ssl_context is deprecated:DeprecationWarning"),
]

# When "after", the site has done what was asked, and its answer does not leave. NVFLARE
# ends a job at once when one of its processes dies, while of a node that lost its power
# only the silence is noticed.
KILLS = (
    ("secure.agree", "before", "process"),
    ("secure.keys", "before", "process"),
    ("secure.shares", "before", "process"),
    ("secure.masked", "before", "power"),
    ("secure.masked", "after", "process"),
    ("secure.confirm", "after", "power"),
    ("secure.unmask", "after", "process"),
)


def test_site_is_killed_in_every_round(tmp_path: Path) -> None:
    assert {message for message, *_ in KILLS} == {*MESSAGES} - {"secure.result"}
    with interrupted_study(tmp_path) as study:
        # Nobody is killed yet, but one site has agreed to something else.
        files = study.files
        other = {**files.study, "purpose": "something else"}
        write_toml(files.root / "west" / "study.toml", other)
        done = study.attempt().end()
        assert done.exit_code == 1
        assert "west: the study's terms differ from those that the site" in done.stderr
        files.write_study()

        for message, moment, what in KILLS:
            study.holds.at("west", message, moment)
            command = study.attempt()
            number = study.holds.wait()
            study.holds.nowhere()
            if what == "process":
                kill_process(number)
                # Others may not have answered either.
                problem = rf"before (\w+, )*west had answered to '{message}'"
            else:
                cut_power(study.nodes, "west")
                problem = f"no answer to '{message}' from west: no answer in time"
            done = command.end()
            assert done.exit_code == 1
            assert re.search(problem, done.stderr)
            assert "fedsdr study resume" in done.stdout
            assert study.has_results() == set()
            study.check_ledgers()
            if what == "power":
                study.start_again("west")
            study.wait_until_idle()

        # The result is there, and stays, when a site does not live to hear it.
        study.holds.at("west", "secure.result", "before")
        command = study.attempt()
        study.holds.wait()
        study.holds.nowhere()
        cut_power(study.nodes, "west")
        assert command.end().exit_code == 0
        assert study.has_results() == {*SITES, "coordinator"} - {"west"}
        released = study.released()
        study.start_again("west")
        assert study.attempt().end().exit_code == 0
        study.check_ledgers()
        study.check_result()
        assert study.released() == released
