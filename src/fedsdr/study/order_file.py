"""What a coordinator has ordered: which study its node conducts, and without whom."""

import json
from dataclasses import dataclass
from pathlib import Path

from fedsdr.exceptions import InputError
from fedsdr.files import explained, write_atomically

ORDER = "order.json"


@dataclass(frozen=True, slots=True)
class Order:
    """The last order, in the coordinator's own folder.

    Parameters
    ----------
    study : str
        Digest of the study that was submitted.
    without : tuple of str, default=()
        Sites that are left out by choice.
    """

    study: str
    without: tuple[str, ...] = ()

    def save(self, folder: Path) -> None:
        """Write the order.

        Parameters
        ----------
        folder : Path
            Folder of the study at the coordinator; made if it does not exist.
        """
        with explained(f"cannot write {folder / ORDER}"):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            content = {"study": self.study, "without": list(self.without)}
            write_atomically(folder / ORDER, json.dumps(content) + "\n")

    def check(self, digest: str) -> None:
        """Refuse to conduct another study than the one that was ordered.

        Parameters
        ----------
        digest : str
            Digest of the study that the node was started with.
        """
        if self.study != digest:
            raise InputError(
                "the study that was submitted is not the one that the coordinator's "
                "node was started with: stop the node, and start it with the file "
                "that you want to run"
            )


def read_order(folder: Path) -> Order | None:
    """Read the last order.

    Parameters
    ----------
    folder : Path
        Folder of the study at the coordinator.

    Returns
    -------
    Order or None
        None if nobody has written one.
    """
    try:
        content = json.loads((folder / ORDER).read_text(encoding="utf-8"))
        return Order(str(content["study"]), tuple(map(str, content["without"])))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise InputError(f"{folder / ORDER} is damaged: submit again") from error
