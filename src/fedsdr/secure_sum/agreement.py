"""What sites agree on before a sum, and the context that binds every message."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from fedsdr.exceptions import InputError
from fedsdr.secure_sum.fixed_point import FixedPoint
from fedsdr.secure_sum.identity import Roster

MIN_SITES = 3


def usual_threshold(n_sites: int) -> int:
    """Choose how many sites must stay to the end, if a study does not say so.

    Parameters
    ----------
    n_sites : int
        Sites of the study.

    Returns
    -------
    int
        Two thirds of them, at least 3.
    """
    return max(MIN_SITES, -(-2 * n_sites // 3))


@dataclass(frozen=True, slots=True)
class Agreement:
    """The parties of a study's secure sums.

    Parameters
    ----------
    study : str
        Digest of the study's terms, in hexadecimal.
    roster : mapping of str to bytes
        Public identity of every site of the study, agreed out of band.
    threshold : int
        Sites that must stay to the end, more than half of all and at least 3.
    ring : FixedPoint
        Ring in which numbers are added.
    """

    study: str
    roster: Roster
    threshold: int
    ring: FixedPoint = field(default_factory=FixedPoint)

    def __post_init__(self) -> None:
        n_sites = len(self.roster)
        if n_sites < MIN_SITES:
            raise InputError(
                f"a secure sum needs at least {MIN_SITES} sites, got {n_sites}: with "
                "two, each learns the other's part by subtracting its own"
            )
        if len(set(self.roster.values())) < n_sites:
            raise InputError("two sites of the roster have the same identity key")
        low = max(MIN_SITES, n_sites // 2 + 1)
        if not low <= self.threshold <= n_sites:
            raise InputError(
                f"the threshold for {n_sites} sites must be from {low} to {n_sites}, "
                f"got {self.threshold}: with half or fewer, a coordinator could have "
                "two sums of different sites opened"
            )

    @property
    def sites(self) -> tuple[str, ...]:
        """Names of all sites, sorted."""
        return tuple(sorted(self.roster))

    @property
    def tolerated(self) -> int:
        """Number of sites that may collude with the coordinator without opening a site.

        Two sets of survivors need `threshold` signatures each, and an honest site signs
        one: more than ``2 threshold - n - 1`` colluders can have both opened. Also, all
        sites of a sum but one together know the part of that one.
        """
        return min(2 * self.threshold - len(self.roster) - 1, self.threshold - 2)


@dataclass(frozen=True, slots=True)
class Context:
    """Study, round and question to which a message is bound.

    Parameters
    ----------
    study : str
        Digest of the study's terms.
    round : str
        Name of the round, used once.
    question : bytes
        Digest of the request.
    """

    study: str
    round: str
    question: bytes

    def bind(self, label: str, *parts: bytes | str) -> bytes:
        """Join a label and parts, so that different lists give different bytes.

        Parameters
        ----------
        label : str
            Purpose of the bytes.
        *parts : bytes or str
            Parties and content.

        Returns
        -------
        bytes
            Every part with its length in front.
        """
        return _start(label, self.study, self.round, self.question) + joined(*parts)


@lru_cache(maxsize=64)
def _start(*parts: bytes | str) -> bytes:
    """Join what is the same for many messages of a round."""
    return joined("fedsdr-secure-sum-1", *parts)


def joined(*parts: bytes | str) -> bytes:
    """Join parts, each with its length in front.

    Parameters
    ----------
    *parts : bytes or str
        In order.

    Returns
    -------
    bytes
        Different for different lists.
    """
    raw = [part.encode() if isinstance(part, str) else part for part in parts]
    return b"".join(len(part).to_bytes(8, "little") + part for part in raw)


def digest(parts: Iterable[bytes | str]) -> bytes:
    """Hash a list.

    Parameters
    ----------
    parts : iterable of bytes or str
        In order.

    Returns
    -------
    bytes of length 32
        SHA-256 of the parts with their lengths.
    """
    return hashlib.sha256(joined(*parts)).digest()
