"""Ports: who listens, and which are free."""

import socket

from fedsdr.exceptions import InputError


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
        with socket.create_connection((host, port), timeout=1.0):
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
    if listens(host, port):
        raise InputError(
            f"port {port} of {host} is in use: end what listens there, or provision "
            "with another port"
        )


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
