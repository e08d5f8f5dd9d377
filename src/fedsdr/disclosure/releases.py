"""A release: the sum that a site is asked to contribute to."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from fedsdr.exceptions import InputError

#: How far a release is. "offered": masked numbers leave the site, and the sum may be
#: opened over these sites or some of them. "released": over exactly these sites.
#: "opened": the site has opened the sum itself, and will compute with what follows from
#: it. "refused": rules or ledger forbade it. "failed": the rows did not allow it. After
#: the last two, nothing has left the site but a fixed code. "voided": the steward has
#: decided that the round counts as if it had not been. "adopted": no release, but a
#: line by which a site takes its ledger over with a key.
ReleaseStage = Literal[
    "offered", "released", "opened", "refused", "failed", "voided", "adopted"
]

#: Stages of entries after which numbers have left the site.
LEFT: tuple[ReleaseStage, ...] = ("offered", "released")

#: Stages of entries of which only a code has left.
VAIN: tuple[ReleaseStage, ...] = ("refused", "failed")

_DIGEST = re.compile(r"[0-9a-f]{16,128}")


def fold_name(statistic: str, fold: int) -> str:
    """Name a sum in ledgers.

    Parameters
    ----------
    statistic : str
        Kind of statistic.
    fold : int
        Fold without which, or of which, the sum is; 0 for all rows.

    Returns
    -------
    str
        "moments" for all rows, "moments/2" for fold 2.
    """
    return f"{statistic}/{fold}" if fold else statistic


def kind_of(statistic: str) -> str:
    """Return what kind of statistic a sum is, whatever rows it is over.

    Parameters
    ----------
    statistic : str
        Name in a ledger, see `fold_name`.

    Returns
    -------
    str
        Kind of statistic.
    """
    return statistic.partition("/")[0]


@dataclass(frozen=True, slots=True)
class Release:
    """One statistic, and the set of sites whose sum of it will be known.

    Parameters
    ----------
    study : str
        Digest of the study, in hexadecimal.
    statistic : str
        Kind of statistic, "moments" for example, or "moments/2" without a fold, see
        `fold_name`. A site uses one name for one kind in every protocol, since rules
        compare releases of the same kind.
    subject : str or None
        Digest of the exact question, in hexadecimal, see `subject_of`; None while it
        is not known.
    sites : tuple of str, default=()
        Sites over which the sum is released, this one included; kept sorted. Empty
        while that is not known.
    n_values : int, default=0
        Number of values that the site contributes.
    round : str, default=""
        Name of the round of the study.
    n_questions : int, default=1
        Largest number of different questions about this statistic in the study, as all
        sites agreed.
    spends : tuple of two float or None, default=None
        Epsilon and delta that the release costs; None if the sum has no noise.
    keys : mapping of str to str, default={}
        Public identity of every site, in hexadecimal.
    joining : tuple of str, default=()
        Sites that the study names as new among the others.

    Notes
    -----
    A release without subject or sites can be checked, but not recorded.
    """

    study: str
    statistic: str
    subject: str | None
    sites: tuple[str, ...] = ()
    n_values: int = 0
    round: str = ""
    n_questions: int = 1
    spends: tuple[float, float] | None = None
    keys: Mapping[str, str] = field(default_factory=dict)
    joining: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("study", "subject"):
            value = getattr(self, name)
            if value is None and name == "subject":
                continue
            if not isinstance(value, str) or not _DIGEST.fullmatch(value):
                raise InputError(
                    f"{name} must be a digest of 16 to 128 hexadecimal digits"
                )
        if not self.statistic:
            raise InputError("statistic must be a name")
        sites = tuple(sorted(self.sites))
        if len(set(sites)) < len(sites):
            raise InputError("sites must be different names")
        object.__setattr__(self, "sites", sites)
        if type(self.n_values) is not int or self.n_values < 0:
            raise InputError("n_values must be an integer of at least 0")

    @property
    def partners(self) -> frozenset[tuple[str, str]]:
        """Sites with their keys: a name with another key is another site."""
        return partners_of(self.sites, self.keys)


def partners_of(
    sites: Iterable[str], keys: Mapping[str, str]
) -> frozenset[tuple[str, str]]:
    """Join names with keys.

    Parameters
    ----------
    sites : iterable of str
        Names.
    keys : mapping of str to str
        Public identities; a site without one has an empty key.

    Returns
    -------
    frozenset of (str, str)
        Name and key of each site.
    """
    return frozenset((site, keys.get(site, "")) for site in sites)


def subject_of(
    statistic: str, columns: Sequence[str], target: str, terms: Mapping[str, Any]
) -> str:
    """Digest everything that decides which numbers a site would compute.

    Parameters
    ----------
    statistic : str
        Kind of statistic.
    columns : sequence of str
        Covariates, in their order.
    target : str
        Response.
    terms : mapping of str
        Plain values: kernel, slice size and so on. Of arrays, such as candidate
        directions, give a digest.

    Returns
    -------
    str
        SHA-256 in hexadecimal.
    """
    question = [statistic, list(columns), target, dict(terms)]
    return hashlib.sha256(canonical(question)).hexdigest()


def canonical(value: Any) -> bytes:
    """Write plain values in the one form in which they are hashed.

    Parameters
    ----------
    value : object
        Of None, bool, int, float, str, lists and mappings.

    Returns
    -------
    bytes
        JSON in ASCII with sorted keys and without spaces.
    """
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text.encode("ascii")
