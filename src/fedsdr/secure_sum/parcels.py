"""Parcels: a box with shares for one site, and the dealer's signed proof about it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from fedsdr.exceptions import Refusal
from fedsdr.secure_sum.agreement import Agreement, Context
from fedsdr.secure_sum.bindings import box_info, complaint_message, parcel_message
from fedsdr.secure_sum.curve_keys import (
    SECRET_BYTES,
    agree,
    new_private,
    private_from,
    raw_public,
    scalar_of,
)
from fedsdr.secure_sum.dealing import (
    HELD_BYTES,
    Proof,
    check_dealing,
    deal,
    draw_word,
    fits,
    holds,
)
from fedsdr.secure_sum.identity import SIGNATURE_BYTES, Identity, check_signature
from fedsdr.secure_sum.round_secrets import (
    NONCE_BYTES,
    PublicKeys,
    derive,
    seal,
    unseal,
)

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

TAG_BYTES = 16
BOX_BYTES = NONCE_BYTES + HELD_BYTES + TAG_BYTES


@dataclass(frozen=True, slots=True)
class Parcel:
    """What a dealer sends to one receiver.

    Parameters
    ----------
    proof : Proof
        Public facts about the shares in the box.
    ephemeral : bytes of length 32
        Public half of the key of this one box.
    box : bytes
        Shares and blinds, encrypted for the receiver.
    signature : bytes of length 64
        Of the dealer, over all of these, both names, and the keys that it was shown.
    """

    proof: Proof
    ephemeral: bytes
    box: bytes
    signature: bytes = b""

    SIZE = Proof.SIZE + SECRET_BYTES + BOX_BYTES + SIGNATURE_BYTES

    @classmethod
    def read(cls, raw: bytes) -> Self:
        """Read a parcel.

        Parameters
        ----------
        raw : bytes
            From `content` and the signature.

        Returns
        -------
        Parcel
            Not checked yet; a `Refusal` if it has another length.
        """
        if len(raw) != cls.SIZE:
            raise Refusal("TAMPERED", "a parcel has another length")
        start = Proof.SIZE + SECRET_BYTES
        return cls(
            Proof.read(raw[: Proof.SIZE]),
            raw[Proof.SIZE : start],
            raw[start:-SIGNATURE_BYTES],
            raw[-SIGNATURE_BYTES:],
        )

    @property
    def content(self) -> bytes:
        """Bytes that are signed."""
        return self.proof.content + self.ephemeral + self.box


@dataclass(frozen=True, slots=True)
class Dealt:
    """What a dealer has made in a round.

    Parameters
    ----------
    parcels : dict of str to bytes
        For every site that sent keys, the dealer included.
    own : bytes
        Shares and blinds that the dealer keeps.
    ephemerals : dict of str to X25519PrivateKey
        Key of each box, which the dealer gives away if its receiver complains.
    """

    parcels: dict[str, bytes]
    own: bytes
    ephemerals: dict[str, "X25519PrivateKey"]


@dataclass(frozen=True, slots=True)
class PostOffice:
    """Everything that decides whether a parcel is right, the same for all parties.

    Parameters
    ----------
    agreement : Agreement
        Parties and threshold.
    context : Context
        Study, round and question.
    keys : mapping of str to PublicKeys
        Keys of every site that sent its keys.
    shown : bytes of length 32
        Digest of these keys.
    """

    agreement: Agreement
    context: Context
    keys: Mapping[str, PublicKeys]
    shown: bytes

    def pack(
        self,
        identity: Identity,
        dealer: str,
        secrets: tuple["X25519PrivateKey", "X25519PrivateKey"],
    ) -> Dealt:
        """Share secrets among all sites that sent keys.

        Parameters
        ----------
        identity : Identity
            Signing key of the dealer.
        dealer : str
            Name of the dealer.
        secrets : tuple of X25519PrivateKey
            Seed of the self mask, and mask key.

        Returns
        -------
        Dealt
            Parcels, and what the dealer keeps.
        """
        names = sorted(self.keys)
        threshold = self.agreement.threshold
        dealt = deal(self.context, dealer, names, secrets, threshold, self.shown)
        parcels, ephemerals = {}, {}
        for name, (held, proof) in dealt.items():
            ephemerals[name] = new_private()
            info = box_info(self.context, dealer, name, self.shown)
            key = derive(agree(ephemerals[name], self.keys[name].box_key), info)
            parcel = Parcel(proof, raw_public(ephemerals[name]), seal(key, held, info))
            message = parcel_message(
                self.context, dealer, name, self.shown, parcel.content
            )
            parcels[name] = parcel.content + identity.sign(message)
        return Dealt(parcels, dealt[dealer][0], ephemerals)

    def check_sender(self, dealer: str, receiver: str, raw: bytes) -> Parcel:
        """Check that a dealer has signed a parcel for a receiver.

        Parameters
        ----------
        dealer, receiver : str
            Names of the two sites.
        raw : bytes
            Parcel.

        Returns
        -------
        Parcel
            A `Refusal` if it is not from the dealer, or if the dealer was shown other
            keys.
        """
        parcel = Parcel.read(raw)
        message = parcel_message(
            self.context, dealer, receiver, self.shown, parcel.content
        )
        check_signature(self.agreement.roster, dealer, parcel.signature, message)
        return parcel

    def unpack(
        self, dealer: str, receiver: str, parcel: Parcel, secret: bytes
    ) -> bytes:
        """Open the box of a parcel and check the shares in it.

        Parameters
        ----------
        dealer, receiver : str
            Names of the two sites.
        parcel : Parcel
            Parcel that the dealer has signed.
        secret : bytes of length 32
            What the private halves of box and receiver agree on.

        Returns
        -------
        bytes of length 128
            Shares and blinds; a `Refusal` where anything is wrong, which is the
            dealer's fault, since it has signed the parcel.
        """
        info = box_info(self.context, dealer, receiver, self.shown)
        held = unseal(derive(secret, info), parcel.box, info)
        if not holds(self.context, dealer, receiver, held, parcel.proof):
            raise Refusal("TAMPERED", f"shares of site {dealer!r} do not fit its proof")
        return held

    def check_public(self, dealt: Mapping[str, Mapping[str, bytes]]) -> dict[str, str]:
        """Check what is public about the parcels of all dealers.

        Parameters
        ----------
        dealt : mapping of str to mapping of str to bytes
            For each dealer its parcels, by receiver.

        Returns
        -------
        dict of str to str
            Of every dealer whose shares would not open what it has signed, the reason.
        """
        threshold = self.agreement.threshold
        word = draw_word(len(self.keys), threshold)
        guilty = {}
        for dealer, parcels in dealt.items():
            try:
                proofs = {n: Parcel.read(raw).proof for n, raw in parcels.items()}
                publics = self.keys[dealer].shared
                check_dealing(
                    self.context, dealer, publics, proofs, threshold, word, self.shown
                )
            except Refusal as refusal:
                guilty[dealer] = (
                    str(refusal)
                    if self._has_signed(dealer, parcels)
                    else "what arrived from it is not signed by it"
                )
        return guilty

    def _has_signed(self, dealer: str, parcels: Mapping[str, bytes]) -> bool:
        """Return whether parcels are as the dealer has made them."""
        try:
            for receiver, raw in parcels.items():
                self.check_sender(dealer, receiver, raw)
        except Refusal:
            return False
        return True

    def is_false(
        self, dealer: str, receiver: str, raw: bytes, ephemeral: bytes | None
    ) -> bool:
        """Decide a complaint of a receiver about a dealer.

        Parameters
        ----------
        dealer, receiver : str
            Names of the two sites.
        raw : bytes
            Parcel as it was delivered.
        ephemeral : bytes or None
            Private half of the box's key, from the dealer; None if it gave none.

        Returns
        -------
        bool
            True if the parcel was right, so that the receiver has lied; False if the
            dealer has.

        Notes
        -----
        The key of the box follows from the ephemeral key that the dealer has signed and
        from the box key that the receiver has signed. So whoever opens it does what the
        receiver has done: an honest dealer can always show that its box is right, and
        a dealer cannot show that of a box which an honest receiver found wrong.
        """
        try:
            parcel = self.check_sender(dealer, receiver, raw)
            private = private_from(ephemeral) if ephemeral is not None else None
            if private is None or raw_public(private) != parcel.ephemeral:
                return False
            secret = agree(private, self.keys[receiver].box_key)
            self.unpack(dealer, receiver, parcel, secret)
        except Refusal:
            return False
        return True

    def complain(self, identity: Identity, receiver: str, dealer: str) -> bytes:
        """Sign that a dealer has signed a parcel whose shares are wrong.

        Parameters
        ----------
        identity : Identity
            Signing key of the receiver.
        receiver, dealer : str
            Names of the two sites.

        Returns
        -------
        bytes of length 64
            Signature.
        """
        return identity.sign(
            complaint_message(self.context, receiver, dealer, self.shown)
        )

    def answer(
        self, dealt: Dealt, dealer: str, receiver: str, complaint: bytes
    ) -> bytes:
        """Give the key of one box away, to whom its receiver has complained.

        Parameters
        ----------
        dealt : Dealt
            What the dealer has made.
        dealer, receiver : str
            Names of the two sites.
        complaint : bytes of length 64
            Signature from `complain`; a `Refusal` if the receiver has not signed it.

        Returns
        -------
        bytes of length 32
            Private half of the box's key.

        Notes
        -----
        This shows the receiver's shares. An honest receiver does not complain about an
        honest dealer, and one that lies could have shown its shares itself: nobody
        learns what the receiver did not give away.
        """
        if receiver not in dealt.ephemerals:
            raise Refusal("PEERS", f"site {receiver!r} got no parcel")
        self.check_complaint(receiver, dealer, complaint)
        return scalar_of(dealt.ephemerals[receiver])

    def check_complaint(self, receiver: str, dealer: str, complaint: bytes) -> None:
        """Check that a receiver has signed a complaint.

        Parameters
        ----------
        receiver, dealer : str
            Names of the two sites.
        complaint : bytes of length 64
            Signature from `complain`; a `Refusal` if it is not.
        """
        message = complaint_message(self.context, receiver, dealer, self.shown)
        check_signature(self.agreement.roster, receiver, complaint, message)

    def is_share(
        self, dealer: str, holder: str, raw: bytes, number: int, opened: bytes
    ) -> bool:
        """Check a share that a holder shows when the sum is opened.

        Parameters
        ----------
        dealer, holder : str
            Names of the two sites.
        raw : bytes
            Parcel that the holder has not complained about.
        number : int
            Number of the secret.
        opened : bytes of length 64
            Share and blind.

        Returns
        -------
        bool
            Whether it is the share that the dealer's proof is about.
        """
        return fits(
            self.context, dealer, holder, number, opened, Parcel.read(raw).proof
        )
