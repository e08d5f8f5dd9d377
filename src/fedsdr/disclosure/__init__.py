"""May it leave the site: rules, a ledger, and a manifest of every message.

The manifest is `fedsdr.protocols.manifest`.
"""

from fedsdr.disclosure.chain import Entry, LedgerError, Verdict
from fedsdr.disclosure.facts import Facts, observe
from fedsdr.disclosure.gate import Gate, check_release, review
from fedsdr.disclosure.ledger import Ledger
from fedsdr.disclosure.policy import Policy
from fedsdr.disclosure.requests import ReleaseRequest, subject_of
from fedsdr.disclosure.rules import Violation

__all__ = [
    "Entry",
    "Facts",
    "Gate",
    "Ledger",
    "LedgerError",
    "Policy",
    "ReleaseRequest",
    "Verdict",
    "Violation",
    "check_release",
    "observe",
    "review",
    "subject_of",
]
