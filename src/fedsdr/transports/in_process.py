"""Transport between parties in one process, with the same messages as on a network."""

from collections.abc import Callable, Mapping
from typing import Literal

from fedsdr.exceptions import fixed_code
from fedsdr.protocols.exchange import Failures, Party, Payloads, Replies
from fedsdr.protocols.wire import decode, encode
from fedsdr.transports.transcript import COORDINATOR, Transcript

Fault = Callable[[str, str, bytes], bytes | None]


class InProcess:
    """Transport that passes messages between objects as bytes.

    Parameters
    ----------
    parties : mapping of str to Party
        The sites, by name.
    transcript : Transcript, optional
        Record of the messages; if not given, bytes are counted but not kept.
    fault : callable, optional
        Function of the message's name, the site and the bytes of its request, which
        returns the bytes to deliver, or None for a site that does not answer.
    driver : str, default="coordinator"
        Name of the party that sends requests.
    on_error : {"code", "raise"}, default="code"
        Treatment of errors at a site: "code" returns a fixed code, "raise" raises the
        error, for sites whose rows belong to the caller.

    Attributes
    ----------
    errors : dict of str to Exception
        Errors at the sites in the last exchange, for tests; on a network they stay at
        the site.
    """

    def __init__(
        self,
        parties: Mapping[str, Party],
        *,
        transcript: Transcript | None = None,
        fault: Fault | None = None,
        driver: str = COORDINATOR,
        on_error: Literal["code", "raise"] = "code",
    ) -> None:
        self.parties = dict(parties)
        self.transcript = Transcript(keep=False) if transcript is None else transcript
        self.fault = fault
        self.driver = driver
        self.on_error = on_error
        self.errors: dict[str, Exception] = {}

    def __call__(
        self, name: str, payloads: Payloads, timeout: float
    ) -> tuple[Replies, Failures]:
        """Exchange one message with each site.

        Parameters
        ----------
        name : str
            Name of the message.
        payloads : mapping of str to mapping
            Content for each site.
        timeout : float
            Not used: a call in this process is not interrupted.

        Returns
        -------
        replies : dict of str to dict
            Replies of the sites that answered.
        failures : dict of str to str
            Fixed code of each of the other sites.
        """
        del timeout
        self.transcript.rounds += 1
        self.errors = {}
        replies: Replies = {}
        failures: Failures = {}
        for site, payload in payloads.items():
            packed: bytes | None = encode(payload)
            if self.fault is not None:
                packed = self.fault(name, site, encode(payload))
            if packed is None:
                failures[site] = "TIMEOUT"
                continue
            self.transcript.record(name, self.driver, site, packed)
            answer = self._answer(site, name, packed)
            if isinstance(answer, str):
                failures[site] = answer
            else:
                self.transcript.record(name, site, self.driver, answer)
                replies[site] = decode(answer)
        return replies, failures

    def _answer(self, site: str, name: str, packed: bytes) -> bytes | str:
        """Return the reply of a site as bytes, or the fixed code of its failure."""
        try:
            return encode(self.parties[site].handle(name, decode(packed)))
        except Exception as error:
            if self.on_error == "raise":
                raise
            self.errors[site] = error
            return fixed_code(error)
