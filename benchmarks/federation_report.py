"""What `benchmarks.federation` measured, as tables."""

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
    "d", "where", "prepare", "agree", "sum", "a message", "solve", "publish", "finish",
)  # fmt: skip
BYTES = (
    "d", "rounds", "up MB", "down MB", "paper: rounds", "up MB", "down MB",
    "MB an iteration", "bytes, ratio",
)  # fmt: skip


def write_report(rows: Sequence[Mapping[str, object]], path: Path) -> str:
    """Write the tables, and give the text."""
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
        "The overhead is what nodes take longer. Not in it: nodes are started once,",
        "before any study (start-up), and NVFLARE puts a job away when the result is",
        "already there (finish). Cpu are seconds of a core of all parties; of nodes,",
        "from start-up to finish.",
        "",
        *heading(TIME),
        *(time_row(case) for case in studies),
        "",
        "Where these seconds go. Prepare: in process, opening the sites' files; with",
        "nodes, NVFLARE schedules the job and starts 5 Python processes. Agree: the",
        "first message, for which sites read their rows. Sum: its 5 messages. Solve:",
        "the estimate. Publish: the result to all sites.",
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
    """Write rounds and bytes beside the paper's."""
    return [
        "## Rounds and bytes",
        "",
        "Of one site. Our last round publishes the result; the answer is there one",
        "round earlier. The paper's protocol is run in process on the same rows:",
        "Algorithm 2, then Algorithm 1 for one penalty (0.05) and the true K until Pi",
        "changes by less than 1e-4. Choosing K and the penalty as the paper does, and",
        "publishing, would come on top. `>=`: stopped earlier, so that rounds, bytes",
        "and ratio are lower bounds.",
        "",
        *heading(BYTES),
        *(bytes_row(case) for case in cases),
    ]


def heading(names: Sequence[str]) -> tuple[str, str]:
    """Write the first lines of a table."""
    return f"| {' | '.join(names)} |", "|--:" * len(names) + "|"


def collect(rows: Sequence[Mapping[str, object]]) -> list[Row]:
    """Put the parts of a case together."""
    cases: dict[str, Row] = {}
    for row in rows:
        filled = {name: value for name, value in row.items() if value != ""}
        cases.setdefault(str(row["d"]), {}).update(filled)
    return list(cases.values())


def number(case: Mapping[str, object], name: str) -> float:
    """Read a number that may be text."""
    return float(str(case[name]))


def time_row(case: Row) -> str:
    """Compare times."""
    alone, nodes = number(case, "alone_seconds"), number(case, "nodes_seconds")
    return (
        f"| {case['d']} | {alone:.2f} | {nodes:.2f} | {nodes / alone:.1f} "
        f"| {nodes - alone:.1f} | {number(case, 'nodes_startup'):.1f} "
        f"| {number(case, 'nodes_finish'):.1f} "
        f"| {number(case, 'alone_cpu'):.2f} | {number(case, 'nodes_cpu'):.0f} "
        f"| {case['same_variables']} | {case['distance']} |"
    )


def phases_row(case: Row, where: str) -> str:
    """Split one time."""
    seconds = {name: number(case, f"{where}_{name}") for name in PHASES}
    shown = [f"{value:.2f}" for value in seconds.values()]
    shown.insert(3, f"{seconds['sum'] / 5:.3f}")
    return f"| {case['d']} | {WHERE[where]} | {' | '.join(shown)} |"


def bytes_row(case: Row) -> str:
    """Compare bytes."""
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
