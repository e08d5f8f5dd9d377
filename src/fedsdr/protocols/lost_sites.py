"""Sites without which a study must not go on: who, why, and who can change it."""

from collections.abc import Mapping

from fedsdr.exceptions import CODES
from fedsdr.protocols.exchange import Failures, IncompleteError

#: Codes of sites that said nothing: they may come back, and nobody has to decide.
SILENT = frozenset({"LEFT", "TIMEOUT"})

#: For each code, what has happened at the site, and what its steward does.
_WORDS = {
    "DISCLOSURE": (
        "refuses, since a rule of its own forbids the release",
        "reads in site.log which rule it is, and decides on it",
    ),
    "INPUT": (
        "cannot use its rows or files for this study",
        "runs 'fedsdr site check site.toml', and reads site.log",
    ),
    "INTERNAL": (
        "failed for a reason of its own",
        "runs 'fedsdr site doctor site.toml', and reads site.log",
    ),
    "LEFT": (
        "has left, or was started again",
        "starts 'fedsdr site join site.toml KIT', and stays until the result is there",
    ),
    "MALFORMED": (
        "has sent, or was sent, a message that the protocol does not have",
        "compares the version of fedsdr with yours",
    ),
    "ORDER": (
        "refuses a message that came out of order",
        "compares the version of fedsdr with yours, and reads site.log",
    ),
    "PEERS": (
        "refuses, since too few of the agreed sites take part",
        "reads in site.log which sites it has seen",
    ),
    "ROLLBACK": (
        "refuses, since the ledger of a partner is shorter than it was, or another one",
        "reads in site.log whose it is, and asks there",
    ),
    "TAMPERED": (
        "refuses, or is left out, since a signature, a share or a value does not fit",
        "reads site.log; if versions are the same, somebody may be interfering",
    ),
    "TERMS": (
        "refuses, since the study.toml that it has agreed to is another one",
        "compares the digest that 'fedsdr study check study.toml' prints with yours",
    ),
    "TIMEOUT": (
        "has not answered in time",
        "looks whether 'fedsdr site join' still runs, and whether the machine sleeps",
    ),
}


class LostSiteError(IncompleteError):
    """A site that has to be in the result is not, so the study stops.

    Parameters
    ----------
    name : str
        Message that it did not answer.
    failures : dict of str to str
        Fixed code of each such site.
    """

    @property
    def refusing(self) -> tuple[str, ...]:
        """Sites that answered, and refuse: somebody has to decide."""
        return tuple(s for s, code in self.failures.items() if code not in SILENT)

    def __str__(self) -> str:
        return (
            f"{explain_lost(self.failures)}. This was at '{self.name}'. All sums of a "
            "result are over the same sites, so the study stops here; finished sums "
            "are kept"
        )


def explain_lost(failures: Mapping[str, str]) -> str:
    """Say in sentences what has happened at sites.

    Parameters
    ----------
    failures : mapping of str to str
        Fixed code of each site.

    Returns
    -------
    str
        One clause per site, with its code, and what its steward does.
    """
    clauses = []
    for site, code in sorted(failures.items()):
        happened, remedy = _WORDS.get(code, (CODES.get(code, code), "reads site.log"))
        clauses.append(f"{site} {happened} ({code}): its steward {remedy}")
    return "; ".join(clauses)


def pick_codes(failures: Failures, sites: frozenset[str]) -> Failures:
    """Choose the codes of some sites.

    Parameters
    ----------
    failures : dict of str to str
        Fixed codes, the last one of each site.
    sites : frozenset of str
        Sites that did not answer.

    Returns
    -------
    dict of str to str
        Code of each of them; TIMEOUT for those without one.
    """
    return {site: failures.get(site, "TIMEOUT") for site in sorted(sites)}
