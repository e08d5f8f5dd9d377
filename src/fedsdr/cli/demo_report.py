"""Report of a demonstration over nodes, as text and as JSON."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table

from fedsdr.cli import tables
from fedsdr.cli.demo_live import size
from fedsdr.cli.screen import Screen

if TYPE_CHECKING:
    from fedsdr.result import Result
    from fedsdr.simulate import Simulation
    from fedsdr.study.verification import SiteRecord

#: Largest distance allowed between the result over nodes and that of one process.
LARGEST_DISTANCE = 1e-8


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Result of a completed study, and of the checks after it.

    Parameters
    ----------
    result : Result
        Result of the coordinator.
    truth : Simulation
        Simulated rows and their true directions.
    figures : dict
        Comparison of the result with the truth, see `fedsdr.cli.demo_truth.compare`.
    same_support : bool
        Whether one process selects the same variables from the same files.
    distance : float
        Distance between the subspaces over nodes and in one process.
    records : mapping of str to SiteRecord
        Verified ledger and result of each site.
    rounds : list of dict
        Message, number of answers and seconds of each round.
    sent, received : mapping of str to int
        Bytes sent to and received from each site.
    left : int
        Number of processes that still run.
    seconds : float
        Seconds from the start of the first process to the end of the last.
    """

    result: "Result"
    truth: "Simulation"
    figures: dict[str, Any]
    same_support: bool
    distance: float
    records: Mapping[str, "SiteRecord"]
    rounds: list[dict[str, Any]]
    sent: Mapping[str, int]
    received: Mapping[str, int]
    left: int
    seconds: float

    def problems(self) -> list[str]:
        """List all checks that failed."""
        found = [f"{name}: {one.problem}" for name, one in self.records.items()]
        found = [line for line in found if not line.endswith(": ")]
        if not self.same_support or not self.distance < LARGEST_DISTANCE:
            found.append("one process gives another result from the same files")
        if self.left:
            found.append(count_left(self.left))
        return found

    def to_mapping(self) -> dict[str, Any]:
        """Return all values in a form that JSON can hold."""
        sites = {
            name: {
                **asdict(record),
                "sent": self.sent.get(name, 0),
                "received": self.received.get(name, 0),
            }
            for name, record in self.records.items()
        }
        return {
            "mode": "nodes",
            **self.figures,
            "in_process": {
                "same_support": self.same_support,
                "distance": self.distance,
            },
            "sites": sites,
            "rounds": self.rounds,
            "processes_left": self.left,
            "seconds": self.seconds,
            "problems": self.problems(),
            "result": json.loads(self.result.to_json()),
        }


def show(screen: Screen, report: Report, folder: Path) -> None:
    """Print a report, and the commands to look further."""
    from fedsdr.cli import demo_truth

    screen.out.print(_rounds(report))
    screen.out.print(_sites(report))
    screen.out.print(tables.variables(report.result, report.truth.support))
    facts = demo_truth.describe(report.result, report.truth, report.figures)
    alike = "the same variables" if report.same_support else "other variables"
    facts += [
        ("in process", f"{alike} from the same files, distance {report.distance:.1e}"),
        ("processes", count_left(report.left)),
    ]
    screen.out.print(tables.facts(facts))
    screen.out.print()
    first = next(iter(report.records))
    home = folder / "coordinator"
    screen.say(f"The result is in {home / 'result.json'}, and at every site.")
    screen.say(f"Logs and certificates are in {home / 'federation'}. To look around:")
    screen.say(f"    fedsdr site ledger {folder / first / 'ledger'}")
    screen.say(f"    fedsdr site check {folder / first / 'site.toml'}")
    screen.say(f"    fedsdr study check {home / 'study.toml'}")
    screen.say("For a study of your own:")
    screen.say("    fedsdr study init")


def count_left(left: int) -> str:
    """Describe how many processes still run."""
    if not left:
        return "no process is left"
    return f"{left} process{'es' * (left > 1)} still running: end them by hand"


def _rounds(report: Report) -> Table:
    from fedsdr.transports.nvflare.study_view import ROUNDS

    table = Table(box=box.SIMPLE, pad_edge=False)
    table.add_column("round", justify="right")
    table.add_column("sites ...", no_wrap=True)
    table.add_column("answered", justify="right")
    table.add_column("seconds", justify="right")
    for number, one in enumerate(report.rounds, start=1):
        table.add_row(
            str(number),
            ROUNDS.get(one["message"], one["message"]),
            f"{one['answered']} of {len(report.records)}",
            f"{one['seconds']:.2f}",
        )
    return table


def _sites(report: Report) -> Table:
    table = Table(box=box.SIMPLE, pad_edge=False)
    table.add_column("site", no_wrap=True)
    table.add_column("sent to it", justify="right", no_wrap=True)
    table.add_column("received", justify="right", no_wrap=True)
    table.add_column("ledger", no_wrap=True)
    table.add_column("result", no_wrap=True)
    for name, record in report.records.items():
        whole = f"whole, {record.n_entries} entries" if record.head else "broken"
        table.add_row(
            name,
            size(report.sent.get(name, 0)),
            size(report.received.get(name, 0)),
            whole,
            "the coordinator's" if record.same_result else "differs",
        )
    return table
