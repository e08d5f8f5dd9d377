"""Where a coordinator keeps finished sums, so that a study can be resumed."""

import re
from pathlib import Path
from typing import Protocol

from fedsdr.exceptions import InputError, Refusal
from fedsdr.files import explained, write_atomically
from fedsdr.protocols.exchange import Payload
from fedsdr.protocols.wire import decode, encode

# "moments-<study>-<question>", or "moments.2-..." without fold 2.
_NAME = re.compile(r"[a-z_]+(\.\d+)?(-[0-9a-f]{16}){2}")


class SumStore(Protocol):
    """Keeps finished sums, and which sites an unfinished one was begun with."""

    def load(self, name: str) -> Payload | None:
        """Look up a sum.

        Parameters
        ----------
        name : str
            Name of the sum.

        Returns
        -------
        dict or None
            The saved content, None if there is none.
        """

    def save(self, name: str, content: Payload) -> None:
        """Save a sum; it is on the disk when this returns.

        Parameters
        ----------
        name : str
            Name of the sum.
        content : dict
            Content to save.
        """

    def forget(self, name: str) -> None:
        """Remove what was saved of a sum.

        Parameters
        ----------
        name : str
            Name of the sum.
        """


class NotSaved:
    """Saves nothing: a study that is interrupted starts again."""

    def load(self, name: str) -> Payload | None:
        """Find nothing.

        Parameters
        ----------
        name : str
            Name of the sum.

        Returns
        -------
        None
            Always.
        """
        del name
        return None

    def save(self, name: str, content: Payload) -> None:
        """Save nothing.

        Parameters
        ----------
        name : str
            Name of the sum.
        content : dict
            Content to save.
        """
        del name, content

    def forget(self, name: str) -> None:
        """Forget nothing.

        Parameters
        ----------
        name : str
            Name of the sum.
        """
        del name


class SumFolder:
    """Keeps one file per sum.

    Parameters
    ----------
    path : str or Path
        Folder, created if it does not exist. It holds pooled sums, which contain more
        than the study's result: only their owner can read the files.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.path.mkdir(parents=True, exist_ok=True, mode=0o700)

    def load(self, name: str) -> Payload | None:
        """Look up a sum.

        Parameters
        ----------
        name : str
            Name of the sum.

        Returns
        -------
        dict or None
            The saved content, None if there is none.
        """
        file = self.path / f"{name}.round"
        if not file.exists():
            return None
        try:
            return decode(file.read_bytes())
        except Refusal as error:
            raise InputError(
                f"{file} is damaged: delete it and the round will be asked for again"
            ) from error

    def save(self, name: str, content: Payload) -> None:
        """Write a sum to the disk, all of it or nothing.

        Parameters
        ----------
        name : str
            Name of the sum.
        content : dict
            Content to save.
        """
        with explained(
            f"cannot keep a finished round in {self.path}",
            "make room there, and resume",
        ):
            file = self.path / f"{name}.round"
            write_atomically(file, encode(content), private=True)

    def forget(self, name: str) -> None:
        """Remove the file of a sum.

        Parameters
        ----------
        name : str
            Name of the sum.
        """
        (self.path / f"{name}.round").unlink(missing_ok=True)

    def begun(self) -> dict[str, Payload]:
        """List all sums that were begun, finished or not.

        Returns
        -------
        dict of str to dict
            Content by the name of the sum, sorted.
        """
        names = sorted(file.stem for file in self.path.glob("*.round"))
        found = {name: self.load(name) for name in names}
        return {name: saved for name, saved in found.items() if saved is not None}

    def void(self, round_name: str, *, finished: bool = False) -> bool:
        """Strike a round from the attempts at a sum, after stewards have voided it.

        Parameters
        ----------
        round_name : str
            Name of the round.
        finished : bool, default=False
            Whether a finished sum may go as well: no result rests on it.

        Returns
        -------
        bool
            Whether the sum has no attempt left, so that other sites may be asked; an
            `InputError` if there was no such attempt.
        """
        name = round_name.rpartition("-")[0]
        saved = self.load(name) if _NAME.fullmatch(name) else None
        fixed = saved is None or ("values" in saved and not finished)
        begun = [] if saved is None or fixed else saved.get("rounds", [])
        if saved is None or round_name not in begun:
            raise InputError(
                f"no sum in {self.path} was begun and left unfinished in round "
                f"{round_name}"
            )
        left = [one for one in begun if one != round_name]
        if left:
            self.save(name, {**saved, "rounds": left})
        else:
            self.forget(name)
        return not left
