"""What a coordinator has ordered: which study its node conducts, and without whom."""

import json
from dataclasses import dataclass
from pathlib import Path

from fedsdr.exceptions import InputError
from fedsdr.files import explained, write_atomically
from fedsdr.study.study_file import read_study

ORDER = "order.json"


@dataclass(frozen=True, slots=True)
class Order:
    """The last order, in the coordinator's own folder: it never comes with a job.

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

    def save(self, folder: Path) -> None:
        """Write the order.

        Parameters
        ----------
        folder : Path
            Folder of the coordinator's node; made if it does not exist.
        """
        content = {
            "study": self.study,
            "file": str(self.file.resolve()),
            "folder": str(self.folder.resolve()),
            "without": list(self.without),
        }
        with explained(f"cannot write {folder / ORDER}"):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_atomically(folder / ORDER, json.dumps(content) + "\n")

    def check(self) -> None:
        """Refuse a study file that was changed since it was submitted."""
        if read_study(self.file).digest != self.study:
            raise InputError(
                f"{self.file} is not the study that was submitted: submit it again"
            )


def read_order(folder: Path) -> Order | None:
    """Read the last order.

    Parameters
    ----------
    folder : Path
        Folder of the coordinator's node.

    Returns
    -------
    Order or None
        None if nobody has written one.
    """
    try:
        content = json.loads((folder / ORDER).read_text(encoding="utf-8"))
        return Order(
            str(content["study"]),
            Path(content["file"]),
            Path(content["folder"]),
            tuple(map(str, content["without"])),
        )
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise InputError(f"{folder / ORDER} is damaged: submit again") from error
