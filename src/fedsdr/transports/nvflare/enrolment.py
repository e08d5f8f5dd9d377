"""The coordinator certifies keys that sites made, and takes certificates back."""

import datetime
import json
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key
from cryptography.x509.oid import NameOID
from nvflare.lighter.utils import Identity as Subject
from nvflare.lighter.utils import generate_cert

from fedsdr.exceptions import InputError
from fedsdr.secure_sum.identity import Roster
from fedsdr.transports.nvflare.admission import admit, read_admitted
from fedsdr.transports.nvflare.kits import read_address, read_project
from fedsdr.transports.nvflare.node_names import node_name
from fedsdr.transports.nvflare.provision import AUTHORITY, Kits
from fedsdr.transports.nvflare.site_kit import SiteKit
from fedsdr.transports.nvflare.site_request import Request

VALID_DAYS = 360


def sign_request(kits: Kits, request: Request, roster: Roster) -> SiteKit:
    """Certify the key of a site, and write its kit.

    Parameters
    ----------
    kits : Kits
        Of the coordinator.
    request : Request
        Of the site. The private half of its key is at the site, and only there.
    roster : mapping of str to bytes
        Public identity of every site of the study.

    Returns
    -------
    SiteKit
        Written to `Kits.site`. An earlier certificate of the site is no longer let in.
    """
    key = request.check(roster)
    authority, secret = _read_authority(kits.folder)
    now = datetime.datetime.now(datetime.UTC)
    if authority.not_valid_after_utc <= now:
        raise InputError(
            "the certificate of the authority has expired: provision again in another "
            "folder, and sign the sites' requests there"
        )
    name = node_name(request.site)
    (issuer,) = authority.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    certificate = generate_cert(
        # Each an organisation of its own: rights "of the same organisation" are void.
        subject=Subject(name, f"site_{name.replace('-', '_')}"),
        issuer=Subject(str(issuer.value)),
        signing_pri_key=load_pem_private_key(secret, password=None),
        subject_pub_key=key,
        not_valid_before=now,
        not_valid_after=min(
            authority.not_valid_after_utc, now + datetime.timedelta(days=VALID_DAYS)
        ),
    )
    kit = SiteKit(
        read_project(kits.server),
        request.site,
        *read_address(kits.server),
        authority.public_bytes(Encoding.PEM).decode("ascii"),
        certificate.public_bytes(Encoding.PEM).decode("ascii"),
    )
    admit(kits.server, request.site, certificate)
    kits.site(request.site).parent.mkdir(exist_ok=True)
    kit.write(kits.site(request.site))
    return kit


def revoke(kits: Kits, site: str) -> None:
    """Let a site's certificate in no longer.

    Parameters
    ----------
    kits : Kits
        Of the coordinator.
    site : str
        Name of the site.
    """
    if site not in read_admitted(kits.server):
        raise InputError(f"'{site}' has no certificate that could be revoked")
    admit(kits.server, site, None)
    kits.site(site).unlink(missing_ok=True)


def read_authority(kits: Kits) -> str:
    """Read the certificate of the coordinator's authority.

    Parameters
    ----------
    kits : Kits
        Of the coordinator.

    Returns
    -------
    str
        In PEM.
    """
    return _read_authority(kits.folder)[0].public_bytes(Encoding.PEM).decode("ascii")


def _read_authority(folder: Path) -> tuple[x509.Certificate, bytes]:
    path = folder / AUTHORITY / "cert.json"
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        certificate = x509.load_pem_x509_certificate(content["root_cert"].encode())
        return certificate, content["root_pri_key"].encode()
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise InputError(
            f"{path} cannot be read: provision again in another folder"
        ) from None
