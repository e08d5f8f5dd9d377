"""One round's secrets of one site: key pairs, a self mask and boxes."""

import hashlib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fedsdr.exceptions import Refusal

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

SECRET_BYTES = 32
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
        Hash of the seed of the self mask.
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


class RoundSecrets:
    """Fresh secrets of a site, for one round only."""

    def __init__(self) -> None:
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

        self._mask = X25519PrivateKey.generate()
        self._box = X25519PrivateKey.generate()
        self.seed = os.urandom(SECRET_BYTES)

    @property
    def mask_secret(self) -> bytes:
        """Private half of the mask key, which is split into shares."""
        return self._mask.private_bytes_raw()

    def public(self) -> PublicKeys:
        """Compute the public halves.

        Returns
        -------
        PublicKeys
            Not signed yet.
        """
        return PublicKeys(
            self._mask.public_key().public_bytes_raw(),
            self._box.public_key().public_bytes_raw(),
            commit(self.seed),
        )

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

    def box_secret(self, peer: PublicKeys, info: bytes) -> bytes:
        """Derive the key of boxes from one site to another.

        Parameters
        ----------
        peer : PublicKeys
            Of the peer.
        info : bytes
            Context, which names sender and receiver.

        Returns
        -------
        bytes of length 32
            The same at both ends.
        """
        return derive(agree(self._box, peer.box_key), info)


def agree(private: "X25519PrivateKey", public: bytes) -> bytes:
    """Agree on a secret with the holder of another key.

    Parameters
    ----------
    private : X25519PrivateKey
        Own key.
    public : bytes of length 32
        The other's.

    Returns
    -------
    bytes of length 32
        Shared secret; a `Refusal` if `public` is not a valid key.
    """
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey

    try:
        return private.exchange(X25519PublicKey.from_public_bytes(public))
    except ValueError as error:
        raise Refusal("TAMPERED", "a public key is not one") from error


def mask_seed_from(secret: bytes, peer: PublicKeys, info: bytes) -> bytes:
    """Derive a pair's seed from the recovered mask key of a lost site.

    Parameters
    ----------
    secret : bytes of length 32
        Private mask key of the lost site.
    peer : PublicKeys
        Of the other site of the pair.
    info : bytes
        Context.

    Returns
    -------
    bytes of length 32
        The pair's seed.
    """
    return derive(agree(_private_key(secret), peer.mask_key), info)


def public_of(secret: bytes) -> bytes:
    """Give the public half of a private mask key.

    Parameters
    ----------
    secret : bytes of length 32
        Private key.

    Returns
    -------
    bytes of length 32
        Public key.
    """
    return _private_key(secret).public_key().public_bytes_raw()


def _private_key(secret: bytes) -> "X25519PrivateKey":
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    return X25519PrivateKey.from_private_bytes(secret)


def commit(seed: bytes) -> bytes:
    """Commit to a seed.

    Parameters
    ----------
    seed : bytes of length 32
        Random, so that its hash does not reveal it.

    Returns
    -------
    bytes of length 32
        SHA-256.
    """
    return hashlib.sha256(b"fedsdr-self-mask" + seed).digest()


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
