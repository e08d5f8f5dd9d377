"""A study over NVFLARE nodes on this machine, with a clock and a meter."""

from time import time

from benchmarks.consortium import Consortium, time_phases
from benchmarks.meter import Meter
from fedsdr.result import Result
from fedsdr.transports.nvflare.loopback import on_loopback

# Seconds.
PATIENCE = 900.0


def run_nodes(files: Consortium) -> tuple[dict[str, float], Result]:
    """Run a study between processes, over TLS; say what it cost, and give its result.

    "seconds" are from submitting to the result at every site; what follows, "finish",
    is NVFLARE putting the job away.
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
