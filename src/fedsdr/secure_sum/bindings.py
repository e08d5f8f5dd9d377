"""What signatures, boxes and masks are bound to: the same bytes at both ends."""

import hashlib
from collections.abc import Iterable, Mapping

import numpy as np

from fedsdr.secure_sum.agreement import Context, digest
from fedsdr.secure_sum.fixed_point import Ring
from fedsdr.secure_sum.round_secrets import PublicKeys


def keys_message(context: Context, site: str, keys: PublicKeys) -> bytes:
    """Write what a site signs when it shows its keys.

    Parameters
    ----------
    context : Context
        Study, round and question.
    site : str
        Its name.
    keys : PublicKeys
        Of the round.

    Returns
    -------
    bytes
        To be signed.
    """
    return context.bind("keys", site, keys.content)


def shown_keys(keys: Mapping[str, PublicKeys]) -> bytes:
    """Digest the keys that a site was shown.

    Parameters
    ----------
    keys : mapping of str to PublicKeys
        Of every site that showed some.

    Returns
    -------
    bytes of length 32
        The same for whoever was shown the same.
    """
    return digest(part for s, k in sorted(keys.items()) for part in (s, k.content))


def parties(
    keys: Mapping[str, PublicKeys], shared: Iterable[str], survivors: Iterable[str]
) -> bytes:
    """Digest who took part in a round, and how far.

    Parameters
    ----------
    keys : mapping of str to PublicKeys
        Of every site that showed some.
    shared : iterable of str
        Sites that shared their secrets.
    survivors : iterable of str
        Sites in the sum.

    Returns
    -------
    bytes
        The same for whoever saw the same.
    """
    return shown_keys(keys) + digest(sorted(shared)) + digest(sorted(survivors))


def survivors_message(context: Context, signer: str, seen: bytes) -> bytes:
    """Write what a site signs when it confirms who is in the sum.

    Parameters
    ----------
    context : Context
        Study, round and question.
    signer : str
        Its name.
    seen : bytes
        From `parties`; computed once, since every site checks the others' signatures.

    Returns
    -------
    bytes
        To be signed.
    """
    return context.bind("survivors", signer, seen)


def masked_message(context: Context, site: str, masked: Ring) -> bytes:
    """Write what a site signs when it sends masked numbers.

    Parameters
    ----------
    context : Context
        Study, round and question.
    site : str
        Its name.
    masked : ndarray of uint64, shape (n_values, words)
        The numbers.

    Returns
    -------
    bytes
        To be signed.
    """
    raw = np.ascontiguousarray(masked, dtype="<u8")
    return context.bind("masked", site, hashlib.sha256(raw.data).digest())


def pair_info(context: Context, one: str, other: str) -> bytes:
    """Write the context of a pair's mask, the same at both ends.

    Parameters
    ----------
    context : Context
        Study, round and question.
    one, other : str
        The pair.

    Returns
    -------
    bytes
        For key derivation.
    """
    return context.bind("pair", *sorted((one, other)))


def self_info(context: Context, site: str) -> bytes:
    """Write the context of a site's self mask.

    Parameters
    ----------
    context : Context
        Study, round and question.
    site : str
        Its name.

    Returns
    -------
    bytes
        For key derivation.
    """
    return context.bind("self", site)
