"""``fedsdr site logs`` and ``fedsdr study logs``: a file to show to somebody else."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedsdr.cli.nodes import FolderOption, SiteArgument, StudyArgument, find_place
from fedsdr.cli.screen import Screen, check_writable
from fedsdr.extras import require

if TYPE_CHECKING:
    from fedsdr.study.log_bundle import LogBundle

OutOption = Annotated[
    Path, typer.Option(help="Zip file to write; it must not exist yet.")
]


def site_logs(*, file: SiteArgument, out: OutOption = Path("site-logs.zip")) -> None:
    """Collect the logs of a site in a zip file, for whoever helps to find a fault.

    Kept are times, messages, codes, types of errors and their places in the program,
    and versions. Left out are values, counts of rows, what errors say, keys and paths.
    Look into the file before you send it.
    """
    screen = Screen()
    with screen.polite():
        require("secure", "a study")
        from fedsdr.study import read_site
        from fedsdr.study.log_bundle import bundle_site
        from fedsdr.study.site_health import examine_site

        check_writable(out)
        site = read_site(file)
        made = bundle_site(site, examine_site(site))
        made.write(out)
    _show(screen, made, out)


def study_logs(
    *,
    file: StudyArgument,
    folder: FolderOption = None,
    out: OutOption = Path("study-logs.zip"),
) -> None:
    """Collect the logs of the coordinator in a zip file.

    Kept are the messages of the study, who answered and with which code, times, types
    of errors and versions. Left out are sums, what errors say, keys and paths.
    """
    screen = Screen()
    with screen.polite():
        require("federation", "running nodes, here and at every site,")
        from fedsdr.study import read_study
        from fedsdr.study.conducting import JOURNAL
        from fedsdr.study.log_bundle import bundle_study
        from fedsdr.transports.nvflare.progress import read_progress

        check_writable(out)
        study = read_study(file)
        place = find_place(file, folder)
        about = {"name": study.name, "digest": study.digest}
        progress = read_progress(place.state)
        made = bundle_study(about, place.log, place.state / JOURNAL, progress)
        made.write(out)
    _show(screen, made, out)


def _show(screen: Screen, made: "LogBundle", out: Path) -> None:
    screen.say(f"Wrote {out}. Look into it before you send it:")
    for name, text in made.files.items():
        screen.say(f"    {name}, {len(text.splitlines())} lines")
