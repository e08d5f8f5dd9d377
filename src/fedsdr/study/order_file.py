"""What a coordinator has ordered: which study its node conducts, and without whom."""

import json
import re
import secrets
from dataclasses import dataclass
from pathlib import Path

from fedsdr.exceptions import InputError
from fedsdr.files import explained, write_atomically
from fedsdr.study.study_file import read_study

#: In the folder of the coordinator's node: one file for each order.
ORDERS = "orders"

# Names of orders, which jobs have too.
_NAME = re.compile(r"order-[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class Order:
    """An order, in the coordinator's own folder: a job has its name, and no more.

    Parameters
    ----------
    study : str
        Digest of the study that was submitted.
    file : Path
        Its study file.
    folder : Path
        Where its finished sums are kept.
    without : tuple of str, default=()
        Sites that are left out by choice.
    """

    study: str
    file: Path
    folder: Path
    without: tuple[str, ...] = ()

    def save(self, folder: Path) -> str:
        """Write the order.

        Parameters
        ----------
        folder : Path
            Folder of the coordinator's node; made if it does not exist.

        Returns
        -------
        str
            Name of the order, for the jobs that carry it out. Every order has a name of
            its own, so that another one cannot take its place.
        """
        content = {
            "study": self.study,
            "file": str(self.file.resolve()),
            "folder": str(self.folder.resolve()),
            "without": list(self.without),
        }
        name = f"order-{secrets.token_hex(16)}"
        path = _file(folder, name)
        with explained(f"cannot write {path}"):
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_atomically(path, json.dumps(content) + "\n")
        return name

    def check(self) -> None:
        """Refuse a study file that was changed since it was submitted."""
        if read_study(self.file).digest != self.study:
            raise InputError(
                f"{self.file} is not the study that was submitted: submit it again"
            )


def read_order(folder: Path, name: str) -> Order | None:
    """Read the order of a job.

    Parameters
    ----------
    folder : Path
        Folder of the coordinator's node.
    name : str
        Name of the job.

    Returns
    -------
    Order or None
        None if the job has not the name of an order: it is for the study that the node
        was started with.
    """
    if not _NAME.fullmatch(name):
        return None
    path = _file(folder, name)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return Order(
            str(content["study"]),
            Path(content["file"]),
            Path(content["folder"]),
            tuple(map(str, content["without"])),
        )
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise InputError(f"{path} is missing or damaged: submit again") from error


def forget_order(folder: Path, name: str) -> None:
    """Delete an order that was carried out.

    Parameters
    ----------
    folder : Path
        Folder of the coordinator's node.
    name : str
        Name of the order.
    """
    _file(folder, name).unlink(missing_ok=True)


def _file(folder: Path, name: str) -> Path:
    return folder / ORDERS / f"{name}.json"
