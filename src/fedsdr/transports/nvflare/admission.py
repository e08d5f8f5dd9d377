"""Which certificates the coordinator's node lets in: one a site, none if revoked."""

import hashlib
import json
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from fedsdr.exceptions import InputError
from fedsdr.files import write_atomically
from fedsdr.transports.nvflare.node_names import sites_of_nodes

#: In the kit of the coordinator's node, from the name of a site to its certificate.
ADMITTED = "admitted.json"


def fingerprint(certificate: x509.Certificate) -> str:
    """Digest a certificate.

    Parameters
    ----------
    certificate : Certificate
        Of a site.

    Returns
    -------
    str
        SHA-256 of its DER form, in hexadecimal.
    """
    return hashlib.sha256(certificate.public_bytes(Encoding.DER)).hexdigest()


def read_admitted(server: Path) -> dict[str, str]:
    """Read which certificates are let in.

    Parameters
    ----------
    server : Path
        Kit of the coordinator's node.

    Returns
    -------
    dict of str to str
        Fingerprint of the one certificate of each site.
    """
    path = server / ADMITTED
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if not all(isinstance(one, str) for one in content.values()):
            raise TypeError("not a fingerprint")
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, AttributeError):
        raise InputError(
            f"{path} is damaged: restore it, or sign the sites' requests again"
        ) from None
    return dict(content)


def admit(server: Path, site: str, certificate: x509.Certificate | None) -> None:
    """Let one certificate of a site in, and no other.

    Parameters
    ----------
    server : Path
        Kit of the coordinator's node.
    site : str
        Name of the site.
    certificate : Certificate or None
        None to let the site in no longer.
    """
    known = read_admitted(server)
    known.pop(site, None)
    if certificate is not None:
        known[site] = fingerprint(certificate)
    write_atomically(server / ADMITTED, json.dumps(known, indent=2) + "\n")


def is_admitted(server: Path, node: str, certificate: x509.Certificate) -> bool:
    """Look whether a certificate is let in.

    Parameters
    ----------
    server : Path
        Kit of the coordinator's node.
    node : str
        Name of the node of a site.
    certificate : Certificate
        That it shows.

    Returns
    -------
    bool
        False also if the list cannot be read.
    """
    try:
        known = read_admitted(server)
        own = sites_of_nodes(known).get(node, "")
        return known.get(own) == fingerprint(certificate)
    except InputError:
        return False
