"""What the coordinator does in a secure sum: open the sum, and nothing else."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedsdr.exceptions import Refusal
from fedsdr.secure_sum.agreement import Agreement, Context
from fedsdr.secure_sum.fixed_point import Ring, total
from fedsdr.secure_sum.masks import change, pairwise
from fedsdr.secure_sum.round_secrets import (
    SECRET_BYTES,
    PublicKeys,
    commit,
    derive,
    join,
    mask_seed_from,
    public_of,
)
from fedsdr.secure_sum.site import pair_info, self_info


@dataclass(frozen=True, slots=True, eq=False)
class MaskedSum:
    """Masked numbers of a round, to be opened with shares.

    Parameters
    ----------
    agreement : Agreement
        Parties, threshold, ring.
    context : Context
        Study, round and question.
    keys : mapping of str to PublicKeys
        Of every site that showed keys.
    shared : tuple of str
        Sites that shared their secrets.
    masked : mapping of str to ndarray of uint64, shape (n_values, words)
        From every site that stayed.
    """

    agreement: Agreement
    context: Context
    keys: Mapping[str, PublicKeys]
    shared: tuple[str, ...]
    masked: Mapping[str, Ring]

    def open(self, shares: Mapping[str, Mapping[str, bytes]]) -> NDArray[np.float64]:
        """Take the masks off the sum.

        Parameters
        ----------
        shares : mapping of str to mapping of str to bytes
            From each site that answered, a share for each site in `shared`.

        Returns
        -------
        ndarray of shape (n_values,)
            Sum over the sites that stayed. Every secret is checked against what its
            owner signed, so changed shares give a `Refusal`, not a wrong sum.
        """
        result = total(self.masked.values())
        seeds = []
        for site in self.shared:
            secret = self._recover(site, shares)
            self._check(site, secret)
            if site in self.masked:
                seeds.append(derive(secret, self_info(self.context, site)))
            else:
                result = self._without(site, secret, result)
        change(result, subtract=seeds)
        return self.agreement.ring.decode(result)

    def _recover(self, site: str, shares: Mapping[str, Mapping[str, bytes]]) -> bytes:
        numbers = {name: i for i, name in enumerate(sorted(self.keys), start=1)}
        known = {
            numbers[holder]: given[site]
            for holder, given in sorted(shares.items())
            if holder in numbers and len(given.get(site, b"")) == SECRET_BYTES
        }
        if len(known) < self.agreement.threshold:
            raise Refusal("PEERS", f"too few shares of {site!r}")
        return join(dict(list(known.items())[: self.agreement.threshold]))

    def _check(self, site: str, secret: bytes) -> None:
        """Compare a secret with what its owner signed at the beginning."""
        keys = self.keys[site]
        if site in self.masked:
            fits = commit(secret) == keys.commitment
        else:
            fits = public_of(secret) == keys.mask_key
        if not fits:
            raise Refusal("TAMPERED", f"shares of {site!r} do not fit")

    def _without(self, lost: str, secret: bytes, result: Ring) -> Ring:
        """Remove the masks that the others added for a site that was lost."""
        seeds = {
            peer: mask_seed_from(
                secret, self.keys[peer], pair_info(self.context, lost, peer)
            )
            for peer in self.masked
        }
        # What the others left in the sum is minus what the lost one would have added.
        return pairwise(result, lost, seeds)
