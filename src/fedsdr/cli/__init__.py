"""The command line: ``demo``, ``fit``, ``report``, ``keygen``, ``study`` and more.

Commands import numerical modules inside their functions, so that ``--help`` and the
message about a mistyped option appear at once.
"""

from typing import Annotated

import typer

from fedsdr.cli import demo, fit, keygen, report, reproduce, schema_command
from fedsdr.cli.site_commands import app as site
from fedsdr.cli.study_commands import study_app

__all__ = ["app", "main"]

app = typer.Typer(
    name="fedsdr",
    help="Find the few variables and directions that carry what x says about y.",
    no_args_is_help=True,
    add_completion=False,
    # Tracebacks of rich can show local variables, which may hold rows of patients.
    pretty_exceptions_enable=False,
)
app.command()(demo.demo)
app.command()(fit.fit)
app.command()(schema_command.schema)
app.command()(report.report)
app.command()(keygen.keygen)
app.command()(reproduce.reproduce)
app.add_typer(study_app, name="study")
app.add_typer(site, name="site")


def _show_version(wanted: bool) -> None:  # noqa: FBT001 - typer calls it so
    if wanted:
        from fedsdr import __version__

        typer.echo(f"fedsdr {__version__}")
        raise typer.Exit


@app.callback()
def whole_program(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_show_version,
            is_eager=True,
            help="Show the version and exit.",
        ),
    ] = False,
) -> None:
    """Find the few variables and directions that carry what x says about y."""


def main() -> None:
    """Run the command line."""
    app(prog_name="fedsdr")
