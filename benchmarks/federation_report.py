"""Tables of the measurements of `benchmarks.federation`."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.ledger import Row

COMMAND = "python -m benchmarks.federation"
PHASES = ("prepare", "agree", "sum", "solve", "publish", "finish")
WHERE = {"alone": "in process", "nodes": "nodes"}


TIME = (
    "d", "in process", "nodes", "ratio", "overhead", "start-up", "finish",
    "cpu in process", "cpu of nodes", "same variables", "distance",
)  # fmt: skip
SPLIT = (
    "d", "where", "prepare", "agree", "sum", "solve", "publish", "finish",
)  # fmt: skip
BYTES = (
    "d", "rounds", "up MB", "down MB", "paper: rounds", "up MB", "down MB",
    "MB per iteration", "bytes, ratio",
)  # fmt: skip


def write_report(rows: Sequence[Mapping[str, object]], path: Path) -> str:
    """Write the tables, and return their text."""
    cases = collect(rows)
    studies = [case for case in cases if "nodes_seconds" in case]
    first = rows[0]
    lines = [
        "# A study over real nodes",
        "",
        f"`{COMMAND}`, commit {first['commit']}, {first['date']},",
        f"{first['cpus']} CPUs. A study with default settings: setting 1 of the paper,",
        "4 sites of 4 d rows in Parquet files, secure sums, rules and ledgers on.",
        "Nodes: a coordinator and 4 sites as NVFLARE processes on loopback with TLS.",
        "In process: the same files, parties and messages in one process (median of 3",
        "runs), measured just before.",
        "",
        "## Time",
        "",
        "Seconds of wall time from submitting the study to the result at every site.",
        "The overhead is the additional time of nodes. It does not include starting",
        "the nodes, once before any study (start-up), nor the time that NVFLARE takes",
        "to close the job after the result has arrived (finish). Cpu is CPU seconds of",
        "all parties; for nodes, from start-up to finish.",
        "",
        *heading(TIME),
        *(time_row(case) for case in studies),
        "",
        "Where these seconds go. Prepare: in process, opening the sites' files; with",
        "nodes, NVFLARE schedules the job and starts 5 Python processes. Agree: the",
        "first message, for which sites read their rows. Sum: all sums, and what is",
        "estimated between them. Solve: what follows the last sum. Publish: the",
        "result to all sites.",
        "",
        *heading(SPLIT),
        *(phases_row(case, where) for case in studies for where in WHERE),
        "",
        *communication([case for case in cases if "paper_rounds" in case]),
    ]
    text = "\n".join([*lines, ""])
    path.write_text(text)
    return text


def communication(cases: Sequence[Row]) -> list[str]:
    """Write rounds and bytes beside those of the paper's protocol."""
    return [
        "## Rounds and bytes",
        "",
        "Per site. Our last round publishes the result, which is computed one round",
        "earlier. The paper's protocol is run in process on the same rows:",
        "Algorithm 2, then Algorithm 1 for one penalty (0.05) and the true K until Pi",
        "changes by less than 1e-4. Choosing K and the penalty as in the paper, and",
        "publishing, would need further rounds. `>=`: stopped earlier, so that rounds,",
        "bytes and ratio are lower bounds.",
        "",
        *heading(BYTES),
        *(bytes_row(case) for case in cases),
    ]


def heading(names: Sequence[str]) -> tuple[str, str]:
    """Return the first lines of a table."""
    return f"| {' | '.join(names)} |", "|--:" * len(names) + "|"


def collect(rows: Sequence[Mapping[str, object]]) -> list[Row]:
    """Merge the rows of each case."""
    cases: dict[str, Row] = {}
    for row in rows:
        filled = {name: value for name, value in row.items() if value != ""}
        cases.setdefault(str(row["d"]), {}).update(filled)
    return list(cases.values())


def number(case: Mapping[str, object], name: str) -> float:
    """Return a number that may be stored as text."""
    return float(str(case[name]))


def time_row(case: Row) -> str:
    """Return the line of a case in the table of times."""
    alone, nodes = number(case, "alone_seconds"), number(case, "nodes_seconds")
    return (
        f"| {case['d']} | {alone:.2f} | {nodes:.2f} | {nodes / alone:.1f} "
        f"| {nodes - alone:.1f} | {number(case, 'nodes_startup'):.1f} "
        f"| {number(case, 'nodes_finish'):.1f} "
        f"| {number(case, 'alone_cpu'):.2f} | {number(case, 'nodes_cpu'):.0f} "
        f"| {case['same_variables']} | {case['distance']} |"
    )


def phases_row(case: Row, where: str) -> str:
    """Return the line of a case in the table of phases."""
    seconds = {name: number(case, f"{where}_{name}") for name in PHASES}
    shown = [f"{value:.2f}" for value in seconds.values()]
    return f"| {case['d']} | {WHERE[where]} | {' | '.join(shown)} |"


def bytes_row(case: Row) -> str:
    """Return the line of a case in the table of bytes."""
    up, down = (number(case, f"paper_bytes_{way}") / 1e6 for way in ("up", "down"))
    mark = "" if case["paper_converged"] == "True" else ">= "
    paper = (
        f"| {mark}{case['paper_rounds']} | {mark}{up:.1f} | {mark}{down:.1f} "
        f"| {number(case, 'paper_bytes_step') / 1e6:.3f} |"
    )
    if "nodes_rounds" not in case:
        return f"| {case['d']} | | | {paper} |"
    own = [number(case, f"nodes_bytes_{way}") / 1e6 for way in ("up", "down")]
    ratio = (up + down) / sum(own)
    return (
        f"| {case['d']} | {case['nodes_rounds']} | {own[0]:.4f} | {own[1]:.4f} "
        f"{paper} {mark}{ratio:.0f} |"
    )
