"""What a coordinator keeps between rounds: sums that are finished."""

from pathlib import Path
from typing import Protocol

from fedsdr.exceptions import InputError, Refusal
from fedsdr.files import explained, write_atomically
from fedsdr.protocols.exchange import Payload
from fedsdr.protocols.wire import decode, encode


class State(Protocol):
    """Where finished rounds are kept."""

    def load(self, name: str) -> Payload | None:
        """Look a round up.

        Parameters
        ----------
        name : str
            Of what was asked.

        Returns
        -------
        dict or None
            What was saved, None if nothing was.
        """

    def save(self, name: str, content: Payload) -> None:
        """Keep a round, durably, before anything else happens.

        Parameters
        ----------
        name : str
            Of what was asked.
        content : dict
            A message.
        """


class NotSaved:
    """Keeps nothing: a study that is interrupted starts again."""

    def load(self, name: str) -> Payload | None:
        """Find nothing.

        Parameters
        ----------
        name : str
            Of what was asked.

        Returns
        -------
        None
            Always.
        """
        del name
        return None

    def save(self, name: str, content: Payload) -> None:
        """Forget.

        Parameters
        ----------
        name : str
            Of what was asked.
        content : dict
            A message.
        """
        del name, content


class Folder:
    """Keeps one file per round.

    Parameters
    ----------
    path : str or Path
        Folder, made if it does not exist. It holds pooled sums, which say more than
        the study's result: files are readable by their owner only.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.path.mkdir(parents=True, exist_ok=True, mode=0o700)

    def load(self, name: str) -> Payload | None:
        """Look a round up.

        Parameters
        ----------
        name : str
            Of what was asked.

        Returns
        -------
        dict or None
            What was saved, None if nothing was.
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
        """Write a round to disk, all of it or nothing.

        Parameters
        ----------
        name : str
            Of what was asked.
        content : dict
            A message.
        """
        with explained(
            f"cannot keep a finished round in {self.path}",
            "make room there, and resume",
        ):
            file = self.path / f"{name}.round"
            write_atomically(file, encode(content), private=True)
