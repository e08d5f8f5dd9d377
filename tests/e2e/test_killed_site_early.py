"""A site that is killed before its masked numbers have left, in every round."""

from pathlib import Path

import pytest

pytest.importorskip(
    "nvflare",
    reason="the extra fedsdr[federation] is not installed",
    exc_type=ImportError,
)

from tests.e2e.chains import interrupted_study
from tests.study.consortia import write_toml

pytestmark = [
    pytest.mark.e2e,
    # NVFLARE's own.
    pytest.mark.filterwarnings("ignore:ssl_context is deprecated:DeprecationWarning"),
]


def test_site_is_killed_before_anything_has_left(tmp_path: Path) -> None:
    with interrupted_study(tmp_path) as study:
        # Nobody is killed yet, but one site has agreed to something else.
        files = study.files
        other = {**files.study, "purpose": "something else"}
        write_toml(files.root / "west" / "study.toml", other)
        done = study.attempt().end()
        assert done.exit_code == 4
        assert "west refuses, since the study.toml that it has agreed" in done.stderr
        files.write_study()

        study.lose_west("secure.agree", "before", "process")
        study.lose_west("secure.keys", "before", "process")
        study.lose_west("secure.shares", "before", "process")
        study.lose_west("secure.masked", "before", "power")
        assert study.attempt().end().exit_code == 0
        study.check_ledgers()
        study.check_result()
