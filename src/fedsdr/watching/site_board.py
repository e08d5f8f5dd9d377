"""The board of a site, for its steward: ledger, refusals, and the result."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from fedsdr.disclosure import Entry, Ledger, LedgerError
from fedsdr.disclosure.releases import ReleaseStage
from fedsdr.files import is_locked
from fedsdr.protocols.lost_sites import explain_lost
from fedsdr.study.redaction import redact_site_log
from fedsdr.transports.nvflare.node_settings import OCCUPIED
from fedsdr.transports.nvflare.study_view import ROUNDS
from fedsdr.watching.board import (
    FAILED,
    FINISHED,
    NOT_BEGUN,
    RUNNING,
    SHOWN,
    Board,
    Panel,
    result_facts,
    result_panel,
)
from fedsdr.watching.study_board import read_result

if TYPE_CHECKING:
    from fedsdr.result import Result
    from fedsdr.study.site_file import SiteFile

#: For each stage of an entry, what it means.
STAGES: dict[ReleaseStage, str] = {
    "offered": "masked numbers have left for a sum over these sites",
    "released": "the masks were opened: the sum over exactly these sites is known",
    "opened": "this site has opened the sum itself, and computes with it",
    "refused": "this site has refused: a rule or the ledger forbids it. Only a fixed "
    "code has left; site.log says which rule",
    "failed": "the rows do not allow it. Only a fixed code has left; site.log says why",
    "voided": "the steward has voided this round",
    "adopted": "the ledger was taken over with a key",
}


@dataclass(slots=True)
class SiteWatch:
    """Looks at the files of a site, without its key and without its rows.

    Parameters
    ----------
    site : SiteFile
        Site file.
    """

    site: "SiteFile"
    _ledger: Ledger = field(init=False, repr=False)
    _digest: str = field(init=False, repr=False)
    _study: str = field(init=False, repr=False)

    def __post_init__(self) -> None:
        study = self.site.read_study()
        self._digest, self._study = study.digest, study.name
        self._ledger = Ledger(self.site.at(self.site.ledger))

    @property
    def result_file(self) -> Path:
        """File of the result, which need not exist."""
        return self.site.at(self.site.result)

    def result(self) -> "Result | None":
        """Read the result of the study.

        Returns
        -------
        Result or None
            None while there is none, or if it is that of another study.
        """
        found = read_result(self.result_file)
        known = {} if found is None else found.settings.get("study", {})
        return found if known.get("digest") == self._digest else None

    def board(self) -> Board:
        """Describe the site.

        Returns
        -------
        Board
            Names of sums and sites, counts, times, and the result.
        """
        title = f"Site {self.site.name} in study {self._study}"
        try:
            entries = self._ledger.entries()
        except LedgerError:
            return Board(
                title,
                FAILED,
                "The ledger is broken, so that this site answers nothing: "
                "'fedsdr site ledger show SITE.toml --verify' says where.",
            )
        mine = [entry for entry in entries if entry.study == self._digest]
        result = self.result()
        state = FINISHED if result is not None else RUNNING if mine else NOT_BEGUN
        return Board(
            title,
            state,
            _headline(mine, finished=result is not None),
            _facts(entries, mine, result, joined=self._joined()),
            (
                result_panel(result),
                _releases(mine),
                self._refusals(),
            ),
            result is not None,
        )

    def _refusals(self) -> Panel:
        """List what the site did not answer, the newest first."""
        try:
            text = self.site.at(self.site.log).read_text("utf-8", errors="replace")
        except OSError:
            text = ""
        rows: list[tuple[str, str, str, str]] = []
        # What an error said is left out: it may quote the data.
        for line in redact_site_log(text.splitlines()):
            word, _, rest = line.strip().partition(" ")
            if not line.startswith(" "):
                message, _, code = rest.partition(" ")
                what = explain_lost({self.site.name: code})
                rows.append((_time(word), ROUNDS.get(message, message), "", what))
            elif rows and word.endswith(":"):
                when, message, rules, what = rows[-1]
                named = ", ".join(filter(None, (rules, word[:-1])))
                rows[-1] = (when, message, named, what)
        return Panel(
            "refusals",
            "Refusals and failures, from site.log",
            ("time (UTC)", "when sites were to", "rule", "what it means"),
            tuple(rows[: -SHOWN - 1 : -1]),
            "None so far.",
        )

    def _joined(self) -> bool:
        """Whether 'fedsdr site join' runs in the site's folder."""
        return is_locked(self.site.at(self.site.node) / OCCUPIED)


def _headline(entries: Sequence[Entry], *, finished: bool) -> str:
    if finished:
        return "The result of the study is here."
    if not entries:
        return "Nothing has left this site for this study yet."
    last = entries[-1]
    opened = len({one.round for one in entries if one.stage == "released"})
    said = STAGES[last.stage]
    return f"{opened} sums were opened. The last entry, {last.statistic}: {said}."


def _facts(
    entries: Sequence[Entry],
    mine: Sequence[Entry],
    result: "Result | None",
    *,
    joined: bool,
) -> tuple[tuple[str, str], ...]:
    node = "runs here" if joined else "no 'fedsdr site join' runs here"
    facts = [
        ("node", node),
        ("entries of this study", str(len(mine))),
        ("entries of the ledger", str(len(entries))),
    ]
    if entries:
        facts.append(("last entry", _time(entries[-1].time)))
    return (*facts, *result_facts(result))


def _releases(entries: Sequence[Entry]) -> Panel:
    """List the entries of a study, the newest first."""
    rows = tuple(
        (
            _time(entry.time),
            entry.statistic,
            str(entry.n_values),
            ", ".join(entry.sites),
            STAGES[entry.stage],
        )
        for entry in reversed(entries[-SHOWN:])
    )
    head = ("time (UTC)", "sum", "numbers", "over", "what it means")
    return Panel("releases", "Releases, from the ledger", head, rows, "None so far.")


def _time(written: str) -> str:
    return written.replace("T", " ").removesuffix("+00:00")
