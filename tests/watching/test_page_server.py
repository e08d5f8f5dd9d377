"""The page answers this machine, who knows its address, and nobody else."""

import http.client
import json
import re
import socket
from collections.abc import Iterator

import pytest

from fedsdr.exceptions import InputError
from fedsdr.watching.board import Board, Panel
from fedsdr.watching.page_server import PageServer, Watched, serving_page

HOSTILE = '<script>alert("x")</script>'


def make_board() -> Board:
    sites = Panel("sites", "Sites", ("site", "now"), ((HOSTILE, "awaited"),), "")
    result = Panel("result", "Result", ("variable",), (), "There is no result yet.")
    return Board("Study <b>", "running", "One is awaited.", panels=(sites, result))


@pytest.fixture(name="server")
def running_server() -> Iterator[PageServer]:
    with serving_page(Watched(make_board, lambda: None)) as server:
        yield server


def ask(
    server: PageServer, path: str, method: str = "GET", **headers: str
) -> tuple[http.client.HTTPResponse, str]:
    """Ask as a browser does, with whatever headers."""
    connection = http.client.HTTPConnection(
        "127.0.0.1", server.server_port, timeout=600
    )
    connection.putrequest(method, path, skip_host="Host" in headers)
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders()
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer, text


def test_the_page_follows_the_board(server: PageServer) -> None:
    answer, text = ask(server, f"/{server.token}/")
    assert answer.status == 200
    assert 'role="status"' in text
    assert 'aria-live="polite"' in text
    assert "One is awaited." in text
    # Names come from other parties.
    assert HOSTILE not in text
    assert "&lt;script&gt;" in text
    assert '<noscript><meta http-equiv="refresh"' in text
    _, state = ask(server, f"/{server.token}/state")
    found = json.loads(state)
    assert found["headline"] == "One is awaited."
    assert found["panels"]["sites"] == [{"site": HOSTILE, "now": "awaited"}]
    assert HOSTILE not in "".join(found["parts"].values())


def test_the_page_may_run_and_load_nothing_else(server: PageServer) -> None:
    answer, text = ask(server, f"/{server.token}/")
    policy = answer.headers["Content-Security-Policy"]
    rules = dict(one.strip().split(" ", 1) for one in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["connect-src"] == "'self'"
    for name in ("base-uri", "form-action", "frame-ancestors"):
        assert rules[name] == "'none'"
    (nonce,) = re.findall(r"'nonce-([\w-]+)'", rules["script-src"])
    assert len(re.findall(r"<script", text)) == 1
    assert f'<script nonce="{nonce}">' in text
    assert "unsafe" not in policy
    assert not re.search(r"https?://|\bon\w+=|style=", text)
    again, _ = ask(server, f"/{server.token}/")
    assert nonce not in again.headers["Content-Security-Policy"]
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers.get("Access-Control-Allow-Origin") is None


@pytest.mark.parametrize(
    "path",
    ["/", "/state", "/{}x/", "/{}/state?x", "/{}/result.json", "/{}/../{}/", "/{}",
     "http://127.0.0.1/{}/", "/{}/state/"],
)  # fmt: skip
def test_other_paths_are_refused(server: PageServer, path: str) -> None:
    answer, text = ask(server, path.replace("{}", server.token))
    assert answer.status == 404
    assert text == "Not Found\n"


def test_a_token_of_the_same_length_is_refused(server: PageServer) -> None:
    wrong = server.token[:-1] + ("A" if server.token[-1] != "A" else "B")
    assert ask(server, f"/{wrong}/")[0].status == 404
    assert len(server.token) >= 43


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1", "localhost:1", "evil.example:{}", ""]
)
def test_another_name_of_this_machine_is_refused(server: PageServer, host: str) -> None:
    """As from a page whose name was made to lead to this machine."""
    named = host.format(server.server_port)
    assert ask(server, f"/{server.token}/", Host=named)[0].status == 404
    own = f"localhost:{server.server_port}"
    assert ask(server, f"/{server.token}/", Host=own)[0].status == 200


def test_two_hosts_or_none_are_refused(server: PageServer) -> None:
    own = f"127.0.0.1:{server.server_port}"
    for lines in ([], [f"Host: {own}", f"Host: {own}"]):
        request = "\r\n".join([f"GET /{server.token}/ HTTP/1.1", *lines, "", ""])
        with socket.create_connection(("127.0.0.1", server.server_port)) as stream:
            stream.sendall(request.encode())
            assert b" 404 " in stream.makefile("rb").readline()


@pytest.mark.parametrize("method", ["POST", "HEAD", "PUT", "DELETE", "OPTIONS", "EVIL"])
def test_other_methods_are_refused(server: PageServer, method: str) -> None:
    answer, text = ask(server, f"/{server.token}/", method)
    assert answer.status == 405
    assert answer.headers["Allow"] == "GET"
    assert "EVIL" not in text


def test_nobody_else_can_connect(server: PageServer) -> None:
    assert server.socket.getsockname()[0] == "127.0.0.1"


def test_an_error_says_nothing() -> None:
    def fail() -> Board:
        raise ValueError("patient 4711")

    with serving_page(Watched(fail, lambda: None)) as server:
        answer, text = ask(server, f"/{server.token}/state")
    assert answer.status == 500
    assert text == "Internal Server Error\n"


def test_a_report_has_no_script() -> None:
    reports: list[str | None] = [None]
    with serving_page(Watched(make_board, lambda: reports[0])) as server:
        assert ask(server, f"/{server.token}/report")[0].status == 404
        reports[0] = "<p>found</p>"
        answer, text = ask(server, f"/{server.token}/report")
    assert text == "<p>found</p>"
    policy = answer.headers["Content-Security-Policy"]
    assert "script-src" not in policy
    assert "default-src 'none'" in policy


def test_a_port_that_is_taken(server: PageServer) -> None:
    with (
        pytest.raises(InputError, match="--port 0"),
        serving_page(Watched(make_board, lambda: None), server.server_port),
    ):
        pass
