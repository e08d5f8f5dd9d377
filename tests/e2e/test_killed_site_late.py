"""A site that is killed when its masked numbers have left, in every round."""

from pathlib import Path

import pytest

pytest.importorskip(
    "nvflare",
    reason="the extra fedsdr[federation] is not installed",
    exc_type=ImportError,
)

from tests.e2e.chains import SITES, interrupted_study
from tests.e2e.holding import cut_power

pytestmark = [
    pytest.mark.e2e,
    # NVFLARE's own.
    pytest.mark.filterwarnings("ignore:ssl_context is deprecated:DeprecationWarning"),
]


def test_site_is_killed_after_its_numbers_have_left(tmp_path: Path) -> None:
    with interrupted_study(tmp_path) as study:
        # What was asked has been done, and the answer does not leave.
        study.lose_west("secure.masked", "after", "process")
        study.lose_west("secure.confirm", "after", "power")
        study.lose_west("secure.unmask", "after", "process")

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
