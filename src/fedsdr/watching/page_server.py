"""A server on this machine: one page, its state and a report, and nothing else."""

import json
import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hmac import compare_digest
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from fedsdr.exceptions import InputError
from fedsdr.watching.board import Board
from fedsdr.watching.board_page import page_title, write_page, write_parts

HOST = "127.0.0.1"

#: Bytes of the random word in the address.
TOKEN_BYTES = 32

#: Seconds that a request may take to arrive.
REQUEST = 10.0

_NOTHING = "default-src 'none'; base-uri 'none'; form-action 'none'"
_ALONE = f"{_NOTHING}; frame-ancestors 'none'; img-src data:"

#: A report has no script, and its pictures have styles of their own.
REPORT_POLICY = f"{_ALONE}; style-src 'unsafe-inline'"

_HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


@dataclass(frozen=True, slots=True)
class Watched:
    """What the server shows.

    Parameters
    ----------
    board : callable
        Returns the board as it is now; any thread may call it.
    report : callable
        Returns a page about the result, None while there is none.
    """

    board: Callable[[], Board]
    report: Callable[[], str | None]


class PageServer(ThreadingHTTPServer):
    """Answers GET requests of this machine that know a random word.

    Parameters
    ----------
    watched : Watched
        What it shows.
    port : int, default=0
        Port; 0 for a free one.
    """

    daemon_threads = True
    # A port that another program listens on is not shared with it.
    allow_reuse_port = False

    def __init__(self, watched: Watched, port: int = 0) -> None:
        self.watched = watched
        self.token = secrets.token_urlsafe(TOKEN_BYTES)
        super().__init__((HOST, port), _Handler)

    @property
    def address(self) -> str:
        """Address of the page, with the random word."""
        return f"http://{HOST}:{self.server_port}/{self.token}/"

    @property
    def hosts(self) -> tuple[str, ...]:
        """Names of this server that a browser on this machine may use."""
        return (f"{HOST}:{self.server_port}", f"localhost:{self.server_port}")

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a browser that leaves in the middle is no error.

        Parameters
        ----------
        request, client_address : object
            Of the connection that ended.
        """


class _Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    server: PageServer
    timeout = REQUEST

    def do_GET(self) -> None:
        """Answer with the page, its state or the report."""
        name = self._asked()
        if name is None:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        try:
            answer = _ANSWERS[name](self.server.watched)
        except Exception:
            # Its text could hold anything.
            self.send_error(HTTPStatus.INTERNAL_SERVER_ERROR)
            return
        if answer is None:
            self.send_error(HTTPStatus.NOT_FOUND)
        else:
            self._send(HTTPStatus.OK, *answer)

    def send_error(
        self, code: int, message: str | None = None, explain: str | None = None
    ) -> None:
        """Answer with the fixed words of a code, and nothing of the request.

        Parameters
        ----------
        code : int
            Code of the answer.
        message, explain : str, optional
            Not sent.
        """
        del message, explain
        # What http.server has no method for is a method that is not allowed.
        if code == HTTPStatus.NOT_IMPLEMENTED:
            code = HTTPStatus.METHOD_NOT_ALLOWED
        text = f"{HTTPStatus(code).phrase}\n"
        self._send(HTTPStatus(code), text, "text/plain", _NOTHING)

    def version_string(self) -> str:
        """Say which program answers, without its version.

        Returns
        -------
        str
            Value of the header "Server".
        """
        return "fedsdr"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Write no log: addresses hold the random word.

        Parameters
        ----------
        format : str
            Not used.
        *args : object
            Not used.
        """

    def _asked(self) -> str | None:
        """Return which page was asked for, None for whoever must not have any."""
        # Another name would be that of a foreign page which leads to this machine.
        if self.headers.get_all("Host") not in [[one] for one in self.server.hosts]:
            return None
        pieces = self.path.split("/")
        if len(pieces) != 3 or pieces[0] or pieces[2] not in _ANSWERS:
            return None
        known = compare_digest(pieces[1].encode(), self.server.token.encode())
        return pieces[2] if known else None

    def _send(self, code: HTTPStatus, text: str, kind: str, policy: str) -> None:
        content = text.encode()
        self.send_response(code)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Content-Security-Policy", policy)
        if code == HTTPStatus.METHOD_NOT_ALLOWED:
            self.send_header("Allow", "GET")
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)


Answer = tuple[str, str, str]


def _page(watched: Watched) -> Answer:
    nonce = secrets.token_urlsafe(16)
    policy = (
        f"{_ALONE}; connect-src 'self'; script-src 'nonce-{nonce}'; "
        f"style-src 'nonce-{nonce}'"
    )
    return write_page(watched.board(), nonce), "text/html", policy


def _state(watched: Watched) -> Answer:
    board = watched.board()
    found = {
        **board.plain(),
        "page_title": page_title(board),
        "parts": write_parts(board),
    }
    return json.dumps(found), "application/json", _NOTHING


def _report(watched: Watched) -> Answer | None:
    text = watched.report()
    return None if text is None else (text, "text/html", REPORT_POLICY)


_ANSWERS: dict[str, Callable[[Watched], Answer | None]] = {
    "": _page,
    "state": _state,
    "report": _report,
}


@contextmanager
def serving_page(watched: Watched, port: int = 0) -> Iterator[PageServer]:
    """Serve a page while the block runs.

    Parameters
    ----------
    watched : Watched
        What it shows.
    port : int, default=0
        Port; 0 for a free one.

    Yields
    ------
    PageServer
        With its address. An `InputError` if the port is taken.
    """
    try:
        server = PageServer(watched, port)
    except (OSError, OverflowError):
        raise InputError(
            f"the port {port} of this machine cannot be used: give another one, or "
            "--port 0 for a free one"
        ) from None
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
