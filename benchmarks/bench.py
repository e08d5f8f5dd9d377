"""Run every benchmark of speed, and put one report together.

Run with ``make bench`` or ``python -m benchmarks.bench``; ``benchmarks/README.md``
describes the parts. A part is a program of its own, which measures what is not in its
results yet for the code as it is; so an interrupted run continues where it stopped.
"""

import argparse
import subprocess
import sys

from benchmarks.bench_report import PARTS, write_report


def main() -> None:
    """Run the parts, write the report, and fail if a part has failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", help="comma-separated, in place of all of them")
    parser.add_argument("--fresh", action="store_true", help="repeat all measurements")
    parser.add_argument(
        "--limit", type=float, help="CPU seconds of one fit of `growth` at most"
    )
    parser.add_argument(
        "--page", action="store_true", help="measure nothing, write the report again"
    )
    options = parser.parse_args()
    chosen = choose_parts(options.parts)
    failed = []
    for name in [] if options.page else chosen:
        command = part_command(name, fresh=options.fresh, limit=options.limit)
        print(f"\n--- {name}", flush=True)
        if subprocess.run(command).returncode:
            failed.append(name)
    print(f"\nWrote {write_report()}")
    if failed:
        raise SystemExit(f"{', '.join(failed)} failed; the report has what there is")


def choose_parts(text: str | None) -> list[str]:
    """Return the names of the parts that are wanted, in their order."""
    wanted = list(PARTS) if text is None else text.split(",")
    unknown = [name for name in wanted if name not in PARTS]
    if unknown:
        raise SystemExit(f"no part {unknown[0]!r}: there are {', '.join(PARTS)}")
    return [name for name in PARTS if name in wanted]


def part_command(name: str, *, fresh: bool, limit: float | None) -> list[str]:
    """Return the command that measures one part."""
    command = [sys.executable, "-m", f"benchmarks.{name}", *PARTS[name].arguments]
    if fresh:
        command.append("--fresh")
    if limit is not None and name == "growth":
        command += ["--limit", str(limit)]
    return command


if __name__ == "__main__":
    main()
