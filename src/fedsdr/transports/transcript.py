"""A record of every message that a protocol sent."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from fedsdr.protocols.wire import decode

COORDINATOR = "coordinator"


@dataclass(frozen=True, slots=True)
class Message:
    """One message in the form in which it was sent.

    Parameters
    ----------
    round : int
        Number of the exchange, starting at 1.
    name : str
        Name of the message.
    sender, receiver : str
        Names of the two parties.
    packed : bytes
        Bytes of the message.
    """

    round: int
    name: str
    sender: str
    receiver: str
    packed: bytes = field(repr=False)

    @property
    def payload(self) -> dict[str, Any]:
        """Content of the message, read from its bytes."""
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
        """Record one message of the current round.

        Parameters
        ----------
        name : str
            Name of the message.
        sender, receiver : str
            Names of the two parties.
        packed : bytes
            Bytes of the message.
        """
        self.sent[sender] = self.sent.get(sender, 0) + len(packed)
        self.received[receiver] = self.received.get(receiver, 0) + len(packed)
        if self.keep:
            self.messages.append(Message(self.rounds, name, sender, receiver, packed))

    def seen_by(self, party: str) -> Iterator[Message]:
        """List all messages that a party sent or received.

        Parameters
        ----------
        party : str
            Name of the party.

        Yields
        ------
        Message
            Message that the party sent or received.
        """
        for message in self.messages:
            if party in (message.sender, message.receiver):
                yield message

    def bytes_of(self, party: str) -> int:
        """Count the bytes that a party sent and received.

        Parameters
        ----------
        party : str
            Name of the party.

        Returns
        -------
        int
            Bytes sent and received.
        """
        return self.sent.get(party, 0) + self.received.get(party, 0)
