"""Who is really there: nodes that have left, and second nodes of one site."""

import time
from pathlib import Path
from typing import Any

from nvflare.fuel.f3.sfm.conn_manager import ConnManager
from nvflare.fuel.f3.sfm.constants import HandshakeKeys, Types
from nvflare.private.fed.server.fed_server import FederatedServer

from fedsdr.transports.nvflare.registrations import write_registrations

# Seconds without a connection after which a node has left. Nodes that lost theirs
# connect again after a second or two.
GONE = 3.0

# Seconds between two looks.
LOOK = 0.2

# Seconds for a node that has joined to give a sign of life, while a second one of the
# same site waits at the door.
SIGN_OF_LIFE = 5.0
STEP = 0.05


class RollCall:
    """Notices which nodes have had no connection for some seconds.

    Parameters
    ----------
    gone : float, default=3.0
        Seconds.
    """

    def __init__(self, gone: float = GONE) -> None:
        self._gone = gone
        self._since: dict[str, float] = {}

    def left(self, registered: dict[str, str], connected: set[str]) -> list[str]:
        """Look once more.

        Parameters
        ----------
        registered : dict of str to str
            From the token of a node to its name in the network.
        connected : set of str
            Names of nodes with a connection now.

        Returns
        -------
        list of str
            Tokens of the nodes that have left.
        """
        now = time.monotonic()
        away = {token for token, name in registered.items() if name not in connected}
        self._since = {token: self._since.get(token, now) for token in away}
        return [token for token in away if now - self._since[token] >= self._gone]


def call_the_roll(node: Path) -> None:
    """Let the coordinator's node forget nodes that have left within seconds.

    NVFLARE would list them until their heart beats have been missing for two minutes. A
    node that comes back without having been started again is listed at its next beat.

    Parameters
    ----------
    node : Path
        Folder of the coordinator's node, where registrations are written to.
    """
    roll = RollCall()

    def client_cleanup(self: Any) -> None:
        written: dict[str, str] | None = None
        while not self.shutdown:
            self.remove_dead_clients()
            clients = dict(self.client_manager.get_clients())
            if self.cell is not None:
                registered = {token: one.get_fqcn() for token, one in clients.items()}
                for token in roll.left(registered, set(self.cell.core_cell.agents)):
                    client = self.logout_client(token)
                    self.logger.info(f"{client.name} has left: it has no connection")
            tokens = {one.name: token for token, one in clients.items()}
            if tokens != written:
                write_registrations(node, tokens)
                written = tokens
            time.sleep(LOOK)

    FederatedServer.client_cleanup = client_cleanup


def let_nobody_in_twice() -> None:
    """Refuse a second connection of a site whose first one is alive.

    NVFLARE would end the first one, and its node would notice nothing. A connection
    that a cut cable has left behind gives no sign of life, and is replaced.
    """
    take_in = ConnManager.update_endpoint

    def update_endpoint(self: Any, sfm_conn: Any, data: dict[str, Any]) -> None:
        name = str(data.get(HandshakeKeys.ENDPOINT_NAME, ""))
        known = self.sfm_endpoints.get(name)
        others = [] if known is None else list(known.connections)
        if any(is_alive(one) for one in others if one is not sfm_conn):
            sfm_conn.conn.close()
            raise ValueError(f"a second node of {name!r} is refused: the first is here")
        take_in(self, sfm_conn, data)

    ConnManager.update_endpoint = update_endpoint


def is_alive(connection: Any, patience: float = SIGN_OF_LIFE) -> bool:
    """Ask the other end of a connection for a sign of life.

    Parameters
    ----------
    connection : SfmConnection
        Connection of the coordinator's node.
    patience : float, default=5.0
        Seconds.

    Returns
    -------
    bool
        Whether it has answered.
    """
    asked = time.time()
    try:
        connection.send_heartbeat(Types.PING)
    except Exception:
        return False
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        if connection.last_activity > asked:
            return True
        time.sleep(STEP)
    return False
