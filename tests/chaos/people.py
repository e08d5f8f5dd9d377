"""People of a story: they read why a study has stopped, and do what they are told."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.chaos.machines import PowerCut, machine_room
from tests.chaos.stories import COORDINATOR, Story
from tests.chaos.world import World
from tests.study.consortia import NAMES

from fedsdr.disclosure import void_round
from fedsdr.exceptions import InputError
from fedsdr.protocols import IncompleteError
from fedsdr.protocols.lost_sites import SILENT
from fedsdr.protocols.secure import SumFolder

#: Codes that the coordinator itself may give to a site.
JUDGED = frozenset({"TAMPERED", "MALFORMED"})

#: Calls of `resume` after which a study has no way forward.
MOST = 16


@dataclass
class Life:
    """What became of a story.

    Parameters
    ----------
    world : World
        All machines, as they are at the end.
    result : Result or None
        Of the study.
    endings : list of str
        What the coordinator read after each call but the last.
    problems : list of str
        What must not be.
    """

    world: World
    result: Any = None
    endings: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    without: tuple[str, ...] = ()


def live(root: Path, story: Story) -> Life:
    """Play a story to its end."""
    world = World(root, story)
    life = Life(world)
    with machine_room():
        for _ in range(MOST):
            if _is_over(life) or life.problems:
                return life
            try:
                life.result = world.conduct(life.without)
            except PowerCut:
                life.endings.append("the coordinator's machine was switched off")
            except IncompleteError as error:
                life.endings.append(str(error))
                _after_loss(life, error)
            except InputError as error:
                life.endings.append(str(error))
                _after_refusal(life, str(error))
            except Exception as error:
                life.problems.append(f"an ending without words: {error!r}")
    if not _is_over(life):
        life.problems.append(f"no way forward: {life.endings[-1:]}")
    return life


def _is_over(life: Life) -> bool:
    """Tell whether the result is there, and at all sites that agreed."""
    if life.result is None:
        return False
    missing = [
        name
        for name in life.result.settings["sites"]
        if not (life.world.files.root / name / "result.json").exists()
    ]
    for name in missing:
        # The coordinator is told where the result is missing, and to resume.
        _mend_site(life.world, name)
    return not missing


def _after_loss(life: Life, error: IncompleteError) -> None:
    """Read which sites are lost, and let their stewards act."""
    world, text = life.world, str(error)
    if not error.failures:
        life.problems.append(f"an ending that names nobody: {text}")
    for site, code in error.failures.items():
        if not re.search(rf"\b{site}\b.*", text):
            life.problems.append(f"an ending that does not name {site}: {text}")
        _look_into_log(life, site, code)
    silent = all(code in SILENT for code in error.failures.values())
    choice, lost = world.story.choice, tuple(error.failures)
    if choice != "wait" and len(lost) == 1 and not life.without:
        life.without = lost
        return
    for site, code in error.failures.items():
        if silent and code in SILENT:
            world.sites[site].start()
        else:
            _mend_site(world, site)
    if "TERMS" in error.failures.values():
        # Digests are compared, and it may be the coordinator's that is another one.
        world.restore(COORDINATOR)


def _look_into_log(life: Life, site: str, code: str) -> None:
    """Expect that a site which refuses has told its own steward why."""
    machine = life.world.sites[site]
    log = machine.file.with_name("site.log")
    if code in JUDGED or code in SILENT or machine.is_full:
        return
    if not log.exists() or f" {code}\n" not in log.read_text():
        life.problems.append(f"{site} says {code}, and nothing in its site.log does")


def _mend_site(world: World, name: str) -> None:
    """Let a steward look at everything: files, disk, process."""
    world.restore(name)
    world.sites[name].mend()
    log = world.files.root / name / "site.log"
    if log.exists() and "fedsdr site ledger mend" in log.read_text():
        world.files.ledger(name).mend()
    world.sites[name].start()


def _after_refusal(life: Life, text: str) -> None:
    """Do what the coordinator is told about its own files, or about its choice."""
    world = life.world
    damaged = re.search(r"(/\S+) is damaged: delete it", text)
    if "No space left" in text:
        world.coordinator.mend()
    elif damaged:
        Path(damaged[1]).unlink()
    elif "belongs to another study" in text or "result of another study" in text:
        if not world.restore(COORDINATOR):
            life.problems.append(f"refused without a reason: {text}")
    elif decides := re.search(r"So the steward of ([\w, ]+) decides\. Either", text):
        _decide(life, tuple(decides[1].split(", ")))
    elif "sites are left, and the study needs" in text:
        life.without = ()
    else:
        life.problems.append(f"a refusal that tells nobody what to do: {text}")


def _decide(life: Life, gone: tuple[str, ...]) -> None:
    """Let a lost site come back, or void what was begun with it."""
    world = life.world
    if world.story.choice != "void":
        life.without = ()
        for site in gone:
            _mend_site(world, site)
        return
    state = SumFolder(world.folder)
    begun = state.begun().values()
    rounds = [one for saved in begun for one in saved.get("rounds", ())]
    for site in set(NAMES).difference(gone):
        world.restore(site)
        world.sites[site].mend()
        ledger = world.files.ledger(site)
        known = {entry.round for entry in ledger.entries()}
        for one in rounds:
            if one in known:
                void_round(ledger, one)
    for one in rounds:
        state.void(one, finished=True)
