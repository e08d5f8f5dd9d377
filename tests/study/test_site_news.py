"""The steward's terminal: what leaves, what is refused, and the result."""

import pytest
from tests.study.consortia import FILLED, Files, simulate_rows

from fedsdr.protocols import IncompleteError
from fedsdr.study import read_site
from fedsdr.study.site_news import SiteNews


@pytest.fixture
def files(tmp_path) -> Files:
    rows = simulate_rows()
    rows.loc[::5, "x1"] = float("nan")
    columns = {f"x{j}": {"type": "number"} for j in range(6)} | {"x1": FILLED}
    return Files(tmp_path, rows, columns=columns, model={"refit": "pooled"})


def test_round_release_and_result_are_said_once(files: Files) -> None:
    news = SiteNews(read_site(files.site_file("north")))
    assert news.look() == []
    result = files.run()
    lines = news.look()
    sites = "east, north, south, west"
    assert sum(f"masked numbers of moments leave, to be added over {sites}" in one
               for one in lines) == 1  # fmt: skip
    assert any("this site agrees to open the sum of moments" in one for one in lines)
    assert any("has opened the sum of" in one for one in lines)
    assert all(one.startswith("example, round ") for one in lines[:-1])
    assert lines[-1].startswith(f"example: the result has come, {result.n_directions} ")
    assert str(files.root / "north" / "result.json") in lines[-1]
    assert news.look() == []
    # Whoever joins later is told what is new only.
    assert SiteNews(read_site(files.site_file("north"))).look() == []


def test_a_refusal_is_said_without_its_reason(files: Files) -> None:
    table = read_site(files.site_file("north")).data
    files.write_site("north", data=table, policy={"min_rows": 5000})
    news = SiteNews(read_site(files.site_file("north")))
    with pytest.raises(IncompleteError):
        files.run()
    lines = news.look()
    code = "secure.agree was answered with the code DISCLOSURE: see site.log"
    assert code in lines
    assert not any("5000" in one for one in lines)
