"""Run a study over NVFLARE nodes on this machine, and measure time and memory."""

from time import time

from benchmarks.consortium import Consortium, time_phases
from benchmarks.meter import Meter
from fedsdr.result import Result
from fedsdr.transports.nvflare.loopback import on_loopback

# Seconds to wait for a study.
PATIENCE = 900.0


def run_nodes(files: Consortium) -> tuple[dict[str, float], Result]:
    """Run a study between processes over TLS; return its cost and its result.

    "seconds" is the time from submitting to the result at every site; "finish" is the
    time that NVFLARE then takes to close the job.
    """
    folder = files.root / "loopback"
    folder.mkdir()
    begin = time()
    with on_loopback("benchmark", files.study_file, files.site_files, folder) as nodes:
        meter = Meter(nodes.nodes)
        with nodes.session(PATIENCE) as session:
            session.wait_for_sites(files.names, PATIENCE, watch=meter)
            start = time()
            job = session.submit(nodes.network.project, files.names)
            status = session.wait(job, PATIENCE, watch=meter)
            end = time()
        progress = nodes.progress()
    if not status.is_complete or progress is None:
        raise RuntimeError(f"the study ended as {status.status}")
    phases = time_phases(nodes.state, start, end)
    spent = {
        "startup": start - begin,
        "seconds": end - start - phases["finish"],
        **phases,
        "cpu": meter.cpu,
        "processes": meter.n_processes,
        "memory": meter.total / 1e6,
        "largest": meter.largest / 1e6,
        "rounds": progress.exchange,
        "bytes_up": max(progress.received.values()),
        "bytes_down": max(progress.sent.values()),
    }
    return spent, Result.from_json(nodes.state / "result.json")
