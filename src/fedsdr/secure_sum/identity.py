"""Identities: signing keys made at the sites, and a roster agreed out of band."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from fedsdr.exceptions import InputError, Refusal

KEY_BYTES = 32
SIGNATURE_BYTES = 64

#: Public identity of every site, by its name.
Roster = Mapping[str, bytes]


class Identity:
    """A site's signing key.

    Parameters
    ----------
    key : bytes of length 32
        Ed25519 private key.
    """

    def __init__(self, key: bytes) -> None:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        if len(key) != KEY_BYTES:
            raise InputError(f"an identity key has {KEY_BYTES} bytes")
        self._key = Ed25519PrivateKey.from_private_bytes(key)

    @classmethod
    def generate(cls) -> Self:
        """Draw a new identity.

        Returns
        -------
        Identity
            From the system's random numbers.
        """
        return cls(os.urandom(KEY_BYTES))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read an identity that `save` wrote.

        Parameters
        ----------
        path : str or Path
            File that only its owner may read.

        Returns
        -------
        Identity
            An `InputError` where others may read the file.
        """
        path = Path(path)
        try:
            mode = path.stat().st_mode
            text = path.read_text(encoding="ascii")
            key = bytes.fromhex(text.strip())
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror}") from error
        except ValueError as error:
            raise InputError(f"{path} is not an identity key") from error
        if mode & 0o077:
            raise InputError(f"others may read {path}: chmod 600 it, or make a new key")
        return cls(key)

    def save(self, path: str | Path) -> None:
        """Write the private key to a new file that only its owner may read.

        Parameters
        ----------
        path : str or Path
            Must not exist yet.
        """
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        try:
            descriptor = os.open(path, flags, 0o600)
        except FileExistsError as error:
            raise InputError(f"{path} exists; a key is never overwritten") from error
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(self._key.private_bytes_raw().hex() + "\n")

    @property
    def public(self) -> bytes:
        """Public half, for the roster."""
        return self._key.public_key().public_bytes_raw()

    def sign(self, message: bytes) -> bytes:
        """Sign a message.

        Parameters
        ----------
        message : bytes
            Bound to study, round and sender by its writer.

        Returns
        -------
        bytes of length 64
            Signature.
        """
        return self._key.sign(message)


def check_signature(
    roster: Roster, site: str, signature: bytes, message: bytes
) -> None:
    """Check that a site of the roster signed a message.

    Parameters
    ----------
    roster : mapping of str to bytes
        Public identities.
    site : str
        Site that is said to have signed.
    signature : bytes
        Its alleged signature.
    message : bytes
        Message that is said to be signed.

    Raises
    ------
    Refusal
        "PEERS" for a site that is not in the roster, "TAMPERED" for a signature that
        does not fit.
    """
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    if site not in roster:
        raise Refusal("PEERS", f"site {site!r} is not in the roster")
    try:
        Ed25519PublicKey.from_public_bytes(roster[site]).verify(signature, message)
    except InvalidSignature as error:
        raise Refusal("TAMPERED", f"not signed by site {site!r}") from error
