"""A site's TLS key, made at the site, and the request to certify it."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import NameOID

from fedsdr.exceptions import InputError, Refusal
from fedsdr.files import PRIVATE, write_atomically
from fedsdr.secure_sum import Identity
from fedsdr.secure_sum.agreement import joined
from fedsdr.secure_sum.identity import SIGNATURE_BYTES, Roster, check_signature
from fedsdr.spoken import is_site_name
from fedsdr.transports.nvflare.node_names import node_name
from fedsdr.transports.nvflare.site_kit import LARGEST, public_bytes

FORMAT = "fedsdr-request-1"

#: NVFLARE's answer to a challenge needs an RSA key; its own have 2048 bits as well.
KEY_BITS = 2048

#: Beside the key: the one before, until its kit is replaced.
OLD = ".old"


@dataclass(frozen=True, slots=True)
class Request:
    """A request of a site for a certificate, signed with its identity.

    Parameters
    ----------
    site : str
        Name of the site.
    csr : bytes
        PKCS #10, in DER: the public key, signed with its private half.
    signature : bytes of length 64
        Of the site's identity, over name and request.

    Notes
    -----
    Whoever has the study's roster can tell that the request comes from the site, so it
    may travel over any channel.
    """

    site: str
    csr: bytes
    signature: bytes

    def write(self, path: Path) -> None:
        """Write the request to a file.

        Parameters
        ----------
        path : Path
            In an existing folder.
        """
        content = {
            "format": FORMAT,
            "site": self.site,
            "request": self.csr.hex(),
            "signature": self.signature.hex(),
        }
        write_atomically(path, json.dumps(content, indent=2) + "\n")

    def check(self, roster: Roster) -> Any:
        """Check who asks, and for what.

        Parameters
        ----------
        roster : mapping of str to bytes
            Public identity of every site of the study.

        Returns
        -------
        public key
            To be certified.
        """
        try:
            check_signature(
                roster, self.site, self.signature, _message(self.site, self.csr)
            )
        except Refusal as refusal:
            raise InputError(
                f"the request of '{self.site}' is not signed with the key that the "
                f"study has for it ({refusal}): ask its steward for a new one"
            ) from None
        unusable = InputError(
            f"the request of '{self.site}' cannot be used: ask its steward for another"
        )
        try:
            found = x509.load_der_x509_csr(self.csr)
            key = found.public_key()
            names = found.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
            valid = found.is_signature_valid
        except (ValueError, TypeError):
            raise unusable from None
        if not valid or [name.value for name in names] != [node_name(self.site)]:
            raise unusable
        if not isinstance(key, rsa.RSAPublicKey) or key.key_size < KEY_BITS:
            raise unusable
        return key


def make_request(
    site: str, identity: Identity, key_file: Path, *, renew: bool = False
) -> Request:
    """Make a site's request, and its TLS key if there is none.

    Parameters
    ----------
    site : str
        Name of the site.
    identity : Identity
        Signs the request.
    key_file : Path
        Of the TLS key, which never leaves the site.
    renew : bool, default=False
        Whether to make a new key; the one before is kept beside it, so that the node
        can run until the new kit is here.

    Returns
    -------
    Request
        For the coordinator.
    """
    if renew and key_file.exists():
        key_file.replace(key_file.with_name(key_file.name + OLD))
    if not key_file.exists():
        key = rsa.generate_private_key(public_exponent=65537, key_size=KEY_BITS)
        _save(key, key_file)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, node_name(site))])
    builder = x509.CertificateSigningRequestBuilder().subject_name(name)
    csr = builder.sign(_load_key(key_file), hashes.SHA256()).public_bytes(Encoding.DER)
    return Request(site, csr, identity.sign(_message(site, csr)))


def read_request(path: Path) -> Request:
    """Read a request that `Request.write` wrote.

    Parameters
    ----------
    path : Path
        File.

    Returns
    -------
    Request
        Not checked yet.
    """
    try:
        with path.open("rb") as stream:
            content = json.loads(stream.read(LARGEST))
        known = content.keys() == {"format", "site", "request", "signature"}
        site = content["site"] if known and content["format"] == FORMAT else None
        csr = bytes.fromhex(content["request"])
        signature = bytes.fromhex(content["signature"])
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        site = None
    named = isinstance(site, str) and is_site_name(site)
    if not named or len(signature) != SIGNATURE_BYTES:
        raise InputError(
            f"{path} is not a request: 'fedsdr site request' writes one at the site"
        )
    return Request(str(site), csr, signature)


def find_key(key_file: Path, public: bytes) -> bytes:
    """Find the private key that a certificate is for.

    Parameters
    ----------
    key_file : Path
        Of the TLS key; the key before it is looked at too.
    public : bytes
        Public half, in DER.

    Returns
    -------
    bytes
        In PEM. An `InputError` if the site does not have it.
    """
    for path in (key_file, key_file.with_name(key_file.name + OLD)):
        if path.exists() and public_bytes(_load_key(path).public_key()) == public:
            return path.read_bytes()
    if not key_file.exists():
        raise InputError(
            f"{key_file} does not exist: 'fedsdr site request' makes it, and the "
            "coordinator makes the kit for it"
        )
    raise InputError(
        f"the kit is not for {key_file}: use the kit that was made for the last "
        "request, or send a new request with 'fedsdr site request'"
    )


def _load_key(path: Path) -> Any:
    try:
        mode = path.stat().st_mode
        key = load_pem_private_key(path.read_bytes(), password=None)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, TypeError):
        raise InputError(
            f"{path} is not a TLS key: make a new one with 'fedsdr site request "
            "--renew'"
        ) from None
    if mode & 0o077:
        raise InputError(f"others may read {path}: chmod {PRIVATE:o} it, or renew it")
    return key


def _save(key: rsa.RSAPrivateKey, path: Path) -> None:
    raw = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(raw)


def _message(site: str, csr: bytes) -> bytes:
    return joined(FORMAT, site, csr)
