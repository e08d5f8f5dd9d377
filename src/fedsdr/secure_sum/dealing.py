"""Shares with a proof: every receiver can check its own, and everyone their degree."""

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from fedsdr.exceptions import Refusal
from fedsdr.secure_sum.agreement import Context, digest
from fedsdr.secure_sum.curve_keys import (
    ORDER,
    SECRET_BYTES,
    challenge_of,
    new_private,
    proves,
    raw_public,
    scalar_of,
)
from fedsdr.secure_sum.sharing import dual_weights, join, split

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

#: The seed of the self mask, and the private mask key.
N_SECRETS = 2
HELD_BYTES = 2 * N_SECRETS * SECRET_BYTES


@dataclass(frozen=True, slots=True)
class Proof:
    r"""What a dealer publishes about the shares of one receiver.

    Parameters
    ----------
    root : bytes of length 32
        Digest of the keys of all sites, of the nonces, and of the commitments to the
        shares of all receivers.
    nonces : bytes of length 64
        Public halves of the blinding keys, one per secret.
    commitments : bytes of length 64
        Hashes of the receiver's shares with their blinds, one per secret.
    responses : bytes of length 64
        Blind plus challenge times share, one per secret.

    Notes
    -----
    A secret s is :math:`p(0)` for a polynomial p, and a blinding key m is
    :math:`q(0)` for a polynomial q, both of degree ``threshold - 1``. Receiver i gets
    :math:`p(i)` and :math:`q(i)` in a box. The dealer publishes hashes of these pairs
    for all receivers, and the public half of m. The hash of all that, and of the public
    half of s that it has signed before, is the challenge c, and the dealer publishes
    :math:`z(i) = q(i) + c\, p(i)` for all receivers.

    Receiver i checks the hash and the equation for its own pair; everyone can check
    that all z lie on a polynomial of that degree, and that :math:`z(0)` is Schnorr's
    answer for the signed public half of s. Pairs and key were fixed before c was known,
    so if all this holds, all pairs that fit hash and equation lie on two polynomials,
    and :math:`p(0)` is s up to its sign. Otherwise at most one of about
    :math:`2^{251}` challenges passes for the degree, and one for each of four pairs of
    signs. So every set of shares that were checked opens the same secret, the one that
    the dealer has signed: those that receivers got, and those that they show later,
    which everyone checks in the same way. Since q is random, z says nothing about p
    but for one bit: :math:`q(0)` is a private key, as which half of the numbers serve.
    """

    root: bytes
    nonces: bytes
    commitments: bytes
    responses: bytes

    SIZE = SECRET_BYTES * (1 + 3 * N_SECRETS)

    @classmethod
    def read(cls, raw: bytes) -> Self:
        """Read a proof.

        Parameters
        ----------
        raw : bytes of length ``SIZE``
            From `content`.

        Returns
        -------
        Proof
            Not checked yet.
        """
        width = N_SECRETS * SECRET_BYTES
        ends = [SECRET_BYTES + width * i for i in range(4)]
        parts = [raw[start : start + width] for start in ends[:3]]
        return cls(raw[:SECRET_BYTES], *parts)

    @property
    def content(self) -> bytes:
        """Bytes that are sent and signed."""
        return self.root + self.nonces + self.commitments + self.responses

    def response(self, number: int) -> int:
        """Give the response for one secret.

        Parameters
        ----------
        number : int
            Number of the secret.

        Returns
        -------
        int
            Below `ORDER`, for an honest dealer.
        """
        return int.from_bytes(_nth(self.responses, number))


def deal(
    context: Context,
    dealer: str,
    receivers: Sequence[str],
    keys: Sequence["X25519PrivateKey"],
    threshold: int,
    shown: bytes,
) -> dict[str, tuple[bytes, Proof]]:
    """Split the secrets of a site, with proofs.

    Parameters
    ----------
    context : Context
        Study, round and question.
    dealer : str
        Name of the site.
    receivers : sequence of str
        Names of all sites that sent keys, sorted, this one included.
    keys : sequence of X25519PrivateKey
        Secrets of the site.
    threshold : int
        Number of shares that recover a secret.
    shown : bytes of length 32
        Digest of the keys of all sites.

    Returns
    -------
    dict of str to (bytes, Proof)
        For each receiver the content of its box, shares and then blinds, and the proof.
    """
    blinding = [new_private() for _ in keys]
    columns = [
        split(scalar_of(key), threshold, len(receivers)) for key in (*keys, *blinding)
    ]
    held = {name: b"".join(parts) for name, *parts in zip(receivers, *columns)}  # noqa: B905
    nonces = b"".join(raw_public(key) for key in blinding)
    commitments = {
        name: commitments_of(context, dealer, name, own) for name, own in held.items()
    }
    root = root_of(shown, nonces, commitments)
    challenges = _challenges(context, dealer, root, len(keys))
    found = {}
    for name, own in held.items():
        responses = b"".join(
            _response(opening(own, number), challenge).to_bytes(SECRET_BYTES)
            for number, challenge in enumerate(challenges)
        )
        found[name] = (own, Proof(root, nonces, commitments[name], responses))
    return found


def commitments_of(context: Context, dealer: str, receiver: str, held: bytes) -> bytes:
    """Commit to the shares of a receiver.

    Parameters
    ----------
    context : Context
        Study, round and question.
    dealer, receiver : str
        Names of the two sites.
    held : bytes of length 128
        Shares and blinds.

    Returns
    -------
    bytes of length 64
        For each secret a hash of share and blind; blinds are random, so that the hash
        does not reveal the share.
    """
    return b"".join(
        commitment_of(context, dealer, receiver, number, opening(held, number))
        for number in range(N_SECRETS)
    )


def commitment_of(
    context: Context, dealer: str, receiver: str, number: int, opened: bytes
) -> bytes:
    """Commit to one share.

    Parameters
    ----------
    context : Context
        Study, round and question.
    dealer, receiver : str
        Names of the two sites.
    number : int
        Number of the secret.
    opened : bytes of length 64
        Share and blind.

    Returns
    -------
    bytes of length 32
        SHA-256.
    """
    message = context.bind("share", dealer, receiver, str(number), opened)
    return hashlib.sha256(message).digest()


def opening(held: bytes, number: int) -> bytes:
    """Give what a receiver shows of the shares that it holds, to open one secret.

    Parameters
    ----------
    held : bytes of length 128
        Shares and blinds of one dealer.
    number : int
        Number of the secret.

    Returns
    -------
    bytes of length 64
        Share and blind.
    """
    return _nth(held, number) + _nth(held, N_SECRETS + number)


def root_of(shown: bytes, nonces: bytes, commitments: Mapping[str, bytes]) -> bytes:
    """Digest everything that a dealer fixes before it learns its challenge.

    Parameters
    ----------
    shown : bytes of length 32
        Digest of the keys of all sites. Without it a dealer could first compute its
        challenge, and then the key for which its responses are right.
    nonces : bytes of length 64
        Public halves of the blinding keys.
    commitments : mapping of str to bytes
        Commitments to the shares of each receiver.

    Returns
    -------
    bytes of length 32
        SHA-256.
    """
    listed = (
        part for name in sorted(commitments) for part in (name, commitments[name])
    )
    return digest([shown, nonces, *listed])


def holds(
    context: Context, dealer: str, receiver: str, held: bytes, proof: Proof
) -> bool:
    """Check the shares of one receiver.

    Parameters
    ----------
    context : Context
        Study, round and question.
    dealer, receiver : str
        Names of the two sites.
    held : bytes
        Content of the box.
    proof : Proof
        What the dealer has signed about it.

    Returns
    -------
    bool
        Whether shares and blinds fit their commitments and responses.
    """
    return len(held) == HELD_BYTES and all(
        fits(context, dealer, receiver, number, opening(held, number), proof)
        for number in range(N_SECRETS)
    )


def fits(
    context: Context,
    dealer: str,
    receiver: str,
    number: int,
    opened: bytes,
    proof: Proof,
) -> bool:
    """Check one share, which its receiver holds or shows.

    Parameters
    ----------
    context : Context
        Study, round and question.
    dealer, receiver : str
        Names of the two sites.
    number : int
        Number of the secret.
    opened : bytes
        Share and blind.
    proof : Proof
        What the dealer has signed about it.

    Returns
    -------
    bool
        Whether they fit commitment and response. The commitment alone is not enough:
        a dealer may have committed to anything for a receiver that does not complain.
    """
    if len(opened) != 2 * SECRET_BYTES:
        return False
    committed = _nth(proof.commitments, number)
    challenge = challenge_of(_digest(context, dealer, proof.root, number))
    return commitment_of(
        context, dealer, receiver, number, opened
    ) == committed and _response(opened, challenge) == proof.response(number)


def check_dealing(
    context: Context,
    dealer: str,
    publics: Sequence[bytes],
    proofs: Mapping[str, Proof],
    threshold: int,
    word: Sequence[int],
    shown: bytes,
) -> None:
    """Check everything about a dealing that is public.

    Parameters
    ----------
    context : Context
        Study, round and question.
    dealer : str
        Name of the site.
    publics : sequence of bytes
        Public halves of its secrets, as it has signed them.
    proofs : mapping of str to Proof
        For every receiver.
    threshold : int
        Number of shares that recover a secret.
    word : sequence of int
        From `draw_word`.
    shown : bytes of length 32
        Digest of the keys of all sites.

    Raises
    ------
    Refusal
        "TAMPERED", naming the dealer.
    """
    ordered = [proofs[name] for name in sorted(proofs)]
    first = ordered[0]
    commitments = {name: proof.commitments for name, proof in proofs.items()}
    same = {(proof.root, proof.nonces) for proof in ordered} == {
        (root_of(shown, first.nonces, commitments), first.nonces)
    }
    if not same:
        raise Refusal(
            "TAMPERED", f"site {dealer!r} contradicts itself about its shares"
        )
    for number, public in enumerate(publics):
        challenge = _digest(context, dealer, first.root, number)
        values = [proof.response(number) for proof in ordered]
        nonce = _nth(first.nonces, number)
        weighted = sum(weight * v for weight, v in zip(word, values, strict=True))
        if weighted % ORDER or not proves(
            nonce, public, challenge, _at_zero(values, threshold)
        ):
            raise Refusal(
                "TAMPERED", f"the shares of site {dealer!r} do not open what it signed"
            )


def draw_word(count: int, threshold: int) -> list[int]:
    """Draw a random word of the dual code, to check degrees with.

    Parameters
    ----------
    count : int
        Number of shares.
    threshold : int
        Number of shares that recover a secret.

    Returns
    -------
    list of int
        Weights of the values at 1, ..., count. The weighted sum is zero for every
        polynomial of degree below the threshold, and for other values with a
        probability of 1 / `ORDER` (Cascudo and David, SCRAPE, 2017).

    Notes
    -----
    Drawn after the values are known, one word can check the shares of all dealers.
    """
    coefficients = [secrets.randbelow(ORDER) for _ in range(count - threshold)]
    word = []
    for number, weight in enumerate(dual_weights(count), start=1):
        factor = 0
        for coefficient in coefficients:
            factor = (factor * number + coefficient) % ORDER
        word.append(factor * weight % ORDER)
    return word


def _at_zero(values: Sequence[int], threshold: int) -> int:
    few = {i: (v % ORDER).to_bytes(SECRET_BYTES) for i, v in enumerate(values, 1)}
    chosen = dict(list(few.items())[:threshold])
    return int.from_bytes(join(chosen))


def _response(opened: bytes, challenge: int) -> int:
    share, blind = (int.from_bytes(_nth(opened, i)) for i in (0, 1))
    return (blind + challenge * share) % ORDER


def _digest(context: Context, dealer: str, root: bytes, number: int) -> bytes:
    message = context.bind("challenge", dealer, str(number), root)
    return hashlib.sha256(message).digest()


def _challenges(context: Context, dealer: str, root: bytes, count: int) -> list[int]:
    return [challenge_of(_digest(context, dealer, root, i)) for i in range(count)]


def _nth(parts: bytes, number: int) -> bytes:
    return parts[number * SECRET_BYTES : (number + 1) * SECRET_BYTES]
