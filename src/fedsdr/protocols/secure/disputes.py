"""Who has lied about shares: decided by the coordinator before masks are made."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from fedsdr.exceptions import Refusal
from fedsdr.protocols.exchange import Payload
from fedsdr.secure_sum.parcels import PostOffice

#: Parcels of every dealer, by receiver.
Boxes = dict[str, dict[str, bytes]]


@dataclass(frozen=True, slots=True)
class Disputes:
    """Complaints of sites about the shares of others.

    Parameters
    ----------
    office : PostOffice
        Decides whether a parcel is right.
    boxes : dict of str to dict of str to bytes
        Parcels as they were delivered.
    reports : mapping of str to dict
        Replies of all sites to "secure.verify".

    Notes
    -----
    A site cannot be blamed unless it has lied. A complaint is signed, about a parcel
    that is signed. The dealer gives the key of this one box away; the coordinator then
    opens it and sees what the receiver has seen, see `PostOffice.is_false`. Where the
    dealer cannot be reached, it is lost, but not blamed.
    """

    office: PostOffice
    boxes: Boxes
    reports: Mapping[str, Payload]

    def open_questions(self) -> dict[str, dict[str, bytes]]:
        """List what has to be asked.

        Returns
        -------
        dict of str to dict of str to bytes
            For each dealer the signed complaints about it.
        """
        found: dict[str, dict[str, bytes]] = {}
        for receiver, report in self.reports.items():
            for dealer, complaint in report["complaints"].items():
                if dealer in self.boxes and self._is_signed(
                    receiver, dealer, complaint
                ):
                    found.setdefault(dealer, {})[receiver] = complaint
        return found

    def decide(
        self, answers: Mapping[str, Mapping[str, bytes]], silent: Collection[str]
    ) -> dict[str, str]:
        """Name the sites that have lied.

        Parameters
        ----------
        answers : mapping of str to mapping of str to bytes
            Keys of boxes that dealers have given away, by receiver.
        silent : collection of str
            Dealers that could not be reached.

        Returns
        -------
        dict of str to str
            Of every site that has lied, what it has done.
        """
        guilty: dict[str, str] = {}
        for receiver, report in self.reports.items():
            for dealer, complaint in report["complaints"].items():
                if dealer not in self.boxes or dealer in silent:
                    continue
                key = answers.get(dealer, {}).get(receiver)
                if not self._is_signed(receiver, dealer, complaint):
                    guilty[receiver] = "its complaint is not signed"
                elif self.office.is_false(
                    dealer, receiver, self.boxes[dealer][receiver], key
                ):
                    guilty[receiver] = f"its complaint about {dealer} is false"
                else:
                    guilty[dealer] = f"its shares for {receiver} do not fit"
            for dealer in report["unsigned"]:
                if dealer in self.boxes:
                    guilty |= self._unsigned(dealer, receiver)
        return guilty

    def _unsigned(self, dealer: str, receiver: str) -> dict[str, str]:
        try:
            self.office.check_sender(dealer, receiver, self.boxes[dealer][receiver])
        except Refusal:
            return {dealer: f"its shares for {receiver} are not signed"}
        return {receiver: f"its complaint about {dealer} is false"}

    def _is_signed(self, receiver: str, dealer: str, complaint: bytes) -> bool:
        try:
            self.office.check_complaint(receiver, dealer, complaint)
        except Refusal:
            return False
        return True
