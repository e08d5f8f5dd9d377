"""A finished round, from which every site can open the sum itself."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedsdr.exceptions import Refusal
from fedsdr.secure_sum.agreement import Agreement, Context
from fedsdr.secure_sum.bindings import (
    keys_message,
    masked_message,
    parties,
    survivors_message,
)
from fedsdr.secure_sum.fixed_point import Ring
from fedsdr.secure_sum.identity import check_signature
from fedsdr.secure_sum.masked_sum import MaskedSum
from fedsdr.secure_sum.round_secrets import PublicKeys


@dataclass(frozen=True, slots=True, eq=False)
class OpenedRound:
    """Everything by which the sum of a round can be opened and checked.

    Parameters
    ----------
    keys : mapping of str to PublicKeys
        Signed keys of every site that sent its keys.
    shared : tuple of str
        Sites that shared their secrets.
    masked : mapping of str to ndarray of uint64, shape (n_values, words)
        Masked numbers of every site that stayed.
    signatures : mapping of str to bytes
        Signatures of the masked numbers, by their sites.
    confirmed : mapping of str to bytes
        Signatures of which sites stayed.
    shares : mapping of str to mapping of str to bytes
        For each site that answered, its shares of each site in `shared`.

    Notes
    -----
    Nothing in it is secret: the coordinator has seen all of it, and it opens the sum
    and nothing smaller. Nobody can make up another sum, since sites have signed their
    masked numbers and committed to their masks, and enough of them have signed the set
    of sites.
    """

    keys: Mapping[str, PublicKeys]
    shared: tuple[str, ...]
    masked: Mapping[str, Ring]
    signatures: Mapping[str, bytes]
    confirmed: Mapping[str, bytes]
    shares: Mapping[str, Mapping[str, bytes]]

    def open(
        self, agreement: Agreement, context: Context, n_values: int
    ) -> NDArray[np.float64]:
        """Check all signatures and commitments, and open the sum.

        Parameters
        ----------
        agreement : Agreement
            Parties, threshold, ring.
        context : Context
            Study, round and question that the sum must belong to.
        n_values : int
            Length of the sum.

        Returns
        -------
        ndarray of shape (n_values,)
            Sum over the sites that stayed; a `Refusal` if anything does not fit.
        """
        self._check_sets(agreement)
        if any(one.shape[0] != n_values for one in self.masked.values()):
            raise Refusal("MALFORMED", "the sum has another length")
        roster, seen = agreement.roster, parties(self.keys, self.shared, self.masked)
        for site, public in self.keys.items():
            message = keys_message(context, site, public)
            check_signature(roster, site, public.signature, message)
            public.check(site)
        for site, masked in self.masked.items():
            message = masked_message(context, site, masked)
            check_signature(roster, site, self.signatures[site], message)
        for site, signature in self.confirmed.items():
            message = survivors_message(context, site, seen)
            check_signature(roster, site, signature, message)
        sums = MaskedSum(agreement, context, self.keys, self.shared, self.masked)
        return sums.open(self.shares)

    def _check_sets(self, agreement: Agreement) -> None:
        stayed = set(self.masked)
        if len(set(self.shared)) < len(self.shared):
            raise Refusal("PEERS", "a site is named twice")
        if not stayed <= set(self.shared) <= set(self.keys):
            raise Refusal("PEERS", "a site stayed that had not begun")
        if set(self.signatures) != stayed or not set(self.confirmed) <= stayed:
            raise Refusal("PEERS", "signatures of other sites")
        if len(self.confirmed) < agreement.threshold:
            raise Refusal("PEERS", f"a sum needs {agreement.threshold} sites")
