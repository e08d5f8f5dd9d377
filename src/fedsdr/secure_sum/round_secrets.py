"""One round's secrets of one site: key pairs, a self mask and boxes."""

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fedsdr.exceptions import Refusal
from fedsdr.secure_sum.curve_keys import (
    SECRET_BYTES,
    agree,
    check_public,
    multiply,
    new_private,
    raw_public,
    scalar_of,
    seed_of,
)

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

NONCE_BYTES = 12


@dataclass(frozen=True, slots=True)
class PublicKeys:
    """Public part of a site's secrets of a round.

    Parameters
    ----------
    mask_key : bytes of length 32
        X25519 public key from which pairwise masks are derived.
    box_key : bytes of length 32
        X25519 public key from which keys of boxes are derived.
    commitment : bytes of length 32
        X25519 public key whose private half is the seed of the self mask.
    n_entries : int, default=0
        Number of entries in the site's ledger.
    head : bytes of length 32
        Hash of the last of them.
    signature : bytes of length 64
        Of the site's identity, over all of these and the round's context.
    """

    mask_key: bytes
    box_key: bytes
    commitment: bytes
    n_entries: int = 0
    head: bytes = bytes(SECRET_BYTES)
    signature: bytes = b""

    @property
    def content(self) -> bytes:
        """Bytes that are signed."""
        keys = self.mask_key + self.box_key + self.commitment
        return keys + self.head + str(self.n_entries).encode("ascii")

    @property
    def shared(self) -> tuple[bytes, bytes]:
        """Public halves of the two secrets that are split into shares."""
        return self.commitment, self.mask_key

    def check(self, site: str) -> None:
        """Check that the keys can be used.

        Parameters
        ----------
        site : str
            Site that has signed them; a `Refusal` names it if one is of low order.
        """
        check_public(site, self.mask_key, self.box_key, self.commitment)


class RoundSecrets:
    """Fresh secrets of a site, for one round only."""

    def __init__(self) -> None:
        self._self, self._mask, self._box = (new_private() for _ in range(3))

    @property
    def shared(self) -> tuple["X25519PrivateKey", "X25519PrivateKey"]:
        """The two keys that are split into shares: of the self mask, and of pairs."""
        return self._self, self._mask

    @property
    def seed(self) -> bytes:
        """Secret from which the self mask is derived."""
        return seed_of(scalar_of(self._self))

    def public(self) -> PublicKeys:
        """Compute the public halves.

        Returns
        -------
        PublicKeys
            Not signed yet.
        """
        mask, box, seed = map(raw_public, (self._mask, self._box, self._self))
        return PublicKeys(mask, box, seed)

    def pair_seed(self, peer: PublicKeys, info: bytes) -> bytes:
        """Derive the seed of the mask shared with a peer.

        Parameters
        ----------
        peer : PublicKeys
            Of the peer.
        info : bytes
            Context, the same at both ends.

        Returns
        -------
        bytes of length 32
            The same at both ends.
        """
        return derive(agree(self._mask, peer.mask_key), info)

    def box_secret(self, ephemeral: bytes) -> bytes:
        """Agree on the secret of a box that was made for this site.

        Parameters
        ----------
        ephemeral : bytes of length 32
            Public half of the key that its maker used for this box only.

        Returns
        -------
        bytes of length 32
            The same at both ends.
        """
        return agree(self._box, ephemeral)


def mask_seed_from(scalar: bytes, peer: PublicKeys, info: bytes) -> bytes:
    """Derive a pair's seed from the recovered mask key of a lost site.

    Parameters
    ----------
    scalar : bytes of length 32
        Private mask key of the lost site, as it is shared.
    peer : PublicKeys
        Of the other site of the pair.
    info : bytes
        Context.

    Returns
    -------
    bytes of length 32
        The pair's seed.
    """
    return derive(multiply(scalar, peer.mask_key), info)


def derive(secret: bytes, info: bytes) -> bytes:
    """Derive a key for one purpose.

    Parameters
    ----------
    secret : bytes
        Shared secret.
    info : bytes
        Purpose and context.

    Returns
    -------
    bytes of length 32
        HKDF-SHA256.
    """
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return HKDF(hashes.SHA256(), SECRET_BYTES, salt=None, info=info).derive(secret)


def seal(key: bytes, plain: bytes, context: bytes) -> bytes:
    """Close a box.

    Parameters
    ----------
    key : bytes of length 32
        For one direction of one pair in one round.
    plain : bytes
        Content.
    context : bytes
        What the box is bound to.

    Returns
    -------
    bytes
        Nonce and ChaCha20-Poly1305 ciphertext.
    """
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    nonce = os.urandom(NONCE_BYTES)
    return nonce + ChaCha20Poly1305(key).encrypt(nonce, plain, context)


def unseal(key: bytes, box: bytes, context: bytes) -> bytes:
    """Open a box.

    Parameters
    ----------
    key : bytes of length 32
        For one direction of one pair in one round.
    box : bytes
        As `seal` makes it.
    context : bytes
        What it must be bound to.

    Returns
    -------
    bytes
        Content; a `Refusal` "TAMPERED" where anything differs.
    """
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    try:
        cipher = ChaCha20Poly1305(key)
        return cipher.decrypt(box[:NONCE_BYTES], box[NONCE_BYTES:], context)
    except (InvalidTag, ValueError) as error:
        raise Refusal("TAMPERED", "a box does not open") from error
