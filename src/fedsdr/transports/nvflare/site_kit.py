"""A site's kit: certificates and an address, as data. Nothing in it runs."""

import json
import re
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from fedsdr.exceptions import InputError
from fedsdr.files import write_atomically
from fedsdr.spoken import escaped, is_site_name, key_words
from fedsdr.transports.nvflare.node_names import node_name

if TYPE_CHECKING:
    from collections.abc import Callable

FORMAT = "fedsdr-kit-1"

#: Bytes; two certificates take four thousand.
LARGEST = 64_000

_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.:-]{0,252}[A-Za-z0-9])?")
_PROJECT = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")

ASK = "ask the coordinator for a new kit"


@dataclass(frozen=True, slots=True)
class SiteKit:
    """Everything that a site takes from a coordinator to reach it.

    Parameters
    ----------
    study : str
        Name of the study, in the characters of NVFLARE.
    site : str
        Name of the site.
    host : str
        Name or address of the coordinator.
    port : int
        Its port.
    authority : str
        PEM certificate of the coordinator's authority.
    certificate : str
        PEM certificate of the site, signed by it.

    Notes
    -----
    None of it is secret, and none of it is copied into a script or run: `read_kit`
    accepts exactly these fields, and certificates are parsed and written again. What
    the node does follows from files that the installed package writes, see
    `fedsdr.transports.nvflare.site_node`.
    """

    study: str
    site: str
    host: str
    port: int
    authority: str
    certificate: str

    @property
    def words(self) -> str:
        """Fingerprint of the authority, to compare with the coordinator's."""
        return authority_words(self.authority)

    def write(self, path: Path) -> None:
        """Write the kit to a file.

        Parameters
        ----------
        path : Path
            In an existing folder.
        """
        content = {"format": FORMAT, **asdict(self)}
        write_atomically(path, json.dumps(content, indent=2) + "\n")

    def public_key(self) -> bytes:
        """Give the key that the certificate is for.

        Returns
        -------
        bytes
            In DER.
        """
        return public_bytes(_load(self.certificate).public_key())


NAMES = {"format", *(field.name for field in fields(SiteKit))}


def read_kit(path: Path) -> SiteKit:
    """Read a kit, and refuse whatever is not exactly one.

    Parameters
    ----------
    path : Path
        File.

    Returns
    -------
    SiteKit
        With certificates that belong together. An `InputError` says what is wrong, and
        what to do.
    """
    if path.is_dir():
        raise InputError(
            f"{path} is a folder, and a kit is one file: kits of earlier versions hold "
            "scripts that the coordinator wrote, and are no longer used. Send what "
            "'fedsdr site request' writes to the coordinator, and use the .kit file "
            "that comes back"
        )
    try:
        with path.open("rb") as stream:
            text = stream.read(LARGEST + 1)
        content = json.loads(text) if len(text) <= LARGEST else None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InputError(f"{path} is not a kit: {ASK}")
    foreign = sorted(set(content) - NAMES)
    if foreign:
        raise InputError(
            f"{path} holds something that a kit does not have "
            f"({escaped(', '.join(foreign))}): do not use it, and {ASK}"
        )
    return _check(path, content)


def _check(path: Path, content: dict[str, Any]) -> SiteKit:
    texts: dict[str, Callable[[str], object]] = {
        "study": _PROJECT.fullmatch,
        "site": is_site_name,
        "host": _HOST.fullmatch,
        "authority": len,
        "certificate": len,
    }
    for name, fits in texts.items():
        value = content.get(name)
        if not isinstance(value, str) or not fits(value):
            raise InputError(f"{path}: its {name} cannot be used: {ASK}")
    port = content.get("port")
    if type(port) is not int or not 0 < port < 2**16:
        raise InputError(f"{path}: its port cannot be used: {ASK}")
    try:
        authority, own = _load(content["authority"]), _load(content["certificate"])
        own.verify_directly_issued_by(authority)
        authority.verify_directly_issued_by(authority)
        names = own.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    except (ValueError, TypeError, InvalidSignature):
        raise InputError(f"{path}: its certificates do not fit: {ASK}") from None
    if [name.value for name in names] != [node_name(content["site"])]:
        raise InputError(f"{path}: its certificate is of another site: {ASK}")
    return SiteKit(
        content["study"],
        content["site"],
        content["host"],
        port,
        # Written again: nothing but a certificate gets into the node's folder.
        authority.public_bytes(Encoding.PEM).decode("ascii"),
        own.public_bytes(Encoding.PEM).decode("ascii"),
    )


def public_bytes(key: Any) -> bytes:
    """Write a public key in DER.

    Parameters
    ----------
    key : public key
        Of the library cryptography.

    Returns
    -------
    bytes
        Subject public key info.
    """
    from cryptography.hazmat.primitives.serialization import PublicFormat

    raw: bytes = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return raw


def authority_words(certificate: str) -> str:
    """Write the fingerprint of an authority in words.

    Parameters
    ----------
    certificate : str
        In PEM.

    Returns
    -------
    str
        Eight words, of its public key.
    """
    return key_words(public_bytes(_load(certificate).public_key()))


def _load(certificate: str) -> x509.Certificate:
    return x509.load_pem_x509_certificate(certificate.encode("ascii"))
