"""X25519 keys whose private halves are shared, and proofs that the shares fit."""

import os
from typing import TYPE_CHECKING

from fedsdr.exceptions import Refusal

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

SECRET_BYTES = 32

#: Order of the base point: secrets and shares are numbers modulo this prime.
ORDER = 2**252 + 27742317777372353535851937790883648493

# Curve25519 is y^2 = x^3 + A x^2 + x modulo this prime; points are known by their x.
_FIELD = 2**255 - 19
_A = 486662
_LOWEST, _BEYOND = 2**254, 2**255
#: Coordinates of all points, of the curve and of its twist, whose order divides 8.
LOW_ORDER = frozenset(
    {
        0,
        1,
        _FIELD - 1,
        0x00B8495F16056286FDB1329CEB8D09DA6AC49FF1FAE35616AEB8413B7C7AEBE0,
        0x57119FD0DD4E22D8868E1C58C45C44045BEF839C55B1D0B1248C50A3BC959C5F,
    }
)
# Products that are tried; nearly every one has a private key.
_MAX_TRIES = 64


def new_private() -> "X25519PrivateKey":
    """Draw a private key.

    Returns
    -------
    X25519PrivateKey
        From the system's random numbers.
    """
    return _private_from_raw(os.urandom(SECRET_BYTES))


def raw_public(private: "X25519PrivateKey") -> bytes:
    """Give the public half of a key.

    Parameters
    ----------
    private : X25519PrivateKey
        Private half.

    Returns
    -------
    bytes of length 32
        Public half.
    """
    return private.public_key().public_bytes_raw()


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
        Shared secret; a `Refusal` if `public` is of low order, so that the secret would
        be zero for everybody.
    """
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey

    try:
        return private.exchange(X25519PublicKey.from_public_bytes(public))
    except ValueError as error:
        raise Refusal("TAMPERED", "a public key is not one") from error


def check_public(site: str, *keys: bytes) -> None:
    """Check that public keys of a site can be used.

    Parameters
    ----------
    site : str
        Site that has sent and signed them.
    *keys : bytes of length 32
        Keys.

    Raises
    ------
    Refusal
        "TAMPERED", naming the site, if a key is of low order, so that every site that
        uses it would fail and seem to be at fault; or if it is not in its usual form.
    """
    for key in keys:
        # X25519 ignores the highest bit.
        if (int.from_bytes(key, "little") % _BEYOND) % _FIELD in LOW_ORDER:
            raise Refusal("TAMPERED", f"site {site!r} has sent a key of low order")
        if not _is_usual(key):
            raise Refusal("TAMPERED", f"site {site!r} has sent an unusual form of key")


def _is_usual(key: bytes) -> bool:
    """Return whether these are the bytes that X25519 itself gives for the point."""
    return int.from_bytes(key, "little") < _FIELD


def scalar_of(private: "X25519PrivateKey") -> bytes:
    """Give a private key as the number that is split into shares.

    Parameters
    ----------
    private : X25519PrivateKey
        Private key.

    Returns
    -------
    bytes of length 32
        Number below `ORDER`, highest byte first.
    """
    return (_clamped(private.private_bytes_raw()) % ORDER).to_bytes(SECRET_BYTES)


def private_from(scalar: bytes) -> "X25519PrivateKey | None":
    """Find a private key from a number that was recovered from shares.

    Parameters
    ----------
    scalar : bytes of length 32
        From `scalar_of`, or minus that: both have the same public key.

    Returns
    -------
    X25519PrivateKey or None
        A private key with the same public key; None where there is none.

    Notes
    -----
    X25519 multiplies by whole numbers from 2^254 to 2^255 that are divisible by 8; of
    the numbers that are equal modulo the order at most one is of this form.
    """
    value = int.from_bytes(scalar)
    for one in (value, -value):
        start = one % ORDER
        number = start + (-start * pow(ORDER, -1, 8)) % 8 * ORDER
        if _LOWEST <= number < _BEYOND:
            return _private_from_raw(number.to_bytes(SECRET_BYTES, "little"))
    return None


def public_of(scalar: bytes) -> bytes:
    """Give the public key of a number that was recovered from shares.

    Parameters
    ----------
    scalar : bytes of length 32
        From `scalar_of`, or minus that.

    Returns
    -------
    bytes
        Public key; empty where the number is not that of a private key.
    """
    private = private_from(scalar)
    return b"" if private is None else raw_public(private)


def multiply(scalar: bytes, public: bytes) -> bytes:
    """Agree on a secret with a number that was recovered from shares.

    Parameters
    ----------
    scalar : bytes of length 32
        Any number that is not 0 modulo the order, or minus that.
    public : bytes of length 32
        Public key of the other.

    Returns
    -------
    bytes of length 32
        What `agree` gives with a private key of this number. A `Refusal` if there can
        be none.

    Notes
    -----
    A few numbers have no private key, see `private_from`, and a site may have chosen
    one of them. So the number is written as a product of two that have one.
    """
    value = int.from_bytes(scalar)
    for _ in range(_MAX_TRIES):
        factor = new_private()
        inverse = pow(int.from_bytes(scalar_of(factor)), -1, ORDER)
        rest = private_from((value * inverse % ORDER).to_bytes(SECRET_BYTES))
        if rest is not None:
            return agree(rest, agree(factor, public))
    raise Refusal("TAMPERED", "what was recovered is not a secret")


def has_public(scalar: bytes, public: bytes) -> bool:
    """Check that a number is the private half of a key, whatever form the key has.

    Parameters
    ----------
    scalar : bytes of length 32
        Number that was recovered from shares.
    public : bytes of length 32
        Key that a site has signed.

    Returns
    -------
    bool
        Whether X25519 does the same with both.

    Notes
    -----
    Keys of sites may differ from those of `raw_public` by a point of low order, which
    X25519 removes and which no proof shows. They are equal to everybody who uses them,
    so they must be equal here.
    """
    if public_of(scalar) == public:
        return True
    factor = new_private()
    try:
        return agree(factor, public) == multiply(scalar, raw_public(factor))
    except Refusal:
        return False


def seed_of(scalar: bytes) -> bytes:
    """Give the secret from which masks are derived.

    Parameters
    ----------
    scalar : bytes of length 32
        From `scalar_of`, or minus that.

    Returns
    -------
    bytes of length 32
        The same for both, as the public key is.
    """
    value = int.from_bytes(scalar) % ORDER
    return min(value, ORDER - value).to_bytes(SECRET_BYTES)


def challenge_of(digest: bytes) -> int:
    """Read a challenge from a digest.

    Parameters
    ----------
    digest : bytes of length 32
        Hash of everything that was fixed before.

    Returns
    -------
    int
        Number, modulo `ORDER`, by which X25519 multiplies with the digest as key.
    """
    return _clamped(digest) % ORDER


def proves(nonce: bytes, public: bytes, digest: bytes, response: int) -> bool:
    r"""Check Schnorr's proof that a number is the private half of a key.

    Parameters
    ----------
    nonce : bytes of length 32
        Public half M of a key m, used once.
    public : bytes of length 32
        Public half P of the key s.
    digest : bytes of length 32
        Hash of everything that was fixed before, with the challenge c.
    response : int
        The number :math:`z = m + c s` modulo `ORDER`.

    Returns
    -------
    bool
        Whether :math:`z B = \pm M \pm c P` for the base point B.

    Notes
    -----
    X25519 knows a point by its x, that is, without its sign. For points with
    coordinates a and b those of their sum and of their difference are the two roots of

    .. math:: (a - b)^2 w^2 - 2 ((a + b)(a b + 1) + 2 A a b) w + (a b - 1)^2

    (Renes and Smith, qDSA, 2017), so the sign of s remains open, and does not matter.
    With a on the twist of the curve and b on the curve the roots are no numbers of the
    field; with both on the twist they are on it, and :math:`z B` is not. The challenge
    is a multiple of 8, so a point of low order in P remains open, see `has_public`; one
    in M makes the proof fail.
    """
    multiplier = _private_from_raw(digest)
    total = public_of((response % ORDER).to_bytes(SECRET_BYTES))
    if not total:
        # An honest dealer has such a response with a probability of 2^-126.
        return False
    try:
        product = agree(multiplier, public)
    except Refusal:
        return False
    return _is_sum(*map(_coordinate, (nonce, product, total)))


def _is_sum(a: int, b: int, w: int) -> bool:
    middle = (a + b) * (a * b + 1) + 2 * _A * a * b
    value = (a - b) ** 2 * w * w - 2 * middle * w + (a * b - 1) ** 2
    return value % _FIELD == 0


def _coordinate(point: bytes) -> int:
    return int.from_bytes(point, "little") % _FIELD


def _clamped(raw: bytes) -> int:
    """Read the number by which X25519 multiplies with these bytes as private key."""
    number = int.from_bytes(raw, "little")
    return number & (_LOWEST - 8) | _LOWEST


def _private_from_raw(raw: bytes) -> "X25519PrivateKey":
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    return X25519PrivateKey.from_private_bytes(raw)
