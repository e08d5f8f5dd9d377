"""Certificates of a kit: whether they are valid now, and of the coordinator's study."""

import socket
import ssl
from datetime import UTC, datetime
from pathlib import Path

from cryptography import x509

from fedsdr.exceptions import InputError

# Seconds for a coordinator to show its certificate, while it may be busy.
TIMEOUT = 30.0


def check_validity(kit: Path, now: datetime | None = None) -> None:
    """Refuse a kit whose certificates this machine holds for too new or too old.

    Parameters
    ----------
    kit : Path
        Of a node or a person.
    now : datetime or None, default=None
        With its time zone; the clock of this machine if not given.

    Notes
    -----
    TLS would refuse them as well, and say so in a log at best.
    """
    now = now or datetime.now(UTC)
    startup = kit / "startup"
    for file in sorted([*startup.glob("*.crt"), *startup.glob("*.pem")]):
        try:
            found = x509.load_pem_x509_certificate(file.read_bytes())
        except (OSError, ValueError):
            raise InputError(
                f"{file} is not a certificate: ask the coordinator for a new kit"
            ) from None
        if now < found.not_valid_before_utc:
            raise InputError(
                f"{file} is valid from {_show(found.not_valid_before_utc)}, and the "
                f"clock of this machine says {_show(now)}: set the clock, or ask the "
                "coordinator whether its own was right"
            )
        if now > found.not_valid_after_utc:
            raise InputError(
                f"{file} was valid until {_show(found.not_valid_after_utc)}, and the "
                f"clock of this machine says {_show(now)}: provision again, unless the "
                "clock is wrong"
            )


def find_listener(kit: Path, host: str, port: int) -> str:
    """Look who listens where the coordinator of a kit should.

    Parameters
    ----------
    kit : Path
        Of a site or a person.
    host : str
        Name or address of the coordinator.
    port : int
        Its port.

    Returns
    -------
    {"coordinator", "another study", "another program", ""}
        Nothing if nobody answers, or not in time.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # NVFLARE's names of servers need not be those of hosts.
    context.check_hostname = False
    context.load_verify_locations(kit / "startup" / "rootCA.pem")
    try:
        with (
            socket.create_connection((host, port), timeout=TIMEOUT) as connection,
            context.wrap_socket(connection),
        ):
            return "coordinator"
    except ssl.SSLCertVerificationError:
        return "another study"
    except (ssl.SSLEOFError, ssl.SSLZeroReturnError):
        return ""
    except ssl.SSLError:
        # It does not speak TLS.
        return "another program"
    except OSError:
        return ""


def _show(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
