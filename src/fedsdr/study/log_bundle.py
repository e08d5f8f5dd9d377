"""A file with logs that a steward or a coordinator can show to somebody else."""

import io
import json
import platform
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from fedsdr.disclosure import Ledger, LedgerError
from fedsdr.exceptions import InputError
from fedsdr.files import explained, write_atomically
from fedsdr.study.redaction import redact_node_log, redact_site_log
from fedsdr.study.site_file import SiteFile
from fedsdr.study.site_health import Finding

#: Packages whose versions are told.
PACKAGES = (
    *("fedsdr", "numpy", "scipy", "pandas", "pyarrow", "pydantic", "cryptography"),
    *("nvflare", "grpcio", "websockets"),
)

#: Lines of a log that are kept, the last ones.
MOST = 5000


@dataclass(slots=True)
class LogBundle:
    """Files of a bundle, in memory until they are written.

    Parameters
    ----------
    files : dict of str to str
        Text of each file by its name in the bundle.
    """

    files: dict[str, str] = field(default_factory=dict)

    def add_log(
        self, name: str, path: Path, redact: Callable[[Iterable[str]], Iterator[str]]
    ) -> None:
        """Add a log without what may not be shown; none if the file is not there.

        Parameters
        ----------
        name : str
            Name in the bundle.
        path : Path
            Log as it was written.
        redact : callable
            From lines to the lines that are kept.
        """
        with suppress(FileNotFoundError), path.open(errors="replace") as stream:
            lines = list(redact(stream))[-MOST:]
            self.files[name] = "".join(f"{line}\n" for line in lines)

    def add_table(self, name: str, table: Any) -> None:
        """Add plain values as JSON.

        Parameters
        ----------
        name : str
            Name in the bundle.
        table : object
            That JSON can hold.
        """
        self.files[name] = json.dumps(table, indent=2, ensure_ascii=False) + "\n"

    def write(self, path: Path) -> None:
        """Write everything to one file.

        Parameters
        ----------
        path : Path
            Zip file, which must not exist.
        """
        if path.exists():
            raise InputError(f"{path} exists: name another file with --out")
        raw = io.BytesIO()
        with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, text in self.files.items():
                archive.writestr(name, text)
        with explained(f"{path} cannot be written"):
            write_atomically(path, raw.getvalue(), private=True)


def bundle_site(site: SiteFile, findings: Iterable[Finding]) -> LogBundle:
    """Collect the logs of a site.

    Parameters
    ----------
    site : SiteFile
        Site file.
    findings : iterable of Finding
        What ``fedsdr site doctor`` found; of these, topics and verdicts are told.

    Returns
    -------
    LogBundle
        Without values, counts of rows, keys and paths.
    """
    made = LogBundle()
    made.add_table("versions.json", versions())
    made.add_table("doctor.json", {one.topic: one.verdict for one in findings})
    made.add_table("ledger.json", _ledger_stages(site.at(site.ledger)))
    about: dict[str, Any] = {"site": site.name, "kind of data": site.data.get("kind")}
    with suppress(InputError):
        study = site.read_study()
        about["study"] = {"name": study.name, "digest": study.digest}
    made.add_table("site.json", about)
    made.add_log("site.log", site.at(site.log), redact_site_log)
    made.add_log("node.log", site.at(site.node) / "node.log", redact_node_log)
    return made


def bundle_study(
    study: Mapping[str, str], log: Path, journal: Path, progress: Any
) -> LogBundle:
    """Collect the logs of a coordinator.

    Parameters
    ----------
    study : mapping of str to str
        Name and digest of the study.
    log : Path
        Log of the coordinator's node.
    journal : Path
        Lines that `fedsdr.study.conduct` wrote, one for each message.
    progress : dataclass or None
        How far the study is.

    Returns
    -------
    LogBundle
        Without sums, keys and paths.
    """
    made = LogBundle()
    made.add_table("versions.json", versions())
    made.add_table("study.json", dict(study))
    if progress is not None:
        table = asdict(progress)
        # It may name files of the coordinator.
        table["problem"] = "[left out]" if table.get("problem") else ""
        made.add_table("progress.json", table)
    made.add_log("journal.jsonl", journal, _journal_lines)
    made.add_log("coordinator.log", log, redact_node_log)
    return made


def versions() -> dict[str, str]:
    """List the versions of what a study runs on.

    Returns
    -------
    dict of str to str
        Of Python, of the system and of packages that are installed.
    """
    found = {"python": platform.python_version(), "system": platform.system()}
    for name in PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def _ledger_stages(path: Path) -> list[dict[str, Any]]:
    """Tell what was recorded when, without fingerprints."""
    if not path.exists():
        return []
    try:
        entries = Ledger(path).entries()
    except (LedgerError, InputError):
        return [{"stage": "not whole"}]
    names = ("index", "time", "stage", "study", "round", "statistic", "sites")
    return [{name: getattr(one, name) for name in names} for one in entries]


def _journal_lines(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        with suppress(ValueError):
            step = json.loads(line)
            keys = ("time", "name", "answered", "failures")
            yield json.dumps({key: step.get(key) for key in keys})
