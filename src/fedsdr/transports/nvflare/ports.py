"""Ports: who listens, and which are free."""

import errno
import socket

from fedsdr.exceptions import InputError

# Seconds until the machine of a port accepts or refuses a connection.
TIMEOUT = 5.0


def listens(host: str, port: int) -> bool:
    """Look whether somebody listens.

    Parameters
    ----------
    host : str
        Name or address.
    port : int
        Port.

    Returns
    -------
    bool
        Whether a connection was accepted.
    """
    try:
        with socket.create_connection((host, port), timeout=TIMEOUT):
            return True
    except OSError:
        return False


def check_port(host: str, port: int) -> None:
    """Refuse a port that is taken.

    Parameters
    ----------
    host : str
        Name or address.
    port : int
        Port.
    """
    problem = "in use" if listens(host, port) else _problem(port)
    if problem:
        raise InputError(
            f"port {port} of {host} is {problem}: end what listens there, or provision "
            "with another port"
        )


def _problem(port: int) -> str:
    """Try to take a port: what took it need not answer, or not under this address."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError as error:
            if error.errno == errno.EACCES:
                return "reserved for root"
            return "in use"
    return ""


def free_port() -> int:
    """Find a port of this machine that nobody listens on.

    Returns
    -------
    int
        Free when it was asked for.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
