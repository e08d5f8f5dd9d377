"""Whether a sum may leave a site: policy, rules, ledger, and one gate."""

from fedsdr.disclosure.chain import Entry, LedgerError, LedgerStatus
from fedsdr.disclosure.facts import Facts, Fingerprint, observe
from fedsdr.disclosure.ledger import Ledger
from fedsdr.disclosure.peer_book import PeerBook
from fedsdr.disclosure.policy import Policy
from fedsdr.disclosure.release_gate import OpenGate, ReleaseGate
from fedsdr.disclosure.release_rules import RULES, Violation
from fedsdr.disclosure.releases import Release, subject_of

__all__ = [
    "RULES",
    "Entry",
    "Facts",
    "Fingerprint",
    "Ledger",
    "LedgerError",
    "LedgerStatus",
    "OpenGate",
    "PeerBook",
    "Policy",
    "Release",
    "ReleaseGate",
    "Violation",
    "observe",
    "subject_of",
]
