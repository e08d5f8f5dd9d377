"""An adversary who computes from everything that has passed through it."""

import hashlib
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from fedsdr.exceptions import Refusal
from fedsdr.secure_sum import Agreement, Context, MaskedSum, PublicKeys
from fedsdr.secure_sum.bindings import box_info, pair_info, self_info, shown_keys
from fedsdr.secure_sum.curve_keys import agree, private_from, seed_of
from fedsdr.secure_sum.fixed_point import Ring, total
from fedsdr.secure_sum.masks import apply_masks
from fedsdr.secure_sum.parcels import Parcel
from fedsdr.secure_sum.round_secrets import derive, unseal

#: Numbers under a mask that was not removed are near 2^55 in size.
PLAUSIBLE = 2.0**40

Shares = Mapping[str, Mapping[str, bytes]]


@dataclass(frozen=True, slots=True)
class View:
    """What a coordinator has seen of one round; nothing that only sites know.

    Parameters
    ----------
    agreement, context
        Public terms of the round.
    keys : mapping of str to PublicKeys
        Keys that sites have sent.
    parcels : mapping of str to mapping of str to bytes
        Parcels of every dealer, by receiver.
    masked : mapping of str to ndarray
        Masked numbers.
    shares : mapping of str to mapping of str to bytes
        Shares that sites have shown; empty before the sum is opened.
    """

    agreement: Agreement
    context: Context
    keys: Mapping[str, PublicKeys]
    parcels: Mapping[str, Mapping[str, bytes]]
    masked: Mapping[str, Ring]
    shares: Shares

    def unmask(self, victim: str) -> np.ndarray | None:
        """Try to read the numbers of one site.

        Returns
        -------
        ndarray or None
            Numbers that look like sums; None if every attempt gives noise.
        """
        for pair in _guesses():
            for own in self._self_masks(victim):
                found = self._strip(victim, pair, own)
                if found is not None and (np.abs(found) < PLAUSIBLE).all():
                    return found
        return None

    def open_boxes(self) -> dict[tuple[str, str], bytes]:
        """Try to open boxes with keys that follow from what everybody knows."""
        opened = {}
        for dealer, sent in self.parcels.items():
            for receiver, raw in sent.items():
                parcel = Parcel.read(raw)
                info = box_info(self.context, dealer, receiver, shown_keys(self.keys))
                public = (parcel.ephemeral, self.keys[receiver].box_key)
                for guess in _guesses():
                    secret = guess(*public)
                    for key in (secret, derive(secret, info)):
                        try:
                            opened[dealer, receiver] = unseal(key, parcel.box, info)
                        except Refusal:
                            continue
        return opened

    def _self_masks(self, victim: str) -> Iterator[bytes | None]:
        """Give seeds that the self mask might have; None for no mask at all."""
        yield None
        info = self_info(self.context, victim)
        public = self.keys[victim]
        candidates = [bytes(32), public.commitment, public.mask_key, public.box_key]
        # A single share must not be the secret.
        candidates += [given[victim][:32] for given in self.shares.values()]
        if self.shares:
            names = tuple(sorted(self.parcels))
            rounds = MaskedSum(
                self.agreement, self.context, self.keys, names, self.masked
            )
            alone = {
                holder: {dealer: own[:32] for dealer, own in given.items()}
                for holder, given in self.shares.items()
            }
            candidates.append(rounds._recover(victim, alone))
        for one in candidates:
            yield one
            yield derive(one, info)
            yield derive(seed_of(one), info)

    def _strip(
        self, victim: str, guess: "Guess", own: bytes | None
    ) -> np.ndarray | None:
        elements = total([self.masked[victim]])
        seeds = {
            peer: derive(
                guess(self.keys[victim].mask_key, self.keys[peer].mask_key),
                pair_info(self.context, victim, peer),
            )
            for peer in self.masked
            if peer != victim
        }
        if any(len(seed) != 32 for seed in seeds.values()):
            return None
        apply_masks(
            elements,
            add=[seed for peer, seed in seeds.items() if peer < victim],
            subtract=[
                *([] if own is None else [own]),
                *(seed for peer, seed in seeds.items() if peer > victim),
            ],
        )
        return self.agreement.ring.decode(elements)


class Guess:
    """A way to compute the secret of two keys from their public halves."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __call__(self, one: bytes, other: bytes) -> bytes:
        """Compute what a careless program might use."""
        low, high = sorted((one, other))
        both = bytes(a ^ b for a, b in zip(one, other, strict=True))
        ways = (
            bytes(32),
            b"",
            both,
            low,
            high,
            low + high,
            high + low,
            hashlib.sha256(low + high).digest(),
            hashlib.sha256(both).digest(),
            _product(low, high),
            _product(high, low),
        )
        return ways[self.number]


N_GUESSES = 11


def _guesses() -> Iterator[Guess]:
    return map(Guess, range(N_GUESSES))


def _product(one: bytes, other: bytes) -> bytes:
    """Use a public key as if it were a private one."""
    private = private_from(one)
    try:
        return bytes(32) if private is None else agree(private, other)
    except Refusal:
        return bytes(32)


def repeats(views: list[View]) -> bool:
    """Return whether anything that must be used once was used in two rounds."""
    return any(
        one.keys[site].content == other.keys[site].content
        or getattr(one.keys[site], name) == getattr(other.keys[site], name)
        or (one.masked[site] == other.masked[site]).any()
        for one, other in itertools.combinations(views, 2)
        for site in one.keys
        for name in ("mask_key", "box_key", "commitment")
    )
