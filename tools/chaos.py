"""A campaign of studies in which things fail, drawn from seeds.

``make test-chaos`` runs this. Stories of `tests.chaos` are played one after another, in
one process and over nodes, and then twenty sites of which one is started again every
ten seconds. What was judged at the commit of the sources is not played again;
``--fresh`` plays all. The page is ``benchmarks/results/chaos.md``. The exit code is 1
if a story has ended badly.
"""

import argparse
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

from benchmarks.ledger import Ledger, Row

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"

#: Memory in place of a disk: every entry of a ledger waits for it.
MEMORY = Path("/dev/shm")

PROCESS, NODES, RESTARTS = "process", "nodes", "restarts"


def main() -> int:
    """Play stories, and write the page.

    Returns
    -------
    int
        Exit code.
    """
    options = _read_options()
    ledger = Ledger(
        options.out / "chaos.csv",
        fresh=options.fresh,
        key=("part", "seed"),
        source="src/fedsdr",
    )
    # What ended badly is played again, once something was mended.
    ledger.rows = [row for row in ledger.rows if not row["problems"]]
    warnings.simplefilter("ignore")
    if options.only in ("", PROCESS):
        for seed in range(options.seed, options.seed + options.studies):
            ledger.measure(
                {"part": PROCESS, "seed": seed}, lambda seed=seed: _play(seed)
            )
    if options.only in ("", NODES):
        _play_nodes(ledger, range(options.seed, options.seed + options.node_studies))
    if options.only in ("", RESTARTS):
        from tests.chaos.restarts import restart_sites

        ledger.measure(
            {"part": RESTARTS, "seed": options.sites},
            lambda: restart_sites(options.sites, options.every),
        )
    (options.out / "chaos.md").write_text(_page(ledger))
    return int(any(row["problems"] for row in ledger.rows))


def _play(seed: int) -> Row:
    from tests.chaos.judging import judge
    from tests.chaos.people import live
    from tests.chaos.stories import draw_story

    story = draw_story(seed)
    begin = time.perf_counter()
    with _folder() as name:
        life = live(Path(name) / "world", story)
        problems = judge(life)
    return {
        "study": story.study,
        "faults": "; ".join(f"{one.kind} at {one.victim}" for one in life.world.struck),
        "calls": len(life.endings) + 1,
        "sites": len(life.result.settings["sites"]) if life.result else 0,
        "seconds": time.perf_counter() - begin,
        "problems": " | ".join(problems),
    }


def _play_nodes(ledger: Ledger, seeds: range) -> None:
    """Play stories over nodes, which stay from one study to the next."""
    known = {row["seed"] for row in ledger.rows if row["part"] == NODES}
    left = [seed for seed in seeds if str(seed) not in known]
    if not left:
        return
    from tests.chaos.node_stories import NodeStage

    with _folder() as name, NodeStage(Path(name)) as stage:
        for seed in left:
            ledger.measure(
                {"part": NODES, "seed": seed}, lambda seed=seed: stage.play(seed)
            )


def _folder(where: Path | None = MEMORY) -> tempfile.TemporaryDirectory[str]:
    place = where if where is not None and where.is_dir() else None
    return tempfile.TemporaryDirectory(dir=place, prefix="chaos-")


WORDS = {
    PROCESS: "in one process",
    NODES: "over nodes",
    RESTARTS: "sites started again, one after another",
}

HEAD = """\
# Studies in which things fail

Command: `python -m tools.chaos`. Commit: {commit}. Date: {date}.

Every result is compared with a computation from the rows of the sites that it names. A
story ends badly if a sum or the result is another one, if it names other sites, if a
study stops without saying who does what, or if doing that does not help, if a process
is left, or if a ledger does not verify.

| where | sites | studies | faults | calls of submit or resume | ended badly |
|---|---|---|---|---|---|
"""


def _page(ledger: Ledger) -> str:
    date = max(str(row["date"]) for row in ledger.rows)
    lines = HEAD.format(commit=ledger.commit, date=date).splitlines()
    parts = {
        part: [row for row in ledger.rows if row["part"] == part] for part in WORDS
    }
    lines += [_line(part, rows) for part, rows in parts.items() if rows]
    for part in (PROCESS, NODES):
        counts = Counter(fault for row in parts[part] for fault in _faults(row))
        if counts:
            lines += ["", f"## Faults {WORDS[part]}", "", "| fault | times |"]
            lines += ["|---|---|"]
            lines += [f"| {kind} | {count} |" for kind, count in sorted(counts.items())]
    bad = [row for row in ledger.rows if row["problems"]]
    lines += ["", "## Ended badly", ""] if bad else []
    lines += [
        f"- seed {row['seed']}, {WORDS[str(row['part'])]}: {row['problems']}"
        for row in bad
    ]
    return "\n".join(lines).rstrip() + "\n"


def _line(part: str, rows: list[Row]) -> str:
    """Sum up one part of the campaign."""
    sites = max(int(str(row["sites"])) for row in rows)
    studies = sum(int(str(row.get("studies") or 1)) for row in rows)
    faults = sum(len(_faults(row)) for row in rows)
    calls = sum(int(str(row["calls"])) for row in rows)
    bad = sum(bool(row["problems"]) for row in rows)
    return f"| {WORDS[part]} | {sites} | {studies} | {faults} | {calls} | {bad} |"


def _faults(row: Row) -> list[str]:
    """List what happened, a site's name replaced by 'a site'."""
    found = []
    for fault in str(row["faults"]).split("; "):
        kind, _, victim = fault.partition(" at ")
        if kind:
            where = "the coordinator" if victim == "coordinator" else "a site"
            found.append(f"{kind}, at {where}")
    return found


def _read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tools.chaos", description="Play studies in which things fail."
    )
    parser.add_argument("--seed", type=int, default=0, help="first seed")
    parser.add_argument("--studies", type=int, default=400, help="in one process")
    parser.add_argument("--node-studies", type=int, default=40, help="over nodes")
    parser.add_argument("--sites", type=int, default=20, help="sites started again")
    parser.add_argument(
        "--every", type=float, default=10.0, help="seconds between two starts"
    )
    parser.add_argument(
        "--only", choices=["", PROCESS, NODES, RESTARTS], default="", help="one part"
    )
    parser.add_argument("--fresh", action="store_true", help="play all again")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the page")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
