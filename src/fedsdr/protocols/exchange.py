"""The one seam between protocols and whatever carries their messages.

A protocol is a coordinator, who calls `exchange`, and sites, who answer with `handle`.
Neither knows whether the other is an object in the same process or a node across a
continent; an engine is an implementation of these two functions.
"""

from collections.abc import Mapping
from typing import Any, Protocol

from fedsdr.exceptions import CODES, Refusal

__all__ = [
    "Exchange",
    "Failures",
    "IncompleteError",
    "Party",
    "Payload",
    "Payloads",
    "Refusal",
    "Replies",
    "ask_all",
]

Payload = dict[str, Any]
Payloads = Mapping[str, Mapping[str, Any]]
Replies = dict[str, Payload]
Failures = dict[str, str]


class Party(Protocol):
    """Who answers: a site."""

    def handle(self, name: str, payload: Payload) -> Payload:
        """Answer one message.

        Parameters
        ----------
        name : str
            Of the message.
        payload : dict
            Its content.

        Returns
        -------
        dict
            The reply. Raises `Refusal` instead of replying where it must not.
        """


class Exchange(Protocol):
    """Who carries: send a message to some sites and collect their answers."""

    def __call__(
        self, name: str, payloads: Payloads, timeout: float
    ) -> tuple[Replies, Failures]:
        """Exchange one message with each site.

        Parameters
        ----------
        name : str
            Of the message.
        payloads : mapping of str to mapping
            Content for each site, by the site's name.
        timeout : float
            Seconds after which a site that has not answered has failed.

        Returns
        -------
        replies : dict of str to dict
            From the sites that answered.
        failures : dict of str to str
            A fixed code for each of the others.
        """


class IncompleteError(RuntimeError):
    """A protocol cannot go on, since sites that it needs did not answer.

    Parameters
    ----------
    name : str
        Of the message.
    failures : dict of str to str
        Fixed code of each site.
    """

    def __init__(self, name: str, failures: Failures) -> None:
        super().__init__(name, failures)
        self.name = name
        self.failures = failures

    def __str__(self) -> str:
        sites = ", ".join(
            f"{site}: {CODES.get(code, code)}" for site, code in self.failures.items()
        )
        return f"no answer to '{self.name}' from {sites}"


def ask_all(
    exchange: Exchange, name: str, payloads: Payloads, timeout: float
) -> Replies:
    """Exchange a message with sites of which none may fail.

    Parameters
    ----------
    exchange : Exchange
        Carries the message.
    name : str
        Of the message.
    payloads : mapping of str to mapping
        Content for each site.
    timeout : float
        Seconds.

    Returns
    -------
    dict of str to dict
        One reply a site, in the order of `payloads`, or an `IncompleteError`.
    """
    replies, failures = exchange(name, payloads, timeout)
    if failures or set(replies) != set(payloads):
        missing = {site: "TIMEOUT" for site in payloads if site not in replies}
        raise IncompleteError(name, {**missing, **failures})
    return {site: replies[site] for site in payloads}
