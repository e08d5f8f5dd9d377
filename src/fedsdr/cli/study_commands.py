"""``fedsdr study``: the commands for the coordinator of a study."""

import csv
import json as json_format
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fedsdr.cli import study_run, study_sites, study_submit, tables
from fedsdr.cli.log_bundles import study_logs
from fedsdr.cli.screen import Screen, check_writable, write_new
from fedsdr.cli.study_attach import attach
from fedsdr.cli.study_bundle import bundle
from fedsdr.cli.study_simulate import simulate
from fedsdr.cli.study_watch import watch_study
from fedsdr.extras import require
from fedsdr.spoken import one_line

if TYPE_CHECKING:
    from fedsdr.study import StudyFile

study_app = typer.Typer(no_args_is_help=True)


@study_app.callback()
def study() -> None:
    """Prepare and run a study between sites."""


@study_app.command()
def init(
    *,
    name: Annotated[str, typer.Option(help="Name of the study.")] = "my-study",
    target: Annotated[str, typer.Option(help="Column of the response.")] = "y",
    purpose: Annotated[
        str | None,
        typer.Option(
            help="What the study is for, in words that a data steward can decide on.",
            show_default=False,
        ),
    ] = None,
    from_csv: Annotated[
        Path | None,
        typer.Option(
            "--from-csv",
            help="List the columns of this CSV file; only its first line is read.",
            show_default=False,
        ),
    ] = None,
    schema: Annotated[
        Path | None,
        typer.Option(
            help="Take columns and response from this file of fedsdr schema.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option(help="File to write; it must not exist yet.")
    ] = Path("study.toml"),
    json: Annotated[
        bool, typer.Option("--json", help="Print JSON, and only that.")
    ] = False,
) -> None:
    """Write a commented study file to be completed."""
    screen = Screen(quiet=json)
    with screen.polite():
        require("secure", "a study")
        from fedsdr.exceptions import InputError
        from fedsdr.preparation.schema_file import read_schema
        from fedsdr.study.templates import PURPOSE, study_template

        check_writable(out)
        if schema is not None and from_csv is not None:
            raise InputError("give --schema or --from-csv: both name the columns")
        found = None if schema is None else read_schema(schema)
        columns = [] if from_csv is None else _read_header(from_csv, target)
        if found is not None:
            columns = [plan.name for plan in found.columns]
        text = study_template(name, target, columns, purpose or PURPOSE, found)
        write_new(out, text)
    if json:
        typer.echo(json_format.dumps({"file": str(out), "columns": columns}))
        return
    screen.say(f"Wrote {out}. Complete it: purpose, columns, and at its end the lines")
    screen.say("of the sites (cat */identity.pub, say). Then:")
    screen.say(f"    fedsdr study check {out}")


@study_app.command()
def check(
    *,
    file: Annotated[
        Path,
        typer.Argument(metavar="STUDY.toml", help="Study file.", show_default=False),
    ],
    rows: Annotated[
        int,
        typer.Option(
            min=1,
            help="Rows of all sites together, for the cost of [privacy].",
        ),
    ] = 10_000,
    statement: Annotated[
        Path | None,
        typer.Option(
            help="Write a statement for an ethics board: a new .html or .md file.",
            show_default=False,
        ),
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print JSON, and only that.")
    ] = False,
) -> None:
    """Check a study file, and list what is computed and which party sees what.

    The exit code is 0 for a file that can be used, and 2 for one that cannot.
    """
    screen = Screen(quiet=json)
    with screen.polite():
        require("secure", "a study")
        from fedsdr.study import read_study
        from fedsdr.study.templates import PURPOSE

        study = read_study(file)
        found = _describe(study, rows)
        if statement is not None:
            from fedsdr.study.statement import write_statement

            check_writable(statement)
            write_new(statement, write_statement(study, statement))
        if study.purpose == PURPOSE:
            screen.warn(f"{file}: purpose: not written yet; stewards decide on it")
    if json:
        typer.echo(json_format.dumps(found))
    else:
        _show(screen, found, file)


study_app.command()(simulate)
study_app.command()(study_run.provision)
study_app.command()(study_sites.sign)
study_app.command()(study_sites.revoke)
study_app.command()(study_run.start)
study_app.command()(study_submit.submit)
study_app.command()(study_run.status)
study_app.command()(study_submit.resume)
study_app.command()(study_run.void)
study_app.command()(study_run.fetch)
study_app.command()(attach)
study_app.command("watch")(watch_study)
study_app.command()(bundle)
study_app.command("logs")(study_logs)


def _read_header(path: Path, target: str) -> list[str]:
    from fedsdr.exceptions import InputError

    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            names = next(csv.reader(stream), [])
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, csv.Error):
        raise InputError(f"{path} is not a CSV file in UTF-8") from None
    stripped = [name.strip() for name in names]
    columns = [name for name in stripped if name and name != target]
    if target not in stripped:
        raise InputError(f"{path} has no column '{target}': name the one with --target")
    if len(set(columns)) < len(columns):
        raise InputError(f"{path} has two columns of the same name")
    return columns


def _describe(study: "StudyFile", n_rows: int) -> dict[str, Any]:
    from fedsdr.study import outlook
    from fedsdr.study.privacy_cost import describe_cost, study_cost

    agreed = study.to_study()
    leaving = outlook.leaves_site(study)
    kinds = [column.type for column in study.columns.values()]
    names = (*study.columns, study.target.name)
    private: dict[str, Any] = {}
    if study.privacy is not None:
        cost = study_cost(study, n_rows)
        private = {"privacy": {**study.content()["privacy"], **asdict(cost)}}
        private["privacy_costs"] = describe_cost(cost)
    return {
        "name": study.name,
        "purpose": study.purpose,
        "digest": agreed.digest,
        "columns": {kind: kinds.count(kind) for kind in ("number", "category")},
        "features": list(agreed.columns),
        "target": {"name": study.target.name, "type": study.target.type},
        "missing": {name: study.missing_in(name) for name in names},
        "protocol": study.protocol,
        "sites": list(agreed.sites),
        "minimum": agreed.agreed_threshold,
        "timeout": study.timeout,
        "model": study.content()["model"],
        "sums": outlook.statistics(study),
        "rounds": outlook.count_rounds(study),
        "max_profiles": agreed.terms.max_profiles,
        "bytes_from_each_site": sum(one.n_bytes for one in leaving),
        "coordinator_sees": outlook.seen_by_coordinator(study),
        "sites_see": outlook.seen_by_sites(study),
        **private,
    }


def _show(screen: Screen, found: dict[str, Any], file: Path) -> None:
    counts = found["columns"]
    sums = ", ".join(f"{name} ({n} numbers)" for name, n in found["sums"].items())
    kinds = (
        f"{counts['number']} of numbers, {counts['category']} of categories; "
        f"{len(found['features'])} with indicators"
    )
    rules = Counter(found["missing"].values())
    # The directions decide how many there are.
    more = f" with one profile of at most {n}" if (n := found["max_profiles"]) else ""
    rows = [
        ("study", found["name"]),
        ("purpose", one_line(found["purpose"])),
        ("columns", kinds),
        ("target", f"{found['target']['name']} ({found['target']['type']})"),
        ("missing", ", ".join(f"{rule} in {n}" for rule, n in rules.items())),
        ("sites", f"{', '.join(found['sites'])}; {found['minimum']} must stay"),
        ("sums", sums),
        ("rounds", f"{found['rounds']}{more}"),
        ("bytes", f"{found['bytes_from_each_site']} from each site{more}"),
        *_listed("privacy costs", found.get("privacy_costs", [])),
        *_listed("coordinator sees", found["coordinator_sees"]),
        *_listed("each site sees", found["sites_see"]),
    ]
    screen.out.print(tables.facts(rows))
    screen.out.print()
    screen.show_digest("digest", found["digest"])
    screen.say(f"{file} can be used. Send it to all sites, where this same command has")
    screen.say("to print the same digest. To rehearse it, and to run it:")
    screen.say(f"    fedsdr study simulate {file} SITE.toml...")
    screen.say(f"    fedsdr study provision {file}")


def _listed(title: str, lines: list[str]) -> list[tuple[str, str]]:
    return [("" if i else title, line) for i, line in enumerate(lines)]
