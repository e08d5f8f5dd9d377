"""``fedsdr report``: one page about a result, for people who did not make it."""

from pathlib import Path
from typing import Annotated

import typer

from fedsdr.cli.screen import Screen, check_writable, keep_former


def report(
    *,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="RESULT.json",
            help="Result that 'fedsdr fit' or a study wrote.",
            show_default=False,
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="File for the page.")] = Path(
        "report.html"
    ),
    title: Annotated[
        str | None,
        typer.Option(help="Heading of the page.", show_default=False),
    ] = None,
) -> None:
    """Write one page about a result: what was found, how sure, and how it was made.

    The page is complete in itself, has no script and loads nothing from anywhere. It
    holds no rows.
    """
    screen = Screen()
    with screen.polite():
        check_writable(out)
        with screen.stage(f"Drawing {file.name}") as stage:
            from fedsdr.reporting import make_report
            from fedsdr.result import Result

            text = make_report(Result.from_json(file), title)
            stage.done = f"Drew {file.name}"
        former = keep_former(out)
        if former is not None:
            screen.note(f"{out} existed, and was kept as {former}")
        from fedsdr.files import explained, write_atomically

        with explained(f"cannot write {out}"):
            write_atomically(out, text)
    screen.say(
        f"Wrote {out} ({len(text.encode()) / 1000:.0f} kB). Open it in a browser."
    )
