"""A connection to the coordinator's node: a question is asked until it is answered."""

import io
import json
import logging
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any

from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.fl_exception import FLCommunicationError
from nvflare.app_common.streamers.file_streamer import FileStreamer
from nvflare.fuel.f3.cellnet.fqcn import FQCN
from nvflare.fuel.flare_api.api_spec import (
    AuthenticationError,
    InternalError,
    NoConnection,
    NoReply,
    SessionClosed,
)
from nvflare.fuel.flare_api.flare_api import new_secure_session
from nvflare.fuel.hci.proto import StreamChannel, StreamTopic
from nvflare.fuel.utils.config_service import ConfigService
from nvflare.private.fed import authenticator
from nvflare.private.stream_runner import HeaderKey

from fedsdr.exceptions import InputError
from fedsdr.transports.nvflare.certificates import check_validity, find_listener
from fedsdr.transports.nvflare.patience import FIRST, growing_waits
from fedsdr.transports.nvflare.pauses import shorten_sleeps
from fedsdr.transports.nvflare.ports import listens

# NVFLARE's threads would otherwise write to the terminal.
logging.getLogger("nvflare").addHandler(logging.NullHandler())

# Answers that say that something went wrong at the coordinator's node. Such a thing can
# pass, but unlike silence it is not a sign that the node is only busy.
MISTAKES = (InternalError, RuntimeError)
MOST_MISTAKES = 5

# Seconds between two tries to show who one is: the first comes before the connection is
# there, and NVFLARE would then wait for a second.
shorten_sleeps(0.05, authenticator)

# Of one attempt to log in. NVFLARE would try 300 times.
LOGIN_TRIES = 2


class SessionError(RuntimeError):
    """The coordinator's node does not answer, or does not allow what was asked."""


class LostNodeError(SessionError):
    """The coordinator's node has answered before, and does not any more."""


class Connection:
    """A connection of the analyst to the coordinator's node.

    Parameters
    ----------
    session : flare_api.Session
        Open.
    address : tuple of str and int
        Name or address of the coordinator, and its port.
    patience : float
        Seconds for which a node that listens may leave a question without an answer.
    """

    def __init__(self, session: Any, address: tuple[str, int], patience: float) -> None:
        self._session = session
        self._address = address
        self._patience = patience
        session.api.upload_file = partial(_upload, session.api)

    def ask(self, question: str, *arguments: str) -> Any:
        """Ask until there is an answer.

        Parameters
        ----------
        question : str
            Name of a method of NVFLARE's session. It must not matter whether the node
            does it once or twice, since an answer can be lost.
        *arguments : str
            For the method.

        Returns
        -------
        Any
            What the method returned. Its errors that are answers are raised.
        """
        mistakes, reason = 0, ""
        for seconds in growing_waits(self._patience):
            self._session.set_timeout(seconds)
            try:
                return getattr(self._session, question)(*arguments)
            except (NoConnection, NoReply) as error:
                reason = type(error).__name__
            except SessionClosed as error:
                reason = type(error).__name__
                break
            except MISTAKES as error:
                reason = type(error).__name__
                mistakes += 1
            if mistakes == MOST_MISTAKES or not listens(*self._address):
                break
        raise LostNodeError(
            f"the coordinator's node does not answer ({reason}): is study start still "
            "running?"
        )

    def close(self) -> None:
        """Log out, if there is anybody to log out from."""
        if listens(*self._address):
            self._session.set_timeout(FIRST)
            self._session.close()
        else:
            self._session.api.close()


def _upload(api: Any, file_name: str, connection: Any) -> Any:
    """Upload a file as NVFLARE does, but with the time that other questions have.

    NVFLARE gives the node 5 seconds for each part of a file, whatever was set.
    """
    with api.new_context() as context:
        code, replies = FileStreamer.stream_file(
            channel=StreamChannel.UPLOAD,
            topic=StreamTopic.FOLDER,
            stream_ctx={"conn_data": connection.close()},
            file_name=file_name,
            fl_ctx=context,
            targets=[FQCN.ROOT_SERVER],
            chunk_timeout=api.cmd_timeout,
        )
    if code != ReturnCode.OK:
        return None
    return replies[FQCN.ROOT_SERVER].get_header(HeaderKey.END_RESULT)


def connect(
    kit: Path, patience: float, starting: Callable[[], bool] = lambda: False
) -> Connection:
    """Log in at the coordinator's node.

    Parameters
    ----------
    kit : Path
        Of the analyst.
    patience : float
        Seconds, then a `SessionError`, here and for each question.
    starting : callable, optional
        Whether somebody is starting the node, so that it is worth waiting although
        nobody listens yet.

    Returns
    -------
    Connection
        Open.
    """
    try:
        admin = json.loads((kit / "startup" / "fed_admin.json").read_text())["admin"]
    except (OSError, ValueError, KeyError):
        raise InputError(
            f"{kit} is not an analyst's kit: study provision makes one"
        ) from None
    check_validity(kit)
    address = (str(admin["host"]), int(admin["port"]))
    where = f"{address[0]}:{address[1]}"
    stranger = SessionError(
        f"the coordinator at {where} does not accept this certificate: use the kit "
        "that its own study provision made, or end the other study that has taken the "
        "port"
    )
    taken = SessionError(
        f"the port {where} is taken by another program, which is no coordinator: end "
        "it, and run study start"
    )
    # NVFLARE would otherwise look for a file of settings in all folders below the
    # current one, which can take minutes, and obey whatever it finds.
    ConfigService.initialize({}, [str(kit.resolve() / "startup")])
    for seconds in growing_waits(patience):
        if not listens(*address):
            if starting():
                continue
            break
        listener = find_listener(kit, *address)
        if listener == "another program":
            raise taken
        if listener == "another study":
            raise stranger
        try:
            session = _log_in(kit, str(admin["username"]), seconds)
        except AuthenticationError:
            raise stranger from None
        except (NoConnection, NoReply, SessionClosed, FLCommunicationError, *MISTAKES):
            continue
        return Connection(session, address, patience)
    raise SessionError(
        f"the coordinator at {where} does not answer: is study start running?"
    )


def _log_in(kit: Path, name: str, seconds: float) -> Any:
    with redirect_stdout(io.StringIO()):
        return new_secure_session(
            name,
            str(kit.resolve()),
            timeout=seconds,
            command_timeout=seconds,
            auto_login_max_tries=LOGIN_TRIES,
        )
