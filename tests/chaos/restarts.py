"""Many sites as processes, of which one is started again every few seconds."""

import signal
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace

import psutil
from tests.e2e.hosts import Process
from tests.e2e.offices import Office

from benchmarks.consortium import Consortium
from fedsdr.cli.nodes import find_place
from fedsdr.result import Result
from fedsdr.simulate import make_setting

#: Seconds between two looks.
LOOK = 0.2

#: Studies, one after another, and how often one sum may be begun.
STUDIES, ATTEMPTS = 3, 20

#: Seconds for one study.
PATIENCE = 1800.0


def restart_sites(n_sites: int, every: float) -> dict[str, object]:
    """Run three studies while sites are started again in turn; return what they cost.

    A node is killed as by a power cut, with all its processes, and started again, every
    so many seconds, but not before the one before has joined again.
    """
    begin = time.perf_counter()
    with TemporaryDirectory(prefix="chaos-") as name:
        stage = _Restarts(Path(name), n_sites, every)
        try:
            stage.start()
            problems = [one for number in range(STUDIES) for one in stage.run(number)]
        finally:
            stage.stop()
        left = [p for p in psutil.process_iter(["cmdline"]) if _is_in(p, name)]
    problems += [f"process {process.pid} is left" for process in left]
    return {
        "study": "default",
        "studies": STUDIES,
        "faults": "; ".join(["restart at a site"] * stage.n_restarts),
        "calls": stage.calls,
        "sites": n_sites,
        "every": every,
        "seconds": time.perf_counter() - begin,
        "memory": stage.memory / 1e6,
        "problems": " | ".join(problems),
    }


class _Restarts:
    def __init__(self, root: Path, n_sites: int, every: float) -> None:
        data = make_setting(
            1, n_sites=n_sites, n_per_site=60, n_features=10, random_state=0
        )
        policy = "max_studies = 100"
        self.made = Consortium(root / "sites", data, policy, 'refit = "pooled"')
        files = SimpleNamespace(
            study_file=self.made.study_file,
            coordinator=self.made.study_file.parent,
            site_files=self.made.site_files,
            root=self.made.root,
        )
        (root / "logs").mkdir()
        self.office = Office(files, root / "logs")  # type: ignore[arg-type]
        self.n_rows = len(data.y)
        self.every = every
        self.calls = self.n_restarts = 0
        self.memory = 0.0
        self._next = 0

    def start(self) -> None:
        """Start the coordinator and all sites."""
        self.office.enrol()
        self.office.start().wait_for("The coordinator listens")
        self.office.join_all()

    def stop(self) -> None:
        """End all nodes."""
        if hasattr(self.office, "coordinator"):
            self.office.stop()

    def run(self, number: int) -> list[str]:
        """Run one study, and start a site again every few seconds meanwhile."""
        from fedsdr.study import read_site
        from fedsdr.study.accepted_studies import accept_study

        text = self.made.study_file.read_text()
        file = self.made.study_file.with_name(f"study-{number}.toml")
        file.write_text(text.replace("benchmark", f"benchmark-{number}", 1))
        for site in self.made.site_files.values():
            accept_study(read_site(site), file)
        code = self._call(file, "submit")
        while code not in (0, 3) and self.calls < 10 * (number + 1):
            code = self._call(file, "resume")
        if code != 0:
            return [f"study {number} has ended with exit code {code}"]
        state = find_place(file, self.office.folder).state
        result = Result.from_json(state / "result.json")
        names = list(self.made.names)
        found = []
        if result.settings["sites"] != names or result.n_rows != self.n_rows:
            found.append(f"study {number} is of {result.n_rows} rows")
        sums = result.provenance["sums"]
        if any(one["sites"] != names for one in sums):
            found.append(f"study {number} has sums over other sites")
        return found

    def _call(self, file: Path, verb: str) -> int:
        self.calls += 1
        log = self.office.logs / f"{file.stem}-{self.calls}.log"
        words = ["study", verb, str(file), "--attempts", str(ATTEMPTS), "--folder"]
        command = Process([], [*words, str(self.office.folder)], log)
        begin = last = time.monotonic()
        while command.process.poll() is None:
            now = time.monotonic()
            if now - begin > PATIENCE:
                command.process.send_signal(signal.SIGINT)
                command.process.wait()
                return -1
            if now - last > self.every and self._all_joined():
                last = now
                self._restart()
            time.sleep(LOOK)
        return int(command.process.returncode)

    def _all_joined(self) -> bool:
        """Tell whether the site that was started last has joined again."""
        return all("Joined" in one.said() for one in self.office.joined.values())

    def _restart(self) -> None:
        """Cut the power of the next site, and start it again."""
        names = list(self.made.names)
        name = names[self._next % len(names)]
        self._next += 1
        self.n_restarts += 1
        top = psutil.Process(self.office.joined[name].process.pid)
        tree = [top, *top.children(recursive=True)]
        self.memory = max(self.memory, sum(p.memory_info().rss for p in tree))
        for process in tree:
            process.kill()
        self.office.joined[name].process.wait()
        self.office.joined[name] = self.office.join(name)


def _is_in(process: psutil.Process, folder: str) -> bool:
    return any(folder in word for word in process.info["cmdline"] or ())
