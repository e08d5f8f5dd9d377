"""A record of every message that a protocol sent."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from fedsdr.protocols.wire import decode

COORDINATOR = "coordinator"


@dataclass(frozen=True, slots=True)
class Message:
    """One message, as it went over the wire.

    Parameters
    ----------
    round : int
        Number of the exchange, from 1.
    name : str
        What the message is called.
    sender, receiver : str
        Parties.
    packed : bytes
        All of it.
    """

    round: int
    name: str
    sender: str
    receiver: str
    packed: bytes = field(repr=False)

    @property
    def payload(self) -> dict[str, Any]:
        """Content, read again from the bytes."""
        return decode(self.packed)


@dataclass(slots=True)
class Transcript:
    """Messages in the order in which they were sent.

    Parameters
    ----------
    keep : bool, default=True
        Whether to keep the messages themselves; counts are kept in any case.
    """

    keep: bool = True
    messages: list[Message] = field(default_factory=list, init=False)
    rounds: int = field(default=0, init=False)
    sent: dict[str, int] = field(default_factory=dict, init=False)
    received: dict[str, int] = field(default_factory=dict, init=False)

    def record(self, name: str, sender: str, receiver: str, packed: bytes) -> None:
        """Note one message of the current round.

        Parameters
        ----------
        name : str
            What it is called.
        sender, receiver : str
            Parties.
        packed : bytes
            The message.
        """
        self.sent[sender] = self.sent.get(sender, 0) + len(packed)
        self.received[receiver] = self.received.get(receiver, 0) + len(packed)
        if self.keep:
            self.messages.append(Message(self.rounds, name, sender, receiver, packed))

    def seen_by(self, party: str) -> Iterator[Message]:
        """List what a party could have kept.

        Parameters
        ----------
        party : str
            Name.

        Yields
        ------
        Message
            That it sent or received.
        """
        for message in self.messages:
            if party in (message.sender, message.receiver):
                yield message

    def bytes_of(self, party: str) -> int:
        """Count the traffic of a party.

        Parameters
        ----------
        party : str
            Name.

        Returns
        -------
        int
            Bytes sent and received.
        """
        return self.sent.get(party, 0) + self.received.get(party, 0)
