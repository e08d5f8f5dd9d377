"""Sums in the open: the coordinator sees each site's terms of the sum.

For sites that belong to one analyst, and as the yardstick for the secure sum.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedsdr.arrays import Vector
from fedsdr.protocols.exchange import Exchange, Payload, Refusal, ask_all
from fedsdr.protocols.sums.sums_schema import SUMS
from fedsdr.rows.site_rows import Rows
from fedsdr.terms import Terms

LARGEST_COEFFICIENT = 1e12
MOST_DIRECTIONS = 20


class PlainSite:
    """A site that tells its own part of every sum.

    Parameters
    ----------
    rows : Rows
        Its rows.

    Notes
    -----
    It sends the vector of `Rows.moments` for "sums.moments" and its errors for
    "sums.errors".
    """

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def handle(self, name: str, payload: Payload) -> Payload:
        """Answer one message.

        Parameters
        ----------
        name : str
            One of those above.
        payload : dict
            Its content.

        Returns
        -------
        dict
            The reply.
        """
        SUMS.check(name, "request", payload)
        request = dict(payload)
        terms = Terms.from_payload(request.pop("terms", None))
        if name == "sums.moments" and not request:
            return {"values": self._rows.moments(terms)}
        if name == "sums.errors":
            bases = check_bases(request, terms)
            return {"values": self._rows.errors(terms, bases)}
        raise Refusal("MALFORMED")


@dataclass(frozen=True, slots=True, eq=False)
class PlainSum:
    """Adds what the sites tell.

    Parameters
    ----------
    exchange : Exchange
        Reaches the sites.
    sites : sequence of str
        Their names.
    terms : Terms
        Agreed between all parties.
    timeout : float, default=600.0
        Seconds; no site may fail.
    """

    exchange: Exchange
    sites: Sequence[str]
    terms: Terms
    timeout: float = 600.0

    def __call__(self, statistic: str, request: Payload, n_values: int) -> Vector:
        """Ask for one sum.

        Parameters
        ----------
        statistic : {"moments", "errors"}
            What to add.
        request : dict
            What the sites need to know for it.
        n_values : int
            Length of the sum.

        Returns
        -------
        ndarray of shape (n_values,)
            Sum over the sites.
        """
        payload = {"terms": self.terms.to_payload(), **request}
        everyone = dict.fromkeys(self.sites, payload)
        replies = ask_all(self.exchange, f"sums.{statistic}", everyone, self.timeout)
        total = np.zeros(n_values)
        for reply in replies.values():
            total += check_vector(reply, n_values)
        return total


def check_bases(payload: Payload, terms: Terms) -> list[Vector]:
    """Read candidate bases from a message, trusting nothing about it.

    Parameters
    ----------
    payload : dict
        With the key "bases".
    terms : Terms
        Agreed between all parties.

    Returns
    -------
    list of ndarray of shape (n_features, K)
        A `Refusal` where the message holds anything else.
    """
    bases = payload.get("bases")
    if not isinstance(bases, list) or set(payload) != {"bases"}:
        raise Refusal("MALFORMED")
    if len(bases) > terms.max_candidates:
        raise Refusal("MALFORMED", "more candidates than were agreed on")
    if not all(_is_matrix(basis, terms.n_features) for basis in bases):
        raise Refusal("MALFORMED")
    return bases


def check_vector(reply: Payload, n_values: int) -> Vector:
    """Read a site's vector from its reply.

    Parameters
    ----------
    reply : dict
        With the key "values".
    n_values : int
        Length it must have.

    Returns
    -------
    ndarray of shape (n_values,)
        A `Refusal` where the reply holds anything else.
    """
    values = reply.get("values")
    if (
        not isinstance(values, np.ndarray)
        or values.shape != (n_values,)
        or values.dtype != np.float64
        or not np.isfinite(values).all()
    ):
        raise Refusal("MALFORMED")
    return values


def _is_matrix(basis: Any, n_features: int) -> bool:
    return (
        isinstance(basis, np.ndarray)
        and basis.ndim == 2
        and basis.shape[0] == n_features
        and basis.shape[1] <= min(n_features, MOST_DIRECTIONS)
        and basis.dtype == np.float64
        # Bounded by a number that depends on no row: whether a site can answer must
        # not tell how large its numbers are.
        and bool((np.abs(basis) < LARGEST_COEFFICIENT).all())
    )
