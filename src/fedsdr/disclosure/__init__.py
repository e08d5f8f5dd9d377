"""Whether a sum may leave a site: policy, rules, ledger, and one gate."""

from fedsdr.disclosure.chain import Entry, LedgerError, LedgerStatus
from fedsdr.disclosure.column_origin import ColumnOrigin, Fingerprint
from fedsdr.disclosure.facts import Facts, observe
from fedsdr.disclosure.ledger import Ledger
from fedsdr.disclosure.level_rules import Violation
from fedsdr.disclosure.open_gate import OpenGate
from fedsdr.disclosure.peer_book import PeerBook
from fedsdr.disclosure.policy import Policy
from fedsdr.disclosure.release_gate import ReleaseGate
from fedsdr.disclosure.release_rules import RULES
from fedsdr.disclosure.releases import Release, fold_name, subject_of
from fedsdr.disclosure.voiding import void_round

__all__ = [
    "RULES",
    "ColumnOrigin",
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
    "fold_name",
    "observe",
    "subject_of",
    "void_round",
]
