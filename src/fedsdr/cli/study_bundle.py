"""``fedsdr study bundle``: a finished study as a research object."""

from pathlib import Path
from typing import Annotated

import typer

from fedsdr.cli.nodes import FolderOption, StudyArgument, find_place
from fedsdr.cli.screen import Screen, check_writable
from fedsdr.exceptions import InputError
from fedsdr.extras import require


def bundle(
    *,
    file: StudyArgument,
    result: Annotated[
        Path | None,
        typer.Option(
            help="Result file; the coordinator's own if not given.", show_default=False
        ),
    ] = None,
    ledger: Annotated[
        list[Path] | None,
        typer.Option(
            help="Export of a site's ledger, from fedsdr site ledger export; once for "
            "each site.",
            show_default=False,
        ),
    ] = None,
    licence: Annotated[
        str, typer.Option(help="Licence of the bundle, an address or a name.")
    ] = "",
    folder: FolderOption = None,
    out: Annotated[
        Path, typer.Option(help="Zip file to write; it must not exist yet.")
    ] = Path("study-bundle.zip"),
) -> None:
    """Write study, digests, ledger heads, certificate, versions and result as one file.

    The file is an RO-Crate: a zip file whose ro-crate-metadata.json says what
    everything in it is. Ledgers are verified first; only lengths and heads go into it.
    """
    screen = Screen()
    with screen.polite():
        require("evidence", "a research object")
        from fedsdr.study.research_object import write_bundle
        from fedsdr.study.study_file import read_study

        check_writable(out)
        place = find_place(file, folder, made=False)
        found = place.state / "result.json" if result is None else result
        if not found.exists():
            raise InputError(
                f"there is no result {found}: run the study, or name its result with "
                "--result"
            )
        heads = write_bundle(file, found, ledger or [], out, licence)
        absent = sorted(set(read_study(file).sites.roster) - {o.site for o in heads})
    screen.say(f"Wrote {out}, with the ledger heads of {len(heads)} sites.")
    if absent:
        screen.say(f"Without a ledger of {', '.join(absent)}: ask the stewards for")
        screen.say("    fedsdr site ledger export site.toml --out NAME.jsonl")
        screen.say("and add each with --ledger.")
