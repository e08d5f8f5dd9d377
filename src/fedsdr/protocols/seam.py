"""The one seam between protocols and whatever carries their messages.

A protocol is a coordinator, who calls `exchange`, and sites, who answer with `handle`.
Neither knows whether the other is an object in the same process or a node across a
continent; an engine is an implementation of these two functions.
"""

from collections.abc import Mapping
from typing import Any, Protocol

from fedsdr.exceptions import InputError

Payload = dict[str, Any]
Payloads = Mapping[str, Mapping[str, Any]]
Replies = dict[str, Payload]
Failures = dict[str, str]

CODES = {
    "DISCLOSURE": "a disclosure rule of the site forbids the release",
    "INPUT": "the site's own data cannot be used for this study",
    "INTERNAL": "the site failed for a reason of its own, which it has recorded",
    "MALFORMED": "the message is not one that this protocol has",
    "ORDER": "the message came out of order, or again",
    "PEERS": "too few sites, or sites that were not agreed on",
    "TAMPERED": "a signature, a share or a survivor set does not fit",
    "TERMS": "the study's terms differ from those that the site agreed to",
    "TIMEOUT": "no answer in time",
}


class Refusal(Exception):  # noqa: N818 (a refusal is an answer, not a mistake)
    """A party will not go on; only the code travels.

    Parameters
    ----------
    code : str
        A key of `CODES`.
    explanation : str, default=""
        For the party's own records. It may name columns and rules, and never leaves.
    """

    def __init__(self, code: str, explanation: str = "") -> None:
        if code not in CODES:
            raise ValueError(f"{code!r} is not one of the fixed codes")
        super().__init__(code, explanation)
        self.code = code
        self.explanation = explanation

    def __str__(self) -> str:
        return self.explanation or CODES[self.code]


def fixed_code(error: Exception) -> str:
    """Reduce whatever went wrong at a site to what may leave it.

    Parameters
    ----------
    error : Exception
        Its text may quote data, so it stays.

    Returns
    -------
    str
        A key of `CODES`.
    """
    if isinstance(error, Refusal):
        return error.code
    return "INPUT" if isinstance(error, InputError) else "INTERNAL"


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
