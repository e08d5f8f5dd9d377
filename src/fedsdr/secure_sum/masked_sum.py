"""The coordinator's part of a secure sum: removes the masks from the total."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations, islice

import numpy as np
from numpy.typing import NDArray

from fedsdr.exceptions import Refusal
from fedsdr.secure_sum.agreement import Agreement, Context
from fedsdr.secure_sum.bindings import pair_info, self_info
from fedsdr.secure_sum.curve_keys import SECRET_BYTES, has_public, seed_of
from fedsdr.secure_sum.fixed_point import Ring, total
from fedsdr.secure_sum.masks import apply_masks, pairwise
from fedsdr.secure_sum.round_secrets import PublicKeys, derive, mask_seed_from
from fedsdr.secure_sum.sharing import join

# Largest number of sets of shares that are tried for one secret.
MAX_TRIES = 1000


@dataclass(frozen=True, slots=True, eq=False)
class MaskedSum:
    """Masked numbers of a round, whose sum is opened with shares.

    Parameters
    ----------
    agreement : Agreement
        Parties, threshold, ring.
    context : Context
        Study, round and question.
    keys : mapping of str to PublicKeys
        Keys of every site that sent its keys.
    shared : tuple of str
        Sites that shared their secrets.
    masked : mapping of str to ndarray of uint64, shape (n_values, words)
        Masked numbers of every site that stayed.
    """

    agreement: Agreement
    context: Context
    keys: Mapping[str, PublicKeys]
    shared: tuple[str, ...]
    masked: Mapping[str, Ring]

    def open(self, shares: Mapping[str, Mapping[str, bytes]]) -> NDArray[np.float64]:
        """Remove the masks from the sum.

        Parameters
        ----------
        shares : mapping of str to mapping of str to bytes
            For each site that answered, its shares of each site in `shared`.

        Returns
        -------
        ndarray of shape (n_values,)
            Sum over the sites that stayed. Every secret is checked against what its
            owner signed, so changed shares give a `Refusal`, not a wrong sum.
        """
        if len(self.masked) < self.agreement.threshold:
            raise Refusal("PEERS", "too few sites for a sum")
        result = total(self.masked.values())
        seeds = []
        for site in self.shared:
            secret = self._recover(site, shares)
            if site in self.masked:
                seeds.append(derive(seed_of(secret), self_info(self.context, site)))
            else:
                result = self._without(site, secret, result)
        apply_masks(result, subtract=seeds)
        return self.agreement.ring.decode(result)

    def _recover(self, site: str, shares: Mapping[str, Mapping[str, bytes]]) -> bytes:
        numbers = {name: i for i, name in enumerate(sorted(self.keys), start=1)}
        known = {
            numbers[holder]: given[site]
            for holder, given in sorted(shares.items())
            if holder in numbers and len(given.get(site, b"")) == SECRET_BYTES
        }
        threshold = self.agreement.threshold
        if len(known) < threshold:
            raise Refusal("PEERS", f"too few shares of {site!r}")
        # One wrong share gives a wrong secret: try other sets before giving up.
        for chosen in islice(combinations(known.items(), threshold), MAX_TRIES):
            secret = join(dict(chosen))
            if self._fits(site, secret):
                return secret
        raise Refusal("TAMPERED", f"shares of {site!r} do not fit")

    def _fits(self, site: str, secret: bytes) -> bool:
        """Compare a secret with the public half that its owner has signed."""
        seed_key, mask_key = self.keys[site].shared
        return has_public(secret, seed_key if site in self.masked else mask_key)

    def _without(self, lost: str, secret: bytes, result: Ring) -> Ring:
        """Remove the masks that the others have added for a lost site."""
        seeds = {
            peer: mask_seed_from(
                secret, self.keys[peer], pair_info(self.context, lost, peer)
            )
            for peer in self.masked
        }
        # Masks left in the sum are minus those that the lost site would have added.
        return pairwise(result, lost, seeds)
