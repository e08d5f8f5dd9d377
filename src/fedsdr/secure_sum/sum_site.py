"""A site's part of a secure sum (Bonawitz et al. 2017, with consistency check)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum

from numpy.typing import ArrayLike

from fedsdr.exceptions import Refusal
from fedsdr.secure_sum.agreement import Agreement, Context
from fedsdr.secure_sum.bindings import (
    keys_message,
    masked_message,
    pair_info,
    parties,
    self_info,
    shown_keys,
    survivors_message,
)
from fedsdr.secure_sum.dealing import opening
from fedsdr.secure_sum.fixed_point import Ring
from fedsdr.secure_sum.identity import Identity, check_signature
from fedsdr.secure_sum.masks import apply_masks
from fedsdr.secure_sum.parcels import Dealt, Parcel, PostOffice
from fedsdr.secure_sum.round_secrets import PublicKeys, RoundSecrets, derive

#: Head of a site without a ledger.
NO_LEDGER = bytes(32)


class RoundStage(IntEnum):
    """Last step that a site has finished in a round."""

    KEYS = 1
    SHARED = 2
    RECEIVED = 3
    MASKED = 4
    CONFIRMED = 5
    DONE = 6


@dataclass(slots=True, eq=False)
class SumSite:
    r"""One site in one round; its methods are called once each, in this order.

    Parameters
    ----------
    name : str
        Name of the site in the roster.
    identity : Identity
        Signing key of the site.
    agreement : Agreement
        Parties, threshold, ring.
    context : Context
        Study, round and question.

    Notes
    -----
    The site sends :math:`x_i + r_i + \sum_{j > i} s_{ij} - \sum_{j < i} s_{ij}` with a
    self mask :math:`r_i` and a mask :math:`s_{ij}` for each pair. Of any site it gives
    shares of either the self mask (if the site stayed) or the pair key (if it was
    lost), never both, and only once enough sites have signed the same set of sites.
    """

    name: str
    identity: Identity
    agreement: Agreement
    context: Context
    _secrets: RoundSecrets = field(default_factory=RoundSecrets, init=False, repr=False)
    _stage: RoundStage | None = field(default=None, init=False)
    _own: PublicKeys | None = field(default=None, init=False)
    _keys: dict[str, PublicKeys] = field(default_factory=dict, init=False)
    _held: dict[str, bytes] = field(default_factory=dict, init=False, repr=False)
    _survivors: tuple[str, ...] = field(default=(), init=False)
    _office: PostOffice = field(init=False, repr=False)
    _dealt: Dealt = field(init=False, repr=False)
    # Of every peer the last parcel that was right, and its content.
    _opened: dict[str, tuple[bytes, bytes]] = field(
        default_factory=dict, init=False, repr=False
    )

    def keys(self, n_entries: int = 0, head: bytes = NO_LEDGER) -> PublicKeys:
        """Sign the public keys of this round, and the state of the site's ledger.

        Parameters
        ----------
        n_entries : int, default=0
            Entries of the ledger.
        head : bytes of length 32
            Hash of the last of them.

        Returns
        -------
        PublicKeys
            Signed.
        """
        self._expect(None)
        public = replace(self._secrets.public(), n_entries=n_entries, head=head)
        signature = self.identity.sign(keys_message(self.context, self.name, public))
        self._own = replace(public, signature=signature)
        self._stage = RoundStage.KEYS
        return self._own

    def share(self, keys: Mapping[str, PublicKeys]) -> dict[str, bytes]:
        """Share the secrets among the sites that sent keys.

        Parameters
        ----------
        keys : mapping of str to PublicKeys
            Keys of every site that takes part, including this one.

        Returns
        -------
        dict of str to bytes
            A parcel for each of them, see `fedsdr.secure_sum.parcels`.
        """
        self._expect(RoundStage.KEYS)
        self._enough(keys)
        own = self._own
        if own is None or self.name not in keys or keys[self.name] != own:
            raise Refusal("TAMPERED", "these are not the keys that this site sent")
        for site, public in keys.items():
            message = keys_message(self.context, site, public)
            check_signature(self.agreement.roster, site, public.signature, message)
            if site != self.name:
                public.check(site)
        ordered = dict(sorted(keys.items()))
        office = PostOffice(self.agreement, self.context, ordered, shown_keys(ordered))
        dealt = office.pack(self.identity, self.name, self._secrets.shared)
        self._keys, self._office, self._dealt = ordered, office, dealt
        self._held = {self.name: dealt.own}
        self._stage = RoundStage.SHARED
        return dealt.parcels

    def verify(self, boxes: Mapping[str, bytes]) -> dict[str, bytes]:
        """Check the parcels of other sites, before any mask is made.

        Parameters
        ----------
        boxes : mapping of str to bytes
            Parcels from every other site that shared its secrets.

        Returns
        -------
        dict of str to bytes
            Of every site whose shares are wrong, a signed complaint; empty bytes where
            the parcel is not signed by that site, which need not be the site's fault.
        """
        self._expect(RoundStage.SHARED)
        self._check_senders(boxes)
        complaints = {}
        for peer, box in boxes.items():
            try:
                parcel = self._office.check_sender(peer, self.name, box)
            except Refusal:
                complaints[peer] = b""
                continue
            try:
                self._opened[peer] = box, self._open(peer, parcel)
            except Refusal:
                complaints[peer] = self._office.complain(self.identity, self.name, peer)
        return complaints

    def answer(self, complaints: Mapping[str, bytes]) -> dict[str, bytes]:
        """Show that parcels were right about which other sites have complained.

        Parameters
        ----------
        complaints : mapping of str to bytes
            Signed complaint of each of these sites.

        Returns
        -------
        dict of str to bytes
            For each of them the key of its box.
        """
        self._expect(RoundStage.SHARED)
        return {
            peer: self._office.answer(self._dealt, self.name, peer, signature)
            for peer, signature in complaints.items()
        }

    def receive(self, boxes: Mapping[str, bytes]) -> tuple[str, ...]:
        """Open the boxes of the other sites, before any number is computed.

        Parameters
        ----------
        boxes : mapping of str to bytes
            Parcels from every other site that shared its secrets.

        Returns
        -------
        tuple of str
            Sites that have shared their secrets with each other, this one included: a
            `Refusal` if they are too few, or if a parcel is not the one that its sender
            has made for this site in this round.
        """
        self._expect(RoundStage.SHARED)
        self._enough([*boxes, self.name])
        self._check_senders(boxes)
        self._held.update(
            {peer: self._opened_before(peer, box) for peer, box in boxes.items()}
        )
        self._opened.clear()
        self._stage = RoundStage.RECEIVED
        return tuple(sorted(self._held))

    def mask(self, values: ArrayLike) -> Ring:
        """Mask this site's numbers.

        Parameters
        ----------
        values : array-like of shape (n_values,)
            Numbers to add.

        Returns
        -------
        ndarray of uint64, shape (n_values, words)
            Numbers under a self mask and one mask per peer.
        """
        self._expect(RoundStage.RECEIVED)
        ring = self.agreement.ring
        elements = ring.encode(values, len(self.agreement.sites))
        pairs = self._pair_seeds(peer for peer in self._held if peer != self.name)
        own = derive(self._secrets.seed, self_info(self.context, self.name))
        later = [seed for peer, seed in pairs.items() if self.name < peer]
        earlier = [seed for peer, seed in pairs.items() if peer < self.name]
        apply_masks(elements, add=[own, *later], subtract=earlier)
        self._stage = RoundStage.MASKED
        return elements

    def confirm(self, survivors: Iterable[str]) -> bytes:
        """Sign the set of sites in the sum.

        Parameters
        ----------
        survivors : iterable of str
            Sites whose masked numbers arrived.

        Returns
        -------
        bytes of length 64
            Signature over this set and the set of sites that shared secrets.
        """
        self._survivors = self.check_survivors(survivors)
        self._stage = RoundStage.CONFIRMED
        seen = parties(self._keys, self._held, self._survivors)
        return self.identity.sign(survivors_message(self.context, self.name, seen))

    def sign_masked(self, masked: Ring) -> bytes:
        """Sign masked numbers, so that nobody can change them in transit.

        Parameters
        ----------
        masked : ndarray of uint64, shape (n_values, words)
            Numbers from `mask`.

        Returns
        -------
        bytes of length 64
            Signature.
        """
        return self.identity.sign(masked_message(self.context, self.name, masked))

    def check_survivors(self, survivors: Iterable[str]) -> tuple[str, ...]:
        """Check that a sum over these sites could be opened.

        Parameters
        ----------
        survivors : iterable of str
            Sites whose masked numbers are said to have arrived.

        Returns
        -------
        tuple of str
            The same, sorted; a `Refusal` if there are too few, or others.
        """
        self._expect(RoundStage.MASKED)
        named = tuple(survivors)
        self._enough(named)
        if self.name not in named or not set(named) <= set(self._held):
            raise Refusal("PEERS", "the survivors are not sites that took part")
        return tuple(sorted(named))

    def unmask(self, signatures: Mapping[str, bytes]) -> dict[str, bytes]:
        """Give the shares that open the sum, and no others.

        Parameters
        ----------
        signatures : mapping of str to bytes
            Signatures from `confirm`, at least as many as the threshold.

        Returns
        -------
        dict of str to bytes
            For each survivor a share of its self mask, for each lost site a share of
            its pair key, each with its blind, by which everyone can check it.
        """
        self.check_signatures(signatures)
        self._stage = RoundStage.DONE
        return {
            site: opening(held, 0 if site in self._survivors else 1)
            for site, held in self._held.items()
        }

    def check_signatures(self, signatures: Mapping[str, bytes]) -> None:
        """Check that enough sites have signed the same set of survivors.

        Parameters
        ----------
        signatures : mapping of str to bytes
            Signatures from `confirm`.

        Raises
        ------
        Refusal
            If there are too few, or one does not fit.
        """
        self._expect(RoundStage.CONFIRMED)
        self._enough(signatures)
        if not set(signatures) <= set(self._survivors):
            raise Refusal("PEERS", "a signature comes from a site that was lost")
        seen = parties(self._keys, self._held, self._survivors)
        for site, signature in signatures.items():
            message = survivors_message(self.context, site, seen)
            check_signature(self.agreement.roster, site, signature, message)

    def _expect(self, stage: RoundStage | None) -> None:
        if self._stage != stage:
            raise Refusal("ORDER", f"the round is at stage {self._stage}")

    def _enough(self, sites: Iterable[str]) -> None:
        named = list(sites)
        if len(set(named)) < self.agreement.threshold or len(set(named)) < len(named):
            raise Refusal(
                "PEERS", f"a sum needs {self.agreement.threshold} different sites"
            )

    def _pair_seeds(self, peers: Iterable[str]) -> dict[str, bytes]:
        return {
            peer: self._secrets.pair_seed(
                self._keys[peer], pair_info(self.context, self.name, peer)
            )
            for peer in peers
        }

    def _check_senders(self, boxes: Mapping[str, bytes]) -> None:
        if not set(boxes) <= set(self._keys) - {self.name}:
            raise Refusal("PEERS", "a box comes from a site without keys")

    def _open(self, peer: str, parcel: Parcel) -> bytes:
        secret = self._secrets.box_secret(parcel.ephemeral)
        return self._office.unpack(peer, self.name, parcel, secret)

    def _opened_before(self, peer: str, box: bytes) -> bytes:
        known, held = self._opened.get(peer, (b"", b""))
        if known == box:
            return held
        return self._open(peer, self._office.check_sender(peer, self.name, box))
