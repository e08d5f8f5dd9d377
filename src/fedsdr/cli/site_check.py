"""``fedsdr site check``: check a site before a study."""

import json as json_format
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from fedsdr.cli import tables
from fedsdr.cli.nodes import SiteArgument
from fedsdr.cli.screen import FAILED, Screen
from fedsdr.cli.site_peers import partners_table
from fedsdr.cli.study_facts import describe_study, study_facts
from fedsdr.extras import require
from fedsdr.spoken import key_words, one_line

if TYPE_CHECKING:
    from fedsdr.study import StudyFile
    from fedsdr.study.dry_run import DryRun
    from fedsdr.study.level_counts import LevelCounts
    from fedsdr.study.value_summary import ValueSummary

#: Number of columns without problems that are shown; --json has all.
SHOWN = 20


def check(
    *,
    file: SiteArgument,
    study: Annotated[
        Path | None,
        typer.Argument(
            metavar="[STUDY.toml]",
            help="Study file from the coordinator; the one that the site file names if "
            "not given.",
            show_default=False,
        ),
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print JSON, and only that.")
    ] = False,
) -> None:
    """Check a site before a study: nothing leaves, nothing is written.

    Says what the study computes and who sees what, compares the data with it, checks
    every rule, and lists partners and what would leave. The exit code is 0 if the site
    could take part, once new partners are accepted, 1 if it would refuse, and 2 if a
    file is wrong.
    """
    screen = Screen(quiet=json)
    with screen.polite():
        require("secure", "a study")
        with screen.stage(f"Reading {file.name}") as stage:
            from fedsdr.study.dry_run import dry_run

            run = dry_run(file, study)
            stage.done = f"Read {run.profile.n_rows} rows"
        found = _describe(run)
    if json:
        typer.echo(json_format.dumps(found))
    else:
        _show(screen, run, found, file, study)
    if not run.ready:
        raise typer.Exit(FAILED)


def _describe(run: "DryRun") -> dict[str, Any]:
    from fedsdr.study.dry_run import RULES
    from fedsdr.study.outlook import leaves_site

    profile, study = run.profile, run.study
    broken = {one.rule: one.explanation for one in run.violations or ()}
    variables = {**study.columns, study.target.name: study.target}
    return {
        "site": run.site.name,
        "study": {
            "name": study.name,
            "purpose": study.purpose,
            "digest": study.digest,
        },
        "rows": {
            "read": profile.n_rows,
            "dropped": profile.n_dropped,
            "used": profile.n_kept,
        },
        "columns": {
            name: {
                "type": variables[name].type,
                "on_missing": study.missing_in(name),
                **counts,
            }
            for name, counts in profile.counts.items()
        },
        "partners": [
            {"name": one.name, "key": one.key, "standing": one.standing}
            for one in run.partners
        ],
        "differences": list(run.differences),
        "problems": list(run.problems),
        "rules": None
        if run.violations is None
        else [
            {
                "rule": rule,
                "passed": rule not in broken,
                "explanation": broken.get(rule, words),
            }
            for rule, words in RULES.items()
        ],
        "leaves": [
            {name: getattr(one, name) for name in one.__slots__}
            for one in leaves_site(study)
        ],
        "max_profiles": study.to_study().terms.max_profiles,
        "ready": run.ready,
    }


def show_study(screen: Screen, site: str, study: "StudyFile") -> None:
    """Print what the steward decides on, and the digest to compare, also in words."""
    screen.say(f"site {site}, study {study.name}: {one_line(study.purpose)}")
    screen.show_digest("digest", study.digest)


def _show(
    screen: Screen,
    run: "DryRun",
    found: dict[str, Any],
    file: Path,
    study: Path | None,
) -> None:
    rows = found["rows"]
    show_study(screen, found["site"], run.study)
    n_sites = len(run.study.sites.roster)
    about = study_facts(describe_study(run.study, max(1, rows["used"]) * n_sites))
    # Name and purpose are in the first line.
    screen.out.print(tables.facts(about[2:]))
    screen.say(
        f"{rows['read']} rows, {rows['dropped']} dropped for missing values, "
        f"{rows['used']} used"
    )
    screen.out.print(_columns(found["columns"]))
    prepared = _steps(found["columns"])
    if prepared.row_count:
        screen.say("What the agreed preparation changed, in numbers of values:")
        screen.out.print(prepared)
    if run.summaries:
        screen.say("Values as they enter the sums, for your eyes only:")
        screen.out.print(_values(run.summaries))
    if run.levels:
        screen.say("Rows of each level, as read and in the sums, for your eyes only:")
        screen.out.print(_levels(run.levels))
    for problem in found["problems"]:
        screen.complain(problem)
    for line in run.differences:
        screen.say(line)
    if found["rules"] is not None:
        screen.out.print(_rules(found["rules"]))
    if found["ready"]:
        total = sum(one["n_bytes"] * one["times"] for one in found["leaves"])
        most = found["max_profiles"]
        extent = f"with one profile, of at most {most}" if most else "in all"
        screen.say(f"What would leave, {total} bytes {extent}:")
        screen.out.print(_leaves(found["leaves"]))
        _show_next(screen, run, file, study)
    else:
        shown = shlex.join(map(str, (file, *(() if study is None else (study,)))))
        screen.say(f"The site would refuse. Correct the problems above, or {file}, and")
        screen.say(f"check again: fedsdr site check {shown}")


def _show_next(screen: Screen, run: "DryRun", file: Path, study: Path | None) -> None:
    """Show the partners to compare, and the commands that follow."""
    shown = shlex.quote(str(file))
    asked = shlex.quote(str(study or file.parent / run.site.study))
    screen.out.print(partners_table(run.partners))
    own = run.study.sites.roster[run.site.name]
    screen.say(f"This site, {run.site.name}, is {key_words(own)}")
    screen.say("The site could take part; nothing has left it. If the digest is that")
    screen.say("of the other stewards, and they read these words of their keys to you:")
    more = " --partners" if run.undecided else ""
    screen.say(f"    fedsdr site accept {shown} {asked}{more}")


def _columns(columns: dict[str, dict[str, Any]]) -> Table:
    table = _table("column", "type", "missing", "on missing", "refused")
    bad = {
        name: sum(n for kind, n in one.items() if kind in _kinds())
        for name, one in columns.items()
    }
    shown = [n for i, n in enumerate(columns) if i < SHOWN or bad[n]]
    for name in shown:
        one = columns[name]
        counts = (str(one["missing"]), one["on_missing"], str(bad[name]))
        table.add_row(*map(Text, (name, one["type"], *counts)))
    if len(shown) < len(columns):
        table.add_row(Text(f"... and {len(columns) - len(shown)} more"))
    return table


def _steps(columns: dict[str, dict[str, Any]]) -> Table:
    """Count values before and after each step of the columns that have one."""
    from fedsdr.study.preprocessing import STEPS

    table = _table("column", *STEPS, "missing after")
    for name, one in columns.items():
        if any(one[step] for step in STEPS[1:]):
            counts = (*(one[step] for step in STEPS), one["missing"])
            table.add_row(Text(name), *(Text(str(count)) for count in counts))
    return table


def _values(summaries: "dict[str, ValueSummary]") -> Table:
    table = _table("column", "lowest", "median", "highest", "agreed range")
    for name, one in list(summaries.items())[:SHOWN]:
        agreed = (
            "" if one.range is None else f"{one.range[0]:.4g} to {one.range[1]:.4g}"
        )
        numbers = (f"{v:.4g}" for v in (one.lowest, one.median, one.highest))
        table.add_row(*map(Text, (name, *numbers, agreed)))
    return table


def _levels(levels: "dict[str, LevelCounts]") -> Table:
    """List levels; an entry that is no agreed level has no rows in the sums."""
    table = _table("column", "level", "as read", "in the sums")
    for name, one in levels.items():
        known = [*one.used, *(entry for entry in one.read if entry not in one.used)]
        for level in known[:SHOWN]:
            read = str(one.read[level]) if one.read else ""
            table.add_row(*map(Text, (name, level, read, str(one.used[level]))))
        if len(known) > SHOWN:
            table.add_row(Text(name), Text(f"... and {len(known) - SHOWN} more"))
    return table


def _kinds() -> set[str]:
    from fedsdr.study.preprocessing import PROBLEMS

    return set(PROBLEMS)


def _rules(rules: list[dict[str, Any]]) -> Table:
    table = _table("rule", "", "")
    for one in rules:
        mark = Text("passes", "green") if one["passed"] else Text("forbids", "bold red")
        table.add_row(Text(one["rule"]), mark, Text(one["explanation"]))
    return table


def _leaves(leaves: list[dict[str, Any]]) -> Table:
    table = _table("sum", "message", "field", "type", "bytes", "read by")
    for one in leaves:
        often = f", up to {one['times']} times" if one["times"] > 1 else ""
        cells = (
            one["statistic"] + often,
            one["message"].removeprefix("secure."),
            one["field"],
            one["kind"],
            str(one["n_bytes"]),
            one["seen_by"],
        )
        table.add_row(*map(Text, cells))
    return table


def _table(*columns: str) -> Table:
    table = Table(box=box.SIMPLE, pad_edge=False, padding=(0, 1, 0, 0))
    for name in columns:
        table.add_column(name, overflow="fold")
    return table
