"""How a study has ended: in words, as JSON, and as an exit code."""

import json as json_format
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer

from fedsdr.cli import tables
from fedsdr.cli.nodes import Place
from fedsdr.cli.screen import FAILED, Screen

if TYPE_CHECKING:
    from fedsdr.result import Result
    from fedsdr.transports.nvflare.progress import Snapshot
    from fedsdr.transports.nvflare.session import JobStatus

#: Exit codes: a result that sites are missing from, as somebody chose; no result since
#: a site refuses; no result since sites are silent, so that the study can go on.
PARTIAL, REFUSED, INTERRUPTED = 3, 4, 5

CODES = {
    "complete": 0,
    "partial": PARTIAL,
    "refused": REFUSED,
    "interrupted": INTERRUPTED,
    "failed": FAILED,
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one attempt at a study has ended."""

    place: Place
    ended: "JobStatus"
    snapshot: "Snapshot"

    @property
    def kind(self) -> str:
        """One of the keys of `CODES`."""
        # NVFLARE also reports a failed job if a node was lost after the result.
        if self.ended.is_complete or self.snapshot.state == "finished":
            return "partial" if self._left_out(self.result()) else "complete"
        # The process of the coordinator can end without a word.
        silent = "interrupted" if self.snapshot.message else "failed"
        return self.snapshot.ending or silent

    def result(self) -> "Result":
        """Read the result."""
        from fedsdr.result import Result

        return Result.from_json(self.place.state / "result.json")

    def show(self, screen: Screen, *, json: bool) -> None:
        """Print the outcome, and leave with its exit code."""
        kind = self.kind
        done = kind in ("complete", "partial")
        if json:
            typer.echo(json_format.dumps(self._plain(kind)))
        elif done:
            self._show_result(screen)
        else:
            self._show_problem(screen, kind)
        if CODES[kind]:
            raise typer.Exit(CODES[kind])

    def _plain(self, kind: str) -> dict[str, Any]:
        done = kind in ("complete", "partial")
        result = self.result() if done else None
        found: dict[str, Any] = {
            "job": self.ended.job,
            "outcome": kind,
            "complete": kind == "complete",
            "result": str(self.place.state / "result.json") if done else None,
            "found_nothing": result is not None and result.found_nothing,
            "problem": self.snapshot.problem,
            "lost": self.snapshot.lost,
        }
        if result is not None:
            found["sites"] = result.settings["sites"]
            found["n_rows"] = result.n_rows
            found["left_out"] = self._left_out(result)
        return found

    @staticmethod
    def _left_out(result: "Result") -> dict[str, str]:
        left_out: dict[str, str] = result.provenance.get("left_out", {})
        return left_out

    def _show_result(self, screen: Screen) -> None:
        result = self.result()
        left_out = self._left_out(result)
        names = ", ".join(result.settings["sites"])
        kinds = Counter(one["sum"] for one in result.provenance.get("sums", ()))
        sums = ", ".join(
            f"{n} x {kind}" if n > 1 else kind for kind, n in kinds.items()
        )
        without = ", ".join(f"{site} ({why})" for site, why in left_out.items())
        screen.say(f"The study is finished{' without ' + without if without else ''}.")
        screen.say(f"{result.n_rows} rows of {names} are in each of its sums: {sums}.")
        path = self.place.state / "result.json"
        missing = sorted(
            site for site, word in self.snapshot.sites.items() if word != "answered"
        )
        if missing:
            screen.say(f"Its result is in {path}, and not at {', '.join(missing)} yet.")
            screen.say(f"To send it again: {self.place.command('resume')}")
        else:
            screen.say(f"Its result is in {path}, and at the sites.")
        if result.found_nothing:
            screen.say(tables.nothing())

    def _show_problem(self, screen: Screen, kind: str) -> None:
        verb = "failed" if kind == "failed" else f"was {kind}"
        screen.complain(f"the study {verb}: {self.reason()}")
        lost = sorted(self.snapshot.lost)
        screen.say("Finished sums are kept. To continue, once the cause is removed:")
        screen.say(f"    {self.place.command('resume')}")
        if lost:
            without = [word for site in lost for word in ("--without", site)]
            names = ", ".join(lost)
            if self._are_bound(lost):
                screen.say(
                    f"Masked numbers have left, so the steward of {names} decides"
                )
                screen.say(f"whether there is a result without {names}; this says how:")
            else:
                screen.say(f"Or without {names}, which the result will say:")
            screen.say(f"    {self.place.command('resume', *without)}")

    def _are_bound(self, sites: list[str]) -> bool:
        """Tell whether a sum was begun that one of these sites has to be in."""
        from fedsdr.protocols.secure import SumFolder

        begun = SumFolder(self.place.state).begun().values()
        return any(not set(sites).isdisjoint(saved["sites"]) for saved in begun)

    def reason(self) -> str:
        """Say why there is no result."""
        told = self.snapshot.problem or "; ".join(self.ended.refused)
        if told or not self.snapshot.message:
            return told or f"see {self.place.log}"
        return (
            f"the coordinator's process ended at '{self.snapshot.message}', or could "
            f"not write to {self.place.state}: see {self.place.log}"
        )
