"""CPU seconds and memory of nodes, sampled while they run."""

from time import monotonic

import psutil

from fedsdr.transports.nvflare.processes import Nodes, marked

# Seconds between two samples: sampling uses time of the measured cores.
INTERVAL = 1.0


class Meter:
    """Sample all processes of some nodes with every call.

    Parameters
    ----------
    nodes : Nodes
        Running nodes; a node that has ended is an error.
    """

    def __init__(self, nodes: Nodes) -> None:
        self.nodes = nodes
        self.largest = 0
        self.total = 0
        self.n_processes = 0
        self._seconds: dict[int, float] = {}
        self._last = -INTERVAL

    def __call__(self) -> None:
        """Sample the processes, unless the last sample is recent."""
        self.nodes.check()
        if monotonic() - self._last < INTERVAL:
            return
        sizes = []
        for process in marked(node.mark for node in self.nodes.running):
            try:
                spent = process.cpu_times()
                # Shared pages are divided among the processes that share them.
                sizes.append(process.memory_full_info().pss)
            except psutil.Error:
                continue
            self._seconds[process.pid] = spent.user + spent.system
        self.n_processes = max(self.n_processes, len(sizes))
        self.largest = max([self.largest, *sizes])
        self.total = max(self.total, sum(sizes))
        self._last = monotonic()

    @property
    def cpu(self) -> float:
        """CPU seconds of all sampled processes."""
        return sum(self._seconds.values())
