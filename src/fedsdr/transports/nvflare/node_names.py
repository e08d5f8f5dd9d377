"""Names of nodes: NVFLARE knows sites by names in ASCII, people by their own."""

import hashlib
from collections.abc import Iterable, Mapping

from fedsdr.spoken import is_name, nearest_name

#: Hexadecimal digits of a name's digest, and characters of the word before it.
DIGITS = 12
READABLE = 40


def node_name(site: str) -> str:
    """Name the node of a site in characters that NVFLARE takes.

    Parameters
    ----------
    site : str
        Name of the site, in any letters.

    Returns
    -------
    str
        The same if it is plain; else what can be read of it in ASCII, and a digest of
        the name, such as "Zurich-" and 12 digits. A study in which two names were the
        same is refused, see `fedsdr.transports.nvflare.provision.Network`.
    """
    if is_name(site):
        return site
    word = nearest_name(site)[:READABLE].strip("_-") or "site"
    return f"{word}-{hashlib.sha256(site.encode()).hexdigest()[:DIGITS]}"


def sites_of_nodes(sites: Iterable[str]) -> dict[str, str]:
    """Find the sites by the names of their nodes.

    Parameters
    ----------
    sites : iterable of str
        Names of sites.

    Returns
    -------
    dict of str to str
        From the name of a node to that of its site.
    """
    return {node_name(site): site for site in sites}


def in_names_of_sites(text: str, known: Mapping[str, str]) -> str:
    """Write a text of NVFLARE with the names that people know.

    Parameters
    ----------
    text : str
        With names of nodes in it, perhaps.
    known : mapping of str to str
        From `sites_of_nodes`.

    Returns
    -------
    str
        For people.
    """
    for node, site in known.items():
        text = text.replace(node, site)
    return text
