"""Studies one after another over the same nodes, each with ``fedsdr study submit``."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import time

from benchmarks.consortium import Consortium, time_phases
from fedsdr.study import read_site
from fedsdr.study.accepted_studies import accept_study
from fedsdr.transports.nvflare.loopback import Loopback, on_loopback

# Seconds to wait for the nodes.
PATIENCE = 300.0

PROGRAM = Path(sys.executable).with_name("fedsdr")


@contextmanager
def joined_nodes(files: Consortium) -> Iterator[Loopback]:
    """Start nodes where the commands look for them, and wait until all have joined."""
    folder = files.study_file.parent / "federation"
    folder.mkdir()
    with on_loopback("benchmark", files.study_file, files.site_files, folder) as nodes:
        with nodes.session(PATIENCE) as session:
            session.wait_for_sites(files.names, PATIENCE)
        yield nodes


def further_study(files: Consortium, number: int) -> Path:
    """Write a study of the same columns and another name, which all sites accept."""
    path = files.study_file.with_name(f"study-{number}.toml")
    text = files.study_file.read_text()
    path.write_text(text.replace('"benchmark"', f'"benchmark-{number}"', 1))
    for file in files.site_files.values():
        accept_study(read_site(file), path)
    return path


def time_submit(study: Path, folder: Path) -> dict[str, float]:
    """Run ``fedsdr study submit``; return its seconds, and those of each phase."""
    start = time()
    words: Sequence[str] = ("study", "submit", str(study))
    subprocess.run(
        [PROGRAM, *words], check=True, capture_output=True
    )
    end = time()
    return {"seconds": end - start, **time_phases(folder, start, end)}
