"""The bytes to which signatures, boxes and masks are bound, equal at both ends."""

import hashlib
from collections.abc import Iterable, Mapping

import numpy as np

from fedsdr.secure_sum.agreement import Context, digest
from fedsdr.secure_sum.fixed_point import Ring
from fedsdr.secure_sum.round_secrets import PublicKeys


def keys_message(context: Context, site: str, keys: PublicKeys) -> bytes:
    """Build the message that a site signs when it sends its keys.

    Parameters
    ----------
    context : Context
        Study, round and question.
    site : str
        Name of the site.
    keys : PublicKeys
        Keys of the round.

    Returns
    -------
    bytes
        Message to sign.
    """
    return context.bind("keys", site, keys.content)


def shown_keys(keys: Mapping[str, PublicKeys]) -> bytes:
    """Digest the keys that a site has received.

    Parameters
    ----------
    keys : mapping of str to PublicKeys
        Keys of every site that sent its keys.

    Returns
    -------
    bytes of length 32
        Equal for all sites that received the same keys.
    """
    return digest(part for s, k in sorted(keys.items()) for part in (s, k.content))


def parties(
    keys: Mapping[str, PublicKeys], shared: Iterable[str], survivors: Iterable[str]
) -> bytes:
    """Digest which sites took part in a round, and up to which stage.

    Parameters
    ----------
    keys : mapping of str to PublicKeys
        Keys of every site that sent its keys.
    shared : iterable of str
        Sites that shared their secrets.
    survivors : iterable of str
        Sites in the sum.

    Returns
    -------
    bytes
        Equal for all parties that saw the same sites.
    """
    return shown_keys(keys) + digest(sorted(shared)) + digest(sorted(survivors))


def survivors_message(context: Context, signer: str, seen: bytes) -> bytes:
    """Build the message that a site signs when it confirms the sites in the sum.

    Parameters
    ----------
    context : Context
        Study, round and question.
    signer : str
        Name of the site.
    seen : bytes
        From `parties`; computed once, since every site checks the others' signatures.

    Returns
    -------
    bytes
        Message to sign.
    """
    return context.bind("survivors", signer, seen)


def masked_message(context: Context, site: str, masked: Ring) -> bytes:
    """Build the message that a site signs when it sends masked numbers.

    Parameters
    ----------
    context : Context
        Study, round and question.
    site : str
        Name of the site.
    masked : ndarray of uint64, shape (n_values, words)
        Masked numbers.

    Returns
    -------
    bytes
        Message to sign.
    """
    raw = np.ascontiguousarray(masked, dtype="<u8")
    return context.bind("masked", site, hashlib.sha256(raw.data).digest())


def box_info(context: Context, sender: str, receiver: str, shown: bytes) -> bytes:
    """Build the context of a box.

    Parameters
    ----------
    context : Context
        Study, round and question.
    sender, receiver : str
        Names of the two sites.
    shown : bytes of length 32
        From `shown_keys`: sites that received different keys cannot open the boxes.

    Returns
    -------
    bytes
        Context for key derivation and encryption.
    """
    return context.bind("box", sender, receiver, shown)


def parcel_message(
    context: Context, dealer: str, receiver: str, shown: bytes, content: bytes
) -> bytes:
    """Build the message that a site signs when it sends shares to another.

    Parameters
    ----------
    context : Context
        Study, round and question.
    dealer, receiver : str
        Names of the two sites.
    shown : bytes of length 32
        From `shown_keys`.
    content : bytes
        Content of the parcel.

    Returns
    -------
    bytes
        Message to sign.
    """
    return context.bind("parcel", dealer, receiver, shown, content)


def complaint_message(
    context: Context, receiver: str, dealer: str, shown: bytes
) -> bytes:
    """Build the message that a site signs when it complains about shares.

    Parameters
    ----------
    context : Context
        Study, round and question.
    receiver, dealer : str
        Names of the two sites.
    shown : bytes of length 32
        From `shown_keys`.

    Returns
    -------
    bytes
        Message to sign.
    """
    return context.bind("complaint", receiver, dealer, shown)


def pair_info(context: Context, one: str, other: str) -> bytes:
    """Build the context of a pair's mask, the same at both ends.

    Parameters
    ----------
    context : Context
        Study, round and question.
    one, other : str
        Names of the two sites.

    Returns
    -------
    bytes
        Context for key derivation.
    """
    return context.bind("pair", *sorted((one, other)))


def self_info(context: Context, site: str) -> bytes:
    """Build the context of a site's self mask.

    Parameters
    ----------
    context : Context
        Study, round and question.
    site : str
        Name of the site.

    Returns
    -------
    bytes
        Context for key derivation.
    """
    return context.bind("self", site)
