"""Whether a site could reach its coordinator: certificate, address, port and clocks."""

import contextlib
import socket
import ssl
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path

from cryptography import x509

from fedsdr.exceptions import InputError
from fedsdr.study.site_health import Finding
from fedsdr.transports.nvflare.ports import TIMEOUT, listens
from fedsdr.transports.nvflare.site_kit import SiteKit, read_kit
from fedsdr.transports.nvflare.site_request import OLD, find_key

#: Days before its end at which a certificate should be renewed.
RENEWAL = 30

#: How far two clocks may be apart: certificates are valid from when they are made.
SKEW = timedelta(minutes=5)

RENEW = "fedsdr site request SITE.toml --renew, and send the request to the coordinator"


def examine_connection(
    kit_file: Path | None, tls: Path, now: datetime | None = None
) -> list[Finding]:
    """Look at everything between a site and its coordinator.

    Parameters
    ----------
    kit_file : Path or None
        The site's kit; None if there is none yet.
    tls : Path
        The site's TLS key.
    now : datetime or None, default=None
        With its time zone; the clock of this machine if not given.

    Returns
    -------
    list of Finding
        One for each thing. The coordinator's port is connected to, and nothing of the
        site is sent but its certificate.
    """
    now = now or datetime.now(UTC)
    if kit_file is None:
        words = "there is no kit beside the site file"
        remedy = "fedsdr site request SITE.toml; the coordinator answers with a kit"
        return [Finding("certificate", "warn", words, remedy)]
    try:
        kit = read_kit(kit_file)
    except InputError as error:
        return [Finding("certificate", "fail", str(error), "ask for a new kit")]
    found = [_look_at_certificate(kit, now), _look_at_key(kit, tls)]
    reached = _look_at_port(kit)
    found.append(reached)
    if reached.verdict == "ok":
        found += _look_at_coordinator(kit, tls, now)
    return found


def _look_at_certificate(kit: SiteKit, now: datetime) -> Finding:
    loaded = [
        x509.load_pem_x509_certificate(one.encode())
        for one in (kit.certificate, kit.authority)
    ]
    start = max(one.not_valid_before_utc for one in loaded)
    end = min(one.not_valid_after_utc for one in loaded)
    dates = f"valid from {start:%Y-%m-%d} to {end:%Y-%m-%d}"
    if now < start:
        return Finding("certificate", "fail", dates, "set the clock of this machine")
    if now >= end:
        return Finding("certificate", "fail", f"{dates}, which is over", RENEW)
    days = (end - now).days
    if days < RENEWAL:
        return Finding("certificate", "warn", f"{dates}, {days} days left", RENEW)
    return Finding("certificate", "ok", f"{dates}, {days} days left")


def _look_at_key(kit: SiteKit, tls: Path) -> Finding:
    try:
        find_key(tls, kit.public_key())
    except InputError as error:
        remedy = "use the kit of the last request, or request another"
        return Finding("TLS key", "fail", str(error), remedy)
    return Finding("TLS key", "ok", "the certificate is for it")


def _look_at_port(kit: SiteKit) -> Finding:
    where = f"{kit.host}:{kit.port}"
    try:
        socket.getaddrinfo(kit.host, kit.port, type=socket.SOCK_STREAM)
    except OSError:
        remedy = "check the name, and the name server of this machine"
        return Finding("coordinator", "fail", f"{kit.host} is not known", remedy)
    if listens(kit.host, kit.port):
        return Finding("coordinator", "ok", f"{where} accepts connections")
    remedy = (
        "ask whether fedsdr study start runs there; let TCP out to this port in the "
        "firewall"
    )
    return Finding("coordinator", "fail", f"{where} cannot be reached", remedy)


def _look_at_coordinator(kit: SiteKit, tls: Path, now: datetime) -> Iterator[Finding]:
    try:
        theirs = ask_time(kit, tls)
    except ssl.SSLCertVerificationError:
        words = "has a certificate of another authority"
        remedy = "use the kit of this study; a proxy must not open TLS"
        yield Finding("authority", "fail", words, remedy)
        return
    except OSError:
        words = "ended the connection while certificates were shown"
        remedy = "compare both clocks; ask whether the certificate was revoked"
        yield Finding("authority", "warn", words, remedy)
        return
    yield Finding("authority", "ok", "is the one in the kit")
    if theirs is None:
        return
    apart = abs(now - theirs)
    words = f"{apart.total_seconds():.0f} s from the coordinator's"
    if apart <= SKEW:
        yield Finding("both clocks", "ok", words)
    else:
        yield Finding("both clocks", "fail", words, "set the clock that is wrong")


def ask_time(kit: SiteKit, tls: Path) -> datetime | None:
    """Ask what time it is at the coordinator.

    Parameters
    ----------
    kit : SiteKit
        Kit of the site.
    tls : Path
        The site's TLS key.

    Returns
    -------
    datetime or None
        From the header of any answer over HTTP; None if it does not say. An `OSError`
        if there is no connection under the certificates of the kit.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # NVFLARE's names of servers need not be those of hosts.
    context.check_hostname = False
    context.load_verify_locations(cadata=kit.authority)
    with tempfile.TemporaryDirectory() as scratch:
        certificate = Path(scratch) / "client.crt"
        certificate.write_text(kit.certificate, encoding="ascii")
        try:
            context.load_cert_chain(certificate, tls)
        except ssl.SSLError:
            # The kit is still the one for the key before.
            context.load_cert_chain(certificate, tls.with_name(tls.name + OLD))
    ask = f"GET / HTTP/1.1\r\nHost: {kit.host}\r\nConnection: close\r\n\r\n"
    with (
        socket.create_connection((kit.host, kit.port), timeout=TIMEOUT) as plain,
        context.wrap_socket(plain) as stream,
    ):
        stream.sendall(ask.encode("ascii"))
        return _read_date(stream.recv(4096))


def _read_date(answer: bytes) -> datetime | None:
    for line in answer.decode("latin-1").splitlines():
        name, _, value = line.partition(":")
        if name.strip().lower() == "date":
            with contextlib.suppress(ValueError):
                return parsedate_to_datetime(value.strip()).astimezone(UTC)
    return None
