"""``fedsdr site join``: take part in a study."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedsdr.cli.nodes import SiteArgument, running_nodes
from fedsdr.cli.screen import Screen
from fedsdr.cli.site_check import show_study
from fedsdr.exceptions import InputError

if TYPE_CHECKING:
    from fedsdr.study.site_news import SiteNews
    from fedsdr.transports.nvflare.processes import Node, Nodes

# Seconds between two checks, and before a coordinator that does not answer is reported.
LOOK = 0.5
DOUBT = 60.0


def join(
    *,
    file: SiteArgument,
    kit: Annotated[
        Path,
        typer.Argument(
            metavar="KIT", help="File from the coordinator.", show_default=False
        ),
    ],
) -> None:
    """Run the site's node until it is stopped with Ctrl-C.

    The site connects to the coordinator and answers what its rules allow; nobody
    connects to the site. A line says what leaves, what is refused with which code, and
    that the result has come. The exit code is 1 if the node ends by itself, and 2 if
    files do not fit together.
    """
    screen = Screen()
    with running_nodes(screen):
        from fedsdr.secure_sum import Identity
        from fedsdr.study import read_site
        from fedsdr.study.site_news import SiteNews
        from fedsdr.study.study_site import check_identity
        from fedsdr.transports.nvflare.launch import launch_site
        from fedsdr.transports.nvflare.node_settings import SITE_FILE
        from fedsdr.transports.nvflare.processes import nodes_together
        from fedsdr.transports.nvflare.site_kit import read_kit
        from fedsdr.transports.nvflare.site_node import occupied

        site = read_site(file)
        study = site.read_study()
        check_identity(site, study, Identity.load(site.at(site.identity)))
        found = read_kit(kit)
        if found.site != site.name:
            raise InputError(
                f"{kit} is the kit of '{found.site}' and {file} is of '{site.name}': "
                "use those of the same site"
            )
        show_study(screen, site.name, study)
        screen.say(f"coordinator {found.host}:{found.port}, whose authority is")
        screen.say(f"    {found.words}")
        try:
            node = site.at(site.node)
            with occupied(node), nodes_together() as nodes:
                launch = launch_site(found, site.at(site.tls), node)
                variables = {SITE_FILE: str(file.resolve())}
                nodes.start(launch, variables, log=node / "node.log")
                doubts = _Doubts(node, found.host, found.port)
                _wait(screen, nodes, doubts, SiteNews(site))
        except KeyboardInterrupt:
            screen.say("The site has left.")


def _wait(screen: Screen, nodes: "Nodes", doubts: "_Doubts", news: "SiteNews") -> None:
    where = "{}:{}".format(*doubts.address)
    node = nodes.running[0]
    joined = False
    while True:
        nodes.check()
        if not joined and node.has_joined():
            joined = True
            screen.say(f"Joined {where}. Stay until the result is here; leave")
            screen.say("with Ctrl-C.")
        for line in news.look():
            screen.say(f"{time.strftime('%H:%M:%S')} {line}")
        if not joined and (doubt := doubts.look(node)):
            screen.complain(f"{where} {doubt}; still trying, see {node.log}")
        time.sleep(LOOK)


class _Doubts:
    """Reason why a site has not joined, reported once and as early as possible."""

    def __init__(self, folder: Path, host: str, port: int) -> None:
        self._folder, self.address = folder, (host, port)
        self._start = time.monotonic()
        self._listener = ""
        self._said = False

    def look(self, node: "Node") -> str:
        """Return the reason on the first call that finds one, else an empty text."""
        doubt = "" if self._said else self._find(node)
        self._said = self._said or bool(doubt)
        return doubt

    def _find(self, node: "Node") -> str:
        from fedsdr.transports.nvflare.certificates import find_listener
        from fedsdr.transports.nvflare.ports import listens

        if not self._listener:
            self._listener = find_listener(self._folder, *self.address)
        if self._listener == "another study":
            return (
                "does not accept this kit, which belongs to another study, or another "
                "study has taken the coordinator's port"
            )
        if self._listener == "another program":
            return "is no coordinator: another program has taken the port"
        if node.was_sent_away():
            return (
                "sends this site away: another process has joined with its kit, on "
                "this machine or another one. End it first"
            )
        if time.monotonic() - self._start < DOUBT:
            return ""
        if listens(*self.address):
            return "answers, but does not let this site in: compare both clocks"
        return "cannot be reached: is study start running there?"
