"""The partners that a steward has accepted, each by name and key."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, Self

from fedsdr.data.names import enumerate_names
from fedsdr.disclosure.level_rules import Violation
from fedsdr.disclosure.policy import Policy
from fedsdr.disclosure.releases import Release
from fedsdr.exceptions import InputError
from fedsdr.files import explained, write_atomically
from fedsdr.spoken import escaped

Standing = Literal["accepted", "new", "other key", "revoked"]

FORMAT = "fedsdr-peers-1"


@dataclass(frozen=True, slots=True)
class Peer:
    """One decision of the steward about a partner.

    Parameters
    ----------
    name : str
        Name of the partner.
    key : str
        Its public identity, in hexadecimal.
    time : str
        When it was decided, UTC.
    after : int, default=0
        Entries of the own ledger at that time: what the partner said about its ledger
        before that no longer counts.
    revoked : bool, default=False
        Whether the key must not be trusted any longer.
    """

    name: str
    key: str
    time: str
    after: int = 0
    revoked: bool = False


@dataclass(slots=True, eq=False)
class PeerBook:
    """Decisions of a steward about partners.

    Parameters
    ----------
    peers : dict of (str, str) to Peer
        By name and key.
    path : Path or None, default=None
        File; None keeps the book in memory.

    Notes
    -----
    A name is not a site: whoever writes a study can give a key of his own to a known
    name, or invent sites, and a sum over one site and inventions is that site's part.
    """

    peers: dict[tuple[str, str], Peer] = field(default_factory=dict)
    path: Path | None = None

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a book.

        Parameters
        ----------
        path : Path
            File; an empty book if it does not exist.

        Returns
        -------
        PeerBook
            An `InputError` if the file is not one.
        """
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            if content["format"] != FORMAT:
                raise ValueError("another format")
            found = [_read_peer(one) for one in content["peers"]]
        except FileNotFoundError:
            found = []
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror}") from error
        except (ValueError, TypeError, KeyError):
            raise InputError(
                f"{path} is damaged: restore it, or delete it and accept your partners "
                "again with 'fedsdr site peers accept'"
            ) from None
        return cls({(one.name, one.key): one for one in found}, path)

    def standing(self, name: str, key: str) -> Standing:
        """Look up what was decided about a partner.

        Parameters
        ----------
        name : str
            Its name.
        key : str
            Its public identity, in hexadecimal.

        Returns
        -------
        {"accepted", "new", "other key", "revoked"}
            "other key" if another one was accepted for the name.
        """
        known = self.peers.get((name, key))
        if known is not None:
            return "revoked" if known.revoked else "accepted"
        named = [one for one in self.peers.values() if one.name == name]
        return "other key" if any(not one.revoked for one in named) else "new"

    def accept(self, name: str, key: str, *, after: int = 0) -> None:
        """Accept a partner with this key, and no longer with another.

        Parameters
        ----------
        name : str
            Its name.
        key : str
            Its public identity, in hexadecimal.
        after : int, default=0
            Entries of the own ledger.
        """
        for place, one in self.peers.items():
            if one.name == name and one.key != key and not one.revoked:
                self.peers[place] = replace(one, revoked=True, time=_now())
        self.peers[name, key] = Peer(name, key, _now(), after)
        self._write()

    def revoke(self, name: str) -> list[str]:
        """Trust no key of a partner any longer.

        Parameters
        ----------
        name : str
            Its name.

        Returns
        -------
        list of str
            Keys that were trusted until now.
        """
        trusted = [
            one for one in self.peers.values() if one.name == name and not one.revoked
        ]
        if not trusted:
            raise InputError(f"'{name}' is not an accepted partner: see the list")
        for one in trusted:
            self.peers[name, one.key] = replace(one, revoked=True, time=_now())
        self._write()
        return [one.key for one in trusted]

    def _write(self) -> None:
        if self.path is None:
            return
        content = {
            "format": FORMAT,
            "peers": [asdict(one) for _, one in sorted(self.peers.items())],
        }
        with explained(f"cannot write {self.path}"):
            text = json.dumps(content, indent=2) + "\n"
            write_atomically(self.path, text, private=True)


def strangers(
    release: Release, policy: Policy, book: PeerBook, own: str
) -> Violation | None:
    """Require partners that the steward has accepted.

    Parameters
    ----------
    release : Release
        Release to check; not asked while its sites are not known.
    policy : Policy
        Policy of the site.
    book : PeerBook
        Decisions of the steward.
    own : str
        Name of the site itself.

    Returns
    -------
    Violation or None
        PARTNERS.
    """
    found: dict[Standing, list[str]] = {}
    for name, key in sorted(release.partners):
        if name != own:
            found.setdefault(book.standing(name, key), []).append(name)
    known = len(found.get("accepted", ()))
    forbidden = {"other key", "revoked"}
    if policy.min_known_peers is None:
        forbidden.add("new")
    problems = [
        f"{enumerate_names(names)} ({_MEANING[standing]})"
        for standing, names in found.items()
        if standing in forbidden
    ]
    least = policy.min_known_peers or 0
    if found and not problems and known < least:
        problems = [f"{known} accepted partners, and at least {least} are needed"]
    if not problems:
        return None
    return Violation(
        "PARTNERS",
        f"this sum has partners that were not accepted: {'; '.join(problems)}. Compare "
        "their keys in words with their stewards, not with the coordinator: "
        "'fedsdr site peers list' shows them, 'fedsdr site peers accept' accepts them",
    )


_MEANING: Mapping[Standing, str] = {
    "new": "never accepted",
    "other key": "another key than the one that was accepted",
    "revoked": "a key that was revoked",
}


def _read_peer(content: Mapping[str, Any]) -> Peer:
    one = Peer(**content)
    texts = (one.name, one.key, one.time)
    if not all(type(text) is str and escaped(text) == text for text in texts):
        raise TypeError("not a peer")
    if (type(one.after), type(one.revoked)) != (int, bool):
        raise TypeError("not a peer")
    return one


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
