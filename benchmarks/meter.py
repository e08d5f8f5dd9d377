"""Seconds of a core and memory of nodes, looked at while they run."""

from time import monotonic

import psutil

from fedsdr.transports.nvflare.processes import Nodes, marked

# Seconds between two looks: each one takes time of the cores that are measured.
INTERVAL = 1.0


class Meter:
    """Looks at all processes of some nodes whenever it is called.

    Parameters
    ----------
    nodes : Nodes
        Running; a node that has ended is an error.
    """

    def __init__(self, nodes: Nodes) -> None:
        self.nodes = nodes
        self.largest = 0
        self.total = 0
        self.n_processes = 0
        self._seconds: dict[int, float] = {}
        self._last = -INTERVAL

    def __call__(self) -> None:
        """Look, unless it has just been done."""
        self.nodes.check()
        if monotonic() - self._last < INTERVAL:
            return
        sizes = []
        for process in marked(node.mark for node in self.nodes.running):
            try:
                spent = process.cpu_times()
                # Shared pages are divided among those who share them.
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
        """Seconds of a core, of all processes that were seen."""
        return sum(self._seconds.values())
