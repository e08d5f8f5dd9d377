"""How the coordinator reads replies of a round, and what it does not believe."""

import numpy as np

from fedsdr.arrays import Vector
from fedsdr.exceptions import InputError, Refusal
from fedsdr.protocols.exchange import Payload
from fedsdr.protocols.secure.disputes import Boxes
from fedsdr.protocols.secure.secure_schema import SHARE_BYTES
from fedsdr.secure_sum.parcels import PostOffice


def check_counts(values: Vector, n_sites: int, *, rescaled: bool = False) -> None:
    """Check that moments count their own sites, and at least one row per site.

    Parameters
    ----------
    values : ndarray
        Packed summaries; the first is that of all rows.
    n_sites : int
        Number of sites in the sum.
    rescaled : bool, default=False
        Whether sites agreed on powers of two: those with numbers of another order then
        contribute nothing.

    Raises
    ------
    Refusal
        "TAMPERED" if the counts are impossible for this number of sites.
    InputError
        If sites have numbers of another order.
    """
    rows, sites = values[0], values[1]
    if rescaled and 0 <= sites < n_sites and sites == np.rint(sites):
        raise InputError(
            f"{n_sites - int(sites)} of {n_sites} sites hold columns with numbers of "
            "another order than the others, which cannot be added: sites must use the "
            "units of the study"
        )
    if sites != n_sites or rows < n_sites or rows != np.rint(rows):
        raise Refusal("TAMPERED", "the sum does not count its own sites")


def boxes_of(names: set[str], _: str, reply: Payload) -> dict[str, bytes]:
    """Read the parcels that a site has made.

    Parameters
    ----------
    names : set of str
        Sites that sent keys.
    _ : str
        Name of the site.
    reply : dict
        Its reply to "secure.shares".

    Returns
    -------
    dict of str to bytes
        Parcel for each of these sites; a `Refusal` if one is missing.
    """
    boxes: dict[str, bytes] = reply["boxes"]
    if set(boxes) != names:
        raise Refusal("MALFORMED", "a box is missing")
    return boxes


def addressed(boxes: Boxes, site: str) -> dict[str, bytes]:
    """Choose the parcels for one site.

    Parameters
    ----------
    boxes : dict of str to dict of str to bytes
        Parcels of every dealer, by receiver.
    site : str
        Name of the receiver.

    Returns
    -------
    dict of str to bytes
        Parcels from all others, by dealer.
    """
    return {peer: sent[site] for peer, sent in boxes.items() if peer != site}


def shares_of(
    office: PostOffice, boxes: Boxes, stayed: set[str], site: str, reply: Payload
) -> dict[str, bytes]:
    """Read the shares that a site shows, if they are those that it was given.

    Parameters
    ----------
    office : PostOffice
        Decides whether a share is right.
    boxes : dict of str to dict of str to bytes
        Parcels of every dealer, by receiver.
    stayed : set of str
        Sites in the sum.
    site : str
        Name of the site.
    reply : dict
        Its reply to "secure.unmask".

    Returns
    -------
    dict of str to bytes
        Share of each dealer's secret; a `Refusal` if the site has changed one.
    """
    shown: dict[str, bytes] = reply["shares"]
    for dealer, sent in boxes.items():
        number = 0 if dealer in stayed else 1
        opened = shown.get(dealer, b"")
        if not office.is_share(dealer, site, sent[site], number, opened):
            raise Refusal("TAMPERED", f"{site} shows other shares than it was given")
    return {dealer: shown[dealer][:SHARE_BYTES] for dealer in boxes}
