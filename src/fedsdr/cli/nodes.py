"""Shared parts of the commands that run nodes: options, folders, errors."""

import shlex
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedsdr.cli.screen import FAILED, Screen
from fedsdr.exceptions import InputError
from fedsdr.extras import require
from fedsdr.files import explained, is_locked, locked, write_atomically

if TYPE_CHECKING:
    from fedsdr.transports.nvflare.provision import Kits

StudyArgument = Annotated[
    Path,
    typer.Argument(metavar="STUDY.toml", help="Study file.", show_default=False),
]
SiteArgument = Annotated[
    Path,
    typer.Argument(metavar="SITE.toml", help="Site file.", show_default=False),
]
FolderOption = Annotated[
    Path | None,
    typer.Option(
        help="Folder for kits, logs and finished rounds; 'federation' beside the study "
        "file if not given.",
        show_default=False,
    ),
]
PatienceOption = Annotated[
    float, typer.Option(help="Seconds to wait for sites to join.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, and only that.")]


@dataclass(frozen=True, slots=True)
class Place:
    """Paths of the files that the coordinator of a study keeps."""

    study_file: Path
    folder: Path

    @property
    def kits(self) -> "Kits":
        """Kits of all nodes."""
        from fedsdr.transports.nvflare.provision import Kits

        return Kits(self.folder / "kits")

    @property
    def first(self) -> Path:
        """Folder of orders, and of the first study that the node conducts."""
        return self.folder / "state"

    @property
    def state(self) -> Path:
        """Folder of finished rounds, progress and result of this study."""
        from fedsdr.study import read_study
        from fedsdr.study.conducting import read_claim

        digest = read_study(self.study_file).digest
        if read_claim(self.first) in (None, digest):
            return self.first
        return self.folder / "studies" / digest[:16]

    @property
    def log(self) -> Path:
        """Log of the coordinator's node."""
        return self.folder / "coordinator.log"

    def command(self, verb: str, *more: str) -> str:
        """Write a command of the coordinator for this study and this folder."""
        usual = self.study_file.parent / "federation"
        where = () if self.folder == usual else ("--folder", str(self.folder))
        words = ("fedsdr", "study", verb, str(self.study_file), *more, *where)
        return shlex.join(words)

    @contextmanager
    def serving(self, sites: str) -> Iterator[None]:
        """Note for which sites, by their digest, the node is started while it runs."""
        with ExitStack() as stack:
            try:
                lock = stack.enter_context(locked(self._serving, wait=False))
            except BlockingIOError:
                raise InputError(
                    f"the coordinator's node of {self.folder} runs already: stop it "
                    "with Ctrl-C where it was started"
                ) from None
            lock.truncate(0)
            lock.write(sites.encode("ascii"))
            yield

    @contextmanager
    def ordering(self) -> Iterator[None]:
        """Keep a second submit away while one orders a study and waits for it."""
        with ExitStack() as stack:
            try:
                stack.enter_context(locked(self.folder / "ordering", wait=False))
            except BlockingIOError:
                raise InputError(
                    f"another submit or resume of {self.folder} is at work: wait until "
                    f"it has ended, or see {self.command('attach')}"
                ) from None
            yield

    def served(self) -> str | None:
        """Return the digest of the sites that the node was started for, if it runs."""
        if not is_locked(self._serving):
            return None
        return self._serving.read_text(encoding="ascii")

    @property
    def _serving(self) -> Path:
        return self.folder / "serving"

    def read_job(self) -> str:
        """Read the identifier of the last job."""
        try:
            return (self.state / "job").read_text().strip()
        except FileNotFoundError:
            raise InputError(
                f"{self.study_file} was not submitted from {self.folder}: run "
                f"{self.command('submit')}"
            ) from None

    def write_job(self, job: str) -> None:
        """Write the identifier of a job."""
        with explained(f"cannot write {self.state / 'job'}"):
            write_atomically(self.state / "job", f"{job}\n")


def find_place(study_file: Path, folder: Path | None, *, made: bool = True) -> Place:
    """Return the paths of a study; its folder is made by ``study provision``."""
    place = Place(study_file, folder or study_file.parent / "federation")
    if made and not place.kits.folder.is_dir():
        raise InputError(
            f"{place.folder} has no kits: run {place.command('provision')}"
        )
    return place


@contextmanager
def running_nodes(screen: Screen) -> Iterator[None]:
    """Turn errors of nodes into one line and an exit code."""
    with screen.polite():
        require("federation", "running nodes, here and at every site,")
        from fedsdr.transports.nvflare.connection import SessionError
        from fedsdr.transports.nvflare.processes import NodeError

        try:
            yield
        except (NodeError, SessionError) as error:
            screen.complain(str(error))
            raise typer.Exit(FAILED) from None
