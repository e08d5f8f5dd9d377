"""``fedsdr study``: the commands for the coordinator of a study."""

import csv
import json as json_format
from pathlib import Path
from typing import Annotated, Any

import typer

from fedsdr.cli import study_run, study_sites, study_submit, tables
from fedsdr.cli.log_bundles import study_logs
from fedsdr.cli.screen import Screen, check_writable, write_new
from fedsdr.cli.study_attach import attach
from fedsdr.cli.study_bundle import bundle
from fedsdr.cli.study_facts import describe_study, study_facts
from fedsdr.cli.study_simulate import simulate
from fedsdr.cli.study_watch import watch_study
from fedsdr.extras import require

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
        found = describe_study(study, rows)
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


def _show(screen: Screen, found: dict[str, Any], file: Path) -> None:
    screen.out.print(tables.facts(study_facts(found)))
    screen.out.print()
    screen.show_digest("digest", found["digest"])
    screen.say(f"{file} can be used. Send it to all sites, where this same command has")
    screen.say("to print the same digest. To rehearse it, and to run it:")
    screen.say(f"    fedsdr study simulate {file} SITE.toml...")
    screen.say(f"    fedsdr study provision {file}")
