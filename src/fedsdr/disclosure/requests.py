"""What a site is asked to contribute to."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fedsdr.exceptions import InputError

_DIGEST = re.compile(r"[0-9a-f]{16,128}")


@dataclass(frozen=True, slots=True)
class ReleaseRequest:
    """One statistic, and the set of sites whose sum of it will be known.

    Parameters
    ----------
    study : str
        Digest of the study, in hexadecimal.
    statistic : str
        Kind of statistic, "moments" for example. A site uses one name for one kind,
        whatever protocol asks for it: rules compare releases of the same kind.
    subject : str
        Digest of the exact question, in hexadecimal, see `subject_of`.
    sites : tuple of str
        Sites over which the sum is released, this one included; kept sorted. Empty
        while that is not known: such a request can be checked and not recorded.
    n_values : int
        How many numbers the site contributes.
    """

    study: str
    statistic: str
    subject: str
    sites: tuple[str, ...]
    n_values: int

    def __post_init__(self) -> None:
        for name in ("study", "subject"):
            value = getattr(self, name)
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
            raise InputError("n_values must be a whole number from 0 on")


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
    """Write plain values in the one way in which they are hashed.

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
