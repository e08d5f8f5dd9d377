"""Which registration of each site is valid now, for the processes of a job to read."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from fedsdr.files import write_atomically

#: In the folder of the coordinator's node.
REGISTERED = "registered.json"


def digest_of(token: str) -> str:
    """Digest the token of a registration, which is a secret itself.

    Parameters
    ----------
    token : str
        A node gets a new one each time that it is started.

    Returns
    -------
    str
        SHA-256, in hexadecimal.
    """
    return hashlib.sha256(token.encode()).hexdigest()


def write_registrations(node: Path, tokens: Mapping[str, str]) -> None:
    """Write which sites are registered.

    Parameters
    ----------
    node : Path
        Folder of the coordinator's node.
    tokens : mapping of str to str
        Token of each site.
    """
    content = {site: digest_of(token) for site, token in sorted(tokens.items())}
    write_atomically(node / REGISTERED, json.dumps(content) + "\n", durable=False)


def read_registrations(node: Path) -> dict[str, str]:
    """Read which sites are registered.

    Parameters
    ----------
    node : Path
        Folder of the coordinator's node.

    Returns
    -------
    dict of str to str
        Digest of each site's token; empty if nobody has written it.
    """
    try:
        content = json.loads((node / REGISTERED).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return {}
    return {str(site): str(token) for site, token in content.items()}
