"""The board of a study, for its coordinator."""

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from fedsdr.exceptions import InputError
from fedsdr.protocols.lost_sites import SILENT, explain_lost
from fedsdr.result import Result
from fedsdr.transports.nvflare.progress import AWAY, FINISHED, WAITING, Snapshot
from fedsdr.transports.nvflare.study_view import ROUNDS, StudyView
from fedsdr.watching.board import (
    FAILED,
    NOT_BEGUN,
    SHOWN,
    Board,
    Panel,
    clock,
    duration,
    result_facts,
    result_panel,
)

if TYPE_CHECKING:
    from fedsdr.study import StudyFile

#: Seconds without a change, beside those that sites have for an answer, after which the
#: page says what may be wrong.
STALE = 60.0


def study_board(
    study: "StudyFile", view: StudyView, served: Callable[[], bool]
) -> Board:
    """Describe a study.

    Parameters
    ----------
    study : StudyFile
        Study file.
    view : StudyView
        How it is.
    served : callable
        Says whether the coordinator's node runs here; called only where nothing has
        changed for long.

    Returns
    -------
    Board
        Without anything but names, counts, times and the result.
    """
    result = None if view.result is None else read_result(view.result)
    shot = view.snapshot
    return Board(
        f"Study {study.name}",
        NOT_BEGUN if shot is None else shot.state,
        _headline(view),
        _facts(study, view, result, served),
        (
            _sites(study, view),
            result_panel(result),
            _trouble(view),
            _sums(view),
            _rounds(view),
        ),
        result is not None,
    )


def read_result(path: Path) -> Result | None:
    """Read a result once for each version of its file.

    Parameters
    ----------
    path : Path
        File.

    Returns
    -------
    Result or None
        None if it is not a result now.
    """
    try:
        return _read(path, path.stat().st_mtime_ns)
    except (OSError, InputError):
        return None


@lru_cache(maxsize=4)
def _read(path: Path, _changed: int) -> Result:
    return Result.from_json(path)


def _headline(view: StudyView) -> str:
    shot = view.snapshot
    if shot is None:
        return "The study has not begun: it begins with 'fedsdr study submit'."
    if shot.state == FINISHED:
        return "The study is finished, and its result is here."
    if shot.state == FAILED:
        return f"The study has stopped: {shot.problem or 'the log says why'}"
    if not view.awaited:
        return "All sites have answered, and the coordinator computes."
    return (
        f"Message {shot.exchange}: sites {_doing(shot.message)}. "
        f"{_answered(shot)} of {len(shot.sites)} have answered; awaited: "
        f"{', '.join(view.awaited)}."
    )


def _facts(
    study: "StudyFile",
    view: StudyView,
    result: Result | None,
    served: Callable[[], bool],
) -> tuple[tuple[str, str], ...]:
    shot = view.snapshot
    facts = [("digest", f"{study.digest[:16]}…"), ("purpose", study.purpose)]
    if shot is not None:
        facts.append(("last change", f"{clock(shot.updated)} UTC"))
        sent, received = sum(shot.sent.values()), sum(shot.received.values())
        facts.append(("bytes to and from sites", f"{sent:,} and {received:,}"))
    if view.awaited:
        longest = duration(max(view.awaited.values()))
        facts.append(("awaited for", f"{longest}, at most {study.timeout:g} s"))
    longest_wait = STALE + (study.timeout if view.awaited else 0.0)
    if view.runs and view.still > longest_wait and not served():
        news = (
            f"Nothing has changed for {duration(view.still)}, and no 'fedsdr study "
            "start' runs here. 'fedsdr study status' says whether the study still "
            "runs; 'fedsdr study resume' goes on with it."
        )
        facts.append(("no news", news))
    return (*facts, *result_facts(result))


def _sites(study: "StudyFile", view: StudyView) -> Panel:
    words = {} if view.snapshot is None else view.snapshot.sites
    rows = tuple(
        (site, *_site_words(site, words.get(site), view))
        for site in study.to_study().sites
    )
    head = ("site", "now", "awaited for")
    return Panel("sites", "Sites", head, rows, "", numbers=0)


def _site_words(site: str, word: str | None, view: StudyView) -> tuple[str, str]:
    seconds = duration(view.awaited[site]) if site in view.awaited else ""
    if word is None:
        return ("not asked now", "")
    if word == WAITING:
        return ("awaited" if view.runs else "had not answered", seconds)
    if word == AWAY:
        return ("no connection; it may come back", seconds)
    if word == "answered":
        return ("has answered", "")
    return (explain_lost({site: word}), "")


def _trouble(view: StudyView) -> Panel:
    """List time-outs and refusals, the newest first."""
    rows = []
    for one in reversed(view.rounds):
        for site, code in sorted(one.failures.items()):
            kind = "time-out" if code in SILENT else "refusal"
            where = f"{_doing(one.message)} ({one.message})"
            words = explain_lost({site: code})
            rows.append((clock(one.ended), site, kind, where, words))
    return Panel(
        "trouble",
        "Time-outs and refusals",
        ("time (UTC)", "site", "kind", "when sites were to", "what it means"),
        tuple(rows[:SHOWN]),
        "None so far.",
    )


def _sums(view: StudyView) -> Panel:
    rows = tuple(
        (
            clock(one.changed),
            one.kind,
            str(one.n_values or ""),
            "opened" if one.n_values else "begun",
            ", ".join(one.sites),
        )
        for one in reversed(view.sums)
    )
    return Panel(
        "sums",
        "Releases: sums over sites",
        ("time (UTC)", "sum", "numbers", "state", "over"),
        rows[:SHOWN],
        "No sum was begun yet.",
    )


def _rounds(view: StudyView) -> Panel:
    numbered = list(enumerate(view.rounds, 1))[::-1]
    rows = tuple(
        (
            str(number),
            f"{_doing(one.message)} ({one.message})",
            str(one.answered),
            f"{one.seconds:.1f}",
        )
        for number, one in numbered[:SHOWN]
    )
    head = ("round", "sites", "answered", "seconds")
    return Panel("rounds", "Rounds that are over", head, rows, "None so far.")


def _doing(message: str) -> str:
    return ROUNDS.get(message, message)


def _answered(shot: Snapshot) -> int:
    return sum(word == "answered" for word in shot.sites.values())
