"""What runs at a site: hand messages to the site's party, and its answers back."""

import logging
import os
from pathlib import Path
from traceback import extract_tb
from typing import Any

from nvflare.apis.executor import Executor
from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.shareable import Shareable, make_reply

from fedsdr.exceptions import InputError, Refusal, fixed_code
from fedsdr.protocols.exchange import Party
from fedsdr.protocols.wire import encode
from fedsdr.spoken import escaped
from fedsdr.transports.nvflare.envelope import pack_code, pack_reply, read_request
from fedsdr.transports.nvflare.node_settings import SITE_FILE, TASK

logger = logging.getLogger(__name__)


class SiteExecutor(Executor):
    """Lets the party of the site's own file answer.

    Notes
    -----
    It takes no arguments, since those would come with the job. The variable
    ``FEDSDR_SITE_FILE`` of the node's environment names the site's file.
    """

    def __init__(self) -> None:
        super().__init__()
        self._party: Party | None = None
        self._study = ""

    def open_party(self) -> Party:
        """Open the site, for the study that the coordinator has named.

        Returns
        -------
        Party
            Of ``FEDSDR_SITE_FILE``.
        """
        from fedsdr.study import open_site

        path = os.environ.get(SITE_FILE)
        if path is None:
            raise InputError(f"{SITE_FILE} is not set: start the site with site join")
        return open_site(Path(path), digest=self._study)

    def execute(
        self,
        task_name: str,
        shareable: Shareable,
        fl_ctx: Any,
        abort_signal: Any,
    ) -> Shareable:
        """Answer one message.

        Parameters
        ----------
        task_name : str
            Must be the one task that there is.
        shareable : Shareable
            The envelope.
        fl_ctx : FLContext
            Not used.
        abort_signal : Signal
            Not used: an answer takes seconds.

        Returns
        -------
        Shareable
            The reply or a fixed code, and nothing else about what went wrong.
        """
        del fl_ctx, abort_signal
        if task_name != TASK:
            return make_reply(ReturnCode.TASK_UNKNOWN)
        name = "a message"
        try:
            name, payload = read_request(shareable)
            named = payload.get("study", self._study)
            if isinstance(named, str) and named != self._study:
                self._study, self._party = named, None
            if self._party is None:
                self._party = self.open_party()
            return pack_reply(encode(self._party.handle(name, payload)))
        except Exception as error:
            code = fixed_code(error)
            # Not log_error: NVFLARE can send that to the server.
            logger.warning("%s: %s, %s", escaped(name), code, escaped(describe(error)))
            return pack_code(code)


def describe(error: Exception) -> str:
    """Word an error for the log of the site itself.

    Parameters
    ----------
    error : Exception
        What went wrong.

    Returns
    -------
    str
        Our own errors never quote data, and keep their text. Of others only type and
        place are told.
    """
    if isinstance(error, Refusal | InputError):
        return str(error)
    frames = extract_tb(error.__traceback__)
    place = (
        f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    )
    return f"{type(error).__name__}{place}"
