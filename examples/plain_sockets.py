"""A second engine: the seam over plain sockets, and a whole study run with it.

``python examples/plain_sockets.py`` simulates four sites, runs each as a process of its
own and prints what they find together. The transport is `serve`, `read_reply` and
`Sockets`; ``docs/transports.md`` says what it has to promise. Lines are authenticated
by a secret for each site, but not encrypted: use it on one machine.
"""

import os
import tempfile
import time
from multiprocessing import get_context
from multiprocessing.connection import Client, Connection, Listener, wait
from pathlib import Path
from typing import Any

from fedsdr.exceptions import CODES, Refusal, fixed_code
from fedsdr.protocols.exchange import Failures, Party, Payload, Payloads, Replies
from fedsdr.protocols.wire import decode, encode
from fedsdr.result import Result
from fedsdr.study import conduct, open_site
from fedsdr.study.example import Example, simulate_example, write_example


def serve(site_file: Path, address: Any, secret: bytes) -> None:
    """At a site: answer with a reply or a fixed code, until the line is closed."""
    party: Party | None = None
    with Client(address, authkey=secret) as line:
        while True:
            try:
                request = decode(line.recv_bytes())
            except EOFError:
                return
            reply = {"number": request["number"]}
            try:
                party = party or open_site(site_file)
                payload = decode(request["body"])
                reply["body"] = encode(party.handle(request["name"], payload))
            except Exception as error:
                # What it says may quote data. The site's log has it; others never.
                reply["code"] = fixed_code(error)
            line.send_bytes(encode(reply))


def read_reply(packed: bytes, number: int) -> Payload | str | None:
    """Read a reply or a code; None if it answers an earlier message."""
    try:
        reply = decode(packed)
        if reply["number"] != number:
            return None
        code = reply.get("code")
        return code if code in CODES else decode(reply["body"])
    except (Refusal, KeyError, TypeError):
        return "MALFORMED"


class Sockets:
    """At the coordinator: an `Exchange` over one line a site."""

    def __init__(self, lines: dict[str, Connection]) -> None:
        self._lines = lines
        self._number = 0

    def __call__(
        self, name: str, payloads: Payloads, timeout: float
    ) -> tuple[Replies, Failures]:
        """Send each site its message, once, and take what comes back in time."""
        self._number += 1
        replies: Replies = {}
        failures = dict.fromkeys(payloads, "TIMEOUT")
        waiting: dict[Any, str] = {}
        for site, payload in payloads.items():
            body = encode(payload)
            request = {"number": self._number, "name": name, "body": body}
            try:
                self._lines[site].send_bytes(encode(request))
            except (KeyError, OSError):
                continue
            waiting[self._lines[site]] = site
        deadline = time.monotonic() + timeout
        while waiting and (left := deadline - time.monotonic()) > 0.0:
            ready: list[Any] = wait(list(waiting), left)
            for line in ready:
                try:
                    answer = read_reply(line.recv_bytes(), self._number)
                except (EOFError, OSError):
                    del waiting[line]
                    continue
                if isinstance(answer, str):
                    failures[waiting.pop(line)] = answer
                elif answer is not None:
                    replies[waiting[line]] = answer
                    del failures[waiting.pop(line)]
        return replies, failures


def run(example: Example, folder: Path) -> Result:
    """Start a process for each site, conduct the study, and let them end."""
    context = get_context("spawn")
    listeners, sites = {}, []
    for name, site_file in example.site_files.items():
        secret = os.urandom(32)
        listeners[name] = Listener(("localhost", 0), authkey=secret)
        arguments = (site_file, listeners[name].address, secret)
        sites.append(context.Process(target=serve, args=arguments, daemon=True))
        sites[-1].start()
    # Whoever knows the secret of a site is that site.
    lines = {name: listener.accept() for name, listener in listeners.items()}
    try:
        return conduct(example.study_file, Sockets(lines), folder)
    finally:
        ends: list[Any] = [*lines.values(), *listeners.values()]
        for end in ends:
            end.close()
        for site in sites:
            site.join()


def main() -> None:
    """Simulate sites, run the study, and show its result."""
    with tempfile.TemporaryDirectory() as scratch:
        truth = simulate_example(n_sites=4, n_rows=200, n_features=20)
        example = write_example(Path(scratch), truth)
        result = run(example, Path(scratch) / "state")
    print(f"{result.n_rows} rows in {result.n_sites} processes: {result.n_directions}")
    print(f"directions in {', '.join(result.selected)}")
    print(f"optimum known to {result.gap:.0e}, relative")


if __name__ == "__main__":
    main()
