"""The world of a story: machines of all parties, and a network in which things fail."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from tests.chaos.machines import Machine, PowerCut, running
from tests.chaos.stories import (
    COORDINATOR,
    Fault,
    Story,
    columns_of,
    edited,
    rows_of,
)
from tests.study.consortia import NAMES, Files, write_toml

from fedsdr.exceptions import fixed_code
from fedsdr.protocols.exchange import Failures, Party, Payload, Payloads, Replies
from fedsdr.protocols.wire import decode, encode
from fedsdr.study import conduct, open_site


@dataclass
class SiteMachine(Machine):
    """The machine of a site, and the process that answers on it."""

    file: Path = Path()
    party: Party | None = None
    twin: Party | None = None
    study: str = ""
    is_down: bool = False
    #: Whether the process was started after the job: it is not in it.
    is_late: bool = False
    #: For how many more messages it is asleep, deaf, mute, doubled or asked twice.
    asleep: int = 0
    deaf: int = 0
    mute: int = 0
    doubled: int = 0
    repeated: int = 0
    unread: list[tuple[str, bytes]] = field(default_factory=list)

    def die(self) -> None:
        """Lose everything that is not on the disk."""
        self.party, self.twin, self.unread, self.study = None, None, [], ""
        self.asleep = self.doubled = self.repeated = 0
        self.is_late = True

    def start(self) -> None:
        """Start the process again, which takes part in the next job."""
        self.die()
        self.is_down = False
        self.deaf = self.mute = 0


class World:
    """All parties of a story.

    Parameters
    ----------
    root : Path
        Folder for their files.
    story : Story
        What happens.
    """

    def __init__(self, root: Path, story: Story) -> None:
        self.story = story
        self.files = Files(root, rows_of(story.study), **columns_of(story.study))
        self.coordinator = Machine(COORDINATOR)
        self.sites = {
            name: SiteMachine(name, file=self.files.site_file(name)) for name in NAMES
        }
        self.count = 0
        self.struck: list[Fault] = []
        self.left = list(story.faults)
        #: What a file held before somebody edited it, by party.
        self.originals: dict[str, dict[Path, bytes]] = {}
        self.edited_rows: set[str] = set()
        #: Everything that has left a site: by site, round and message.
        self.sent: dict[tuple[str, str, str], set[bytes]] = {}

    @property
    def folder(self) -> Path:
        """Folder of finished sums."""
        return self.files.coordinator / "run"

    # --- one call of the coordinator -----------------------------------------

    def conduct(self, without: tuple[str, ...]) -> Any:
        """Run the study, or the rest of it, as one job."""
        for site in self.sites.values():
            site.is_late = False
            if not self.story.warm:
                site.party, site.study, site.unread = None, "", []
        with running(self.coordinator):
            return conduct(
                self.files.study_file, self.exchange, self.folder, without=without
            )

    def exchange(
        self, name: str, payloads: Payloads, timeout: float
    ) -> tuple[Replies, Failures]:
        """Carry a message to sites, and what they answer."""
        del timeout
        self.count += 1
        replies: Replies = {}
        failures: Failures = {}
        self._strike(COORDINATOR, late=False)
        for site, payload in payloads.items():
            answer = self._deliver(self.sites[site], name, encode(payload))
            if isinstance(answer, str):
                failures[site] = answer
            else:
                replies[site] = decode(answer)
        for site in self.sites:
            # Also where nobody asks.
            self._strike(site, late=True)
        self._strike(COORDINATOR, late=True)
        return replies, failures

    def _deliver(self, site: SiteMachine, name: str, packed: bytes) -> bytes | str:
        self._strike(site.name, late=False)
        if site.is_down or site.is_late:
            return "LEFT"
        if site.asleep:
            site.asleep -= 1
            site.unread.append((name, packed))
            return "TIMEOUT"
        if site.deaf:
            site.deaf -= 1
            return "TIMEOUT"
        answer = self._answer(site, name, packed)
        self._strike(site.name, late=True)
        if site.is_down or site.is_late:
            return "LEFT"
        if site.mute:
            site.mute -= 1
            return "TIMEOUT"
        return answer

    def _answer(self, site: SiteMachine, name: str, packed: bytes) -> bytes | str:
        """Let the process of a site answer, after what it has not read yet."""
        try:
            with running(site):
                for old in site.unread:
                    self._handle(site, *old)
                site.unread = []
                answer = self._handle(site, name, packed)
                if site.repeated:
                    site.repeated -= 1
                    self._handle(site, name, packed)
                if site.doubled:
                    site.doubled -= 1
                    self._swapped(site, lambda: self._handle(site, name, packed))
                return answer
        except PowerCut:
            site.die()
            site.is_down = True
            return "LEFT"

    @staticmethod
    def _swapped(site: SiteMachine, act: Callable[[], Any]) -> None:
        """Let the second process of a site do something."""
        site.party, site.twin = site.twin, site.party
        try:
            act()
        finally:
            site.party, site.twin = site.twin, site.party

    def _handle(self, site: SiteMachine, name: str, packed: bytes) -> bytes | str:
        """Answer as the process of a node does."""
        payload: Payload = decode(packed)
        try:
            named = payload.get("study", site.study)
            if named != site.study:
                site.study, site.party = named, None
            if site.party is None:
                site.party = open_site(site.file, digest=site.study)
            answer = encode(site.party.handle(name, payload))
        except Exception as error:
            return fixed_code(error)
        if "round" in payload and name != "secure.opened":
            key = (site.name, str(payload["round"]), name)
            self.sent.setdefault(key, set()).add(answer)
        return answer

    # --- what goes wrong -----------------------------------------------------

    def _strike(self, victim: str, *, late: bool) -> None:
        """Let happen what is due."""
        due = [
            one
            for one in self.left
            if one.victim == victim and one.late == late and one.at <= self.count
        ]
        for fault in due:
            self.left.remove(fault)
            self.struck.append(fault)
            if victim == COORDINATOR:
                self._strike_coordinator(fault)
            else:
                self._strike_site(self.sites[victim], fault)

    def _strike_site(self, site: SiteMachine, fault: Fault) -> None:
        if fault.kind in ("kill", "restart"):
            site.die()
            site.is_down = fault.kind == "kill"
        elif fault.kind == "cut power":
            site.plan("cut", fault.amount)
        elif fault.kind == "full disk":
            site.plan("full", fault.amount)
        elif fault.kind == "stop":
            site.asleep = fault.length
        elif fault.kind == "cut":
            site.deaf = fault.length
        elif fault.kind == "slow":
            site.mute = fault.length
        elif fault.kind == "double start":
            site.doubled = 4 * fault.length
        elif fault.kind == "repeat":
            site.repeated = fault.length
        elif fault.kind == "clock":
            site.clock = timedelta(days=fault.amount * (-1) ** fault.length * 15)
        else:
            self._edit_site(site, fault)

    def _edit_site(self, site: SiteMachine, fault: Fault) -> None:
        folder, files = site.file.parent, self.files
        if fault.kind == "edit study":
            path = folder / "study.toml"
            self.keep(site.name, path)
            write_toml(path, {**files.study, "purpose": "something else"})
        elif fault.kind == "edit site":
            self.keep(site.name, site.file)
            text = site.file.read_text()
            if fault.amount % 2:
                text = text.replace("rows.", "lines.")
            else:
                text += "policy = { min_rows = 1000 }\n"
            site.file.write_text(text)
        elif fault.kind == "edit rows":
            self._edit_rows(site)
        elif fault.kind == "edit ledger":
            path = folder / "ledger"
            if content := path.read_bytes():
                self.keep(site.name, path)
                path.write_bytes(content[: len(content) // 2] + content[1:])
        if fault.amount % 3:
            site.die()

    def _edit_rows(self, site: SiteMachine) -> None:
        (path,) = site.file.parent.glob("rows.*")
        self.keep(site.name, path)
        rows = edited(self.files.rows, site.name)
        own = rows[rows["site"] == site.name].drop(columns="site")
        if path.suffix == ".csv":
            own.to_csv(path, index=False)
        else:
            own.to_parquet(path, index=False)
        self.edited_rows.add(site.name)

    def _strike_coordinator(self, fault: Fault) -> None:
        machine, folder = self.coordinator, self.folder
        if fault.kind == "kill":
            raise PowerCut(COORDINATOR)
        if fault.kind == "cut power":
            machine.plan("cut", fault.amount)
        elif fault.kind == "full disk":
            machine.plan("full", fault.amount)
        elif fault.kind == "cut":
            for site in self.sites.values():
                site.deaf = fault.length
        elif fault.kind == "clock":
            machine.clock = timedelta(days=fault.amount * (-1) ** fault.length * 15)
        elif fault.kind == "edit study":
            self.keep(COORDINATOR, self.files.study_file)
            table = {**self.files.study, "purpose": "something else"}
            write_toml(self.files.study_file, table)
        elif fault.kind == "edit sums":
            for path in sorted(folder.glob("*.round"))[-1:]:
                path.write_bytes(path.read_bytes()[:-9])
        elif fault.kind == "edit members":
            (folder / "members.json").write_text("{")
        elif fault.kind == "double start":
            self._conduct_beside()

    def _conduct_beside(self) -> None:
        """Run a second coordinator on the same folder, while the first one waits."""
        parties = {name: site.party for name, site in self.sites.items()}
        if not self.story.warm:
            for site in self.sites.values():
                site.party = None
        # Whoever typed it twice reads its error.
        with suppress(Exception):
            conduct(self.files.study_file, self.exchange, self.folder)
        for name, site in self.sites.items():
            if not self.story.warm and not site.is_late:
                site.party = parties[name]

    def keep(self, party: str, path: Path) -> None:
        """Keep what a file holds before it is edited, once."""
        self.originals.setdefault(party, {}).setdefault(path, path.read_bytes())

    def restore(self, party: str) -> bool:
        """Let somebody put back what was edited; return whether anything was."""
        found = self.originals.pop(party, {})
        for path, content in found.items():
            path.write_bytes(content)
        return bool(found)
