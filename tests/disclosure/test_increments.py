"""Rows that are added later, and sites that join: what differences may show."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from tests.disclosure.examples import SITES, facts, release
from tests.study.consortia import Files, simulate_rows

from fedsdr.disclosure import Ledger, Policy, ReleaseGate
from fedsdr.disclosure.facts import Increment
from fedsdr.disclosure.increments import known_lengths
from fedsdr.exceptions import InputError
from fedsdr.protocols import IncompleteError
from fedsdr.study import conduct, read_study
from fedsdr.study.dry_run import dry_run

OTHER = "77" * 32
GROWN = {"age": "a9", "sex": "b9"}


def after_study(**changes) -> Ledger:
    ledger = Ledger()
    about = facts()
    ledger.append(
        replace(release(**changes), round="r0"), "f0", columns=about.prints,
        target=about.target, rows=100,
    )  # fmt: skip
    return ledger


def broken(ledger: Ledger, about, asked, policy=None, site="") -> list[str]:
    gate = ReleaseGate(policy or Policy(), ledger, site=site)
    return [one.rule for one in gate.review(asked, about)]


def grown(n_new: int, prints=None, length: int = 100):
    """Return facts about rows of which the first ones are those of the ledger."""
    before = {**facts().prints, **facts().target} if prints is None else prints
    return facts(
        prints=GROWN,
        target={"y": "c9"},
        n_read=length + n_new,
        increments={length: Increment(before, n_new)},
    )


# --- the rule -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_new", "policy", "rules"),
    [
        (50, Policy(), []),
        (49, Policy(), ["INCREMENTS"]),
        (1, Policy(), ["INCREMENTS"]),
        (0, Policy(), ["INCREMENTS"]),
        (20, Policy(min_increment_rows=20), ["INCREMENTS"]),
        (20, Policy(min_increment_rows=20, min_rows=10), []),
        (60, Policy(min_rows=80), ["INCREMENTS"]),
        (1, Policy(same_rows_only=False), []),
    ],
)
def test_enough_rows_are_added(n_new, policy, rules) -> None:
    asked = release(study=OTHER)
    assert broken(after_study(), grown(n_new), asked, policy) == rules


def test_the_rows_of_then_must_be_the_same() -> None:
    asked = release(study=OTHER)
    changed = {"age": "other", "sex": "b2", "y": "c3"}
    assert broken(after_study(), grown(60, changed), asked) == ["CHANGED"]
    # As many rows as nobody has asked for before.
    assert broken(after_study(), grown(60, length=90), asked) == ["CHANGED"]


def test_no_row_is_added_within_a_study() -> None:
    assert broken(after_study(), grown(60), release()) == ["CHANGED"]


def test_every_earlier_study_counts() -> None:
    ledger = after_study()
    ledger.append(
        replace(release(study="88" * 32), round="r1"), "f1",
        columns={"age": "a5", "sex": "b5"}, target={"y": "c5"}, rows=150,
    )  # fmt: skip
    steps = grown(80)
    near = Increment({"age": "a5", "sex": "b5", "y": "c5"}, 30)
    steps = replace(steps, increments={**steps.increments, 150: near})
    assert broken(ledger, steps, release(study=OTHER)) == ["INCREMENTS"]
    assert known_lengths(ledger.entries(), {"age"}) == (100, 150)
    assert known_lengths(ledger.entries(), {"weight"}) == ()


# --- from files -----------------------------------------------------------------------


def studied(tmp_path, **changes) -> Files:
    """Write a study and run it."""
    files = Files(tmp_path, simulate_rows(), model={"refit": "pooled"}, **changes)
    files.run()
    return files


def add_rows(files: Files, count: int, *, first: bool = False) -> None:
    """Add rows at one site, and write another study for all."""
    own = files.rows[files.rows["site"] == "north"].drop(columns="site")
    rng = np.random.default_rng(5)
    new = own.sample(count, replace=True, random_state=5)
    new = new + rng.normal(size=new.shape)
    new["y"] = new["y"].abs()
    parts = [new, own] if first else [own, new]
    files.write_rows("north", "csv", pd.concat(parts, ignore_index=True))
    files.write_study(name="second")


@pytest.mark.parametrize("count", [1, 20, 49])
def test_a_few_new_patients_have_to_wait(tmp_path, count) -> None:
    files = studied(tmp_path)
    add_rows(files, count)
    found = dry_run(files.site_file("north"))
    assert "INCREMENTS" in [one.rule for one in found.violations]
    with pytest.raises(IncompleteError):
        conduct(files.study_file, files.connect(), tmp_path / "second")
    log = (files.root / "north" / "site.log").read_text()
    assert f"{count} rows were added, whose sum the difference shows" in log
    assert "wait until there are more" in log


def test_a_year_of_patients_needs_no_weaker_rule(tmp_path) -> None:
    files = studied(tmp_path)
    before = len(files.rows)
    add_rows(files, 60)
    found = dry_run(files.site_file("north"))
    assert found.ready, found.violations
    (line,) = found.differences
    assert line.startswith("60 rows came after those of study ")
    result = conduct(files.study_file, files.connect(), tmp_path / "second")
    assert result.n_rows == before + 60
    rows = {one.study[:8]: one.rows for one in files.ledger("north").entries()}
    n_own = int((files.rows["site"] == "north").sum())
    assert list(rows.values()) == [n_own, n_own + 60]


def test_new_rows_before_the_old_ones_are_a_change(tmp_path) -> None:
    files = studied(tmp_path)
    add_rows(files, 60, first=True)
    found = dry_run(files.site_file("north"))
    assert [one.rule for one in found.violations] == ["CHANGED"]


def test_a_rare_level_among_the_new_rows_is_seen(tmp_path) -> None:
    """Enough rows of the level in all, one of them among the new ones."""
    rows = simulate_rows()
    rows["x5"] = (np.arange(len(rows)) % 3 == 0).astype(float)
    files = Files(tmp_path, rows, model={"refit": "pooled"})
    files.run()
    add_rows(files, 60)
    path = files.root / "north" / "rows.csv"
    table = pd.read_csv(path)
    table.loc[table.index[-60:], "x5"] = 0.0
    table.loc[table.index[-1], "x5"] = 1.0
    table.to_csv(path, index=False)
    (found,) = dry_run(files.site_file("north")).violations
    assert found.rule == "INCREMENTS"
    assert "x5 (1)" in found.explanation
    assert found.explanation.endswith("(LEVELS)")


# --- a site that joins ----------------------------------------------------------------

FEWER, NEW = SITES[:3], SITES[3]


@pytest.mark.parametrize(
    ("joining", "rules"),
    [((), ["SITES"]), (("east",), ["SITES"]), ((NEW,), []), ((NEW, "east"), [])],
)
def test_others_let_a_new_site_in_that_the_study_names(joining, rules) -> None:
    asked = release(study=OTHER, joining=joining)
    ledger = after_study(sites=FEWER)
    assert broken(ledger, facts(), asked, site="south") == rules


def test_nobody_leaves_by_joining() -> None:
    asked = release(study=OTHER, sites=(*FEWER[1:], NEW), joining=(NEW,))
    assert broken(after_study(sites=FEWER), facts(), asked, site="south") == ["SITES"]
    # Within a study all sums are over the same sites.
    asked = release(joining=(NEW,))
    assert broken(after_study(sites=FEWER), facts(), asked, site="south") == ["SITES"]


def test_the_new_site_has_to_allow_it() -> None:
    asked = release(study=OTHER, joining=(NEW,))
    assert broken(Ledger(), facts(), asked, site=NEW) == ["JOINING"]
    allowed = Policy(seen_alone=True)
    assert broken(Ledger(), facts(), asked, allowed, site=NEW) == []
    assert broken(Ledger(), facts(), release(study=OTHER), site=NEW) == []


def test_a_study_says_who_joins(tmp_path) -> None:
    files = Files(tmp_path, simulate_rows(), model={"refit": "pooled"})
    before = read_study(files.study_file).digest
    roster = files.study["sites"]["roster"]
    files.write_study(sites={"roster": roster, "joining": ["west"]})
    assert read_study(files.study_file).digest != before
    assert [one.rule for one in dry_run(files.site_file("west")).violations] == [
        "JOINING"
    ]
    assert dry_run(files.site_file("east")).ready
    files.write_study(sites={"roster": roster, "joining": ["up"]})
    with pytest.raises(InputError, match="the roster has no site 'up'"):
        read_study(files.study_file)
