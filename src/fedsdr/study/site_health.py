"""Whether a site can take part: its files, keys, ledger, rows and disk, one by one."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

from fedsdr.disclosure import Ledger, LedgerError
from fedsdr.disclosure.chain import TornLineError
from fedsdr.exceptions import InputError
from fedsdr.files import PRIVATE
from fedsdr.secure_sum import Identity
from fedsdr.study.site_data import SiteData
from fedsdr.study.site_file import SiteFile
from fedsdr.study.stewardship import list_partners, open_ledger
from fedsdr.study.study_file import StudyFile
from fedsdr.study.study_site import check_identity

Verdict = Literal["ok", "warn", "fail"]

#: Bytes that should be free, and without which nothing can be recorded.
ROOM, LEAST = 2**30, 2**26

#: How far a clock may be behind the last entry of a ledger.
SLACK = timedelta(minutes=5)

_MEBIBYTE = 2**20


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found out about one thing that a site needs.

    Parameters
    ----------
    topic : str
        What was looked at.
    verdict : {"ok", "warn", "fail"}
        "warn" for what should be looked into, "fail" for what stops a study.
    words : str
        What was found, without any value of the data.
    remedy : str, default=""
        What to do.
    """

    topic: str
    verdict: Verdict
    words: str
    remedy: str = ""


def examine_site(site: SiteFile, now: datetime | None = None) -> list[Finding]:
    """Look at everything that a site has on its own disk.

    Parameters
    ----------
    site : SiteFile
        Site file.
    now : datetime or None, default=None
        With its time zone; the clock of this machine if not given.

    Returns
    -------
    list of Finding
        One for each thing; nothing is written or sent.
    """
    now = now or datetime.now(UTC)
    found = [_look_at_study(site)]
    found += _look_at_keys(site)
    found += _look_at_ledger(site, now)
    try:
        study = site.read_study()
    except InputError:
        # The first finding says so.
        return [*found, look_at_disk(site.folder)]
    found += [_look_at_partners(site), _look_at_rows(site, study)]
    return [*found, look_at_disk(site.folder)]


def look_at_disk(folder: Path) -> Finding:
    """Look how much room there is.

    Parameters
    ----------
    folder : Path
        Folder that is written to.

    Returns
    -------
    Finding
        About its disk.
    """
    free = shutil.disk_usage(folder).free
    words = f"{free // _MEBIBYTE} MiB are free"
    if free >= ROOM:
        return Finding("disk", "ok", words)
    remedy = "make room: a site that cannot write its ledger answers nothing"
    return Finding("disk", "warn" if free >= LEAST else "fail", words, remedy)


def _look_at_study(site: SiteFile) -> Finding:
    try:
        study = site.read_study()
    except InputError as error:
        return Finding("study", "fail", str(error), "correct the file, or ask for it")
    return Finding("study", "ok", f"{study.name}, digest {study.digest[:16]}...")


def _look_at_keys(site: SiteFile) -> Iterator[Finding]:
    path = site.at(site.identity)
    try:
        identity = Identity.load(path)
        check_identity(site, site.read_study(), identity)
    except InputError as error:
        remedy = "restore the key, or make one with fedsdr keygen and send its half"
        yield Finding("identity", "fail", str(error), remedy)
    else:
        yield Finding("identity", "ok", "is the one in the study")
    ledger = site.at(site.ledger)
    secret = [path, ledger.with_name(f"{ledger.name}.key"), site.at(site.tls)]
    secret += [site.at(site.node), site.at(site.node) / "startup" / "client.key"]
    there = [one for one in secret if one.exists()]
    open_ones = [one for one in there if one.stat().st_mode & 0o077]
    if open_ones:
        names = ", ".join(one.name for one in open_ones)
        mode = f"{PRIVATE:o}, or 700 for a folder"
        words = f"others on this machine may read {names}"
        yield Finding("permissions", "fail", words, f"chmod {mode}")
    else:
        names = ", ".join(one.name for one in there)
        yield Finding("permissions", "ok", f"only you may read {names}")


def _look_at_ledger(site: SiteFile, now: datetime) -> Iterator[Finding]:
    path = site.at(site.ledger)
    remedy = "restore the latest backup of all three files, and never an older one"
    try:
        identity = Identity.load(site.at(site.identity))
        ledger = open_ledger(site, identity)
        status = ledger.verify()
    except LedgerError as error:
        if isinstance(error, TornLineError):
            remedy = f"fedsdr site ledger mend {site.file.name}"
        yield Finding("ledger", "fail", f"{path.name} is not whole: {error}", remedy)
        return
    except InputError as error:
        yield Finding("ledger", "fail", str(error), remedy)
        return
    words = f"whole, {status.n_entries} entries, head {status.head[:16]}..."
    if status.witness == "missing" or not _has_key(path):
        lost = f"{path.name}.{'head' if _has_key(path) else 'key'}"
        yield Finding("ledger", "fail", f"{lost} is missing", remedy)
    else:
        yield Finding("ledger", "ok", words)
    yield _compare_clock(ledger, now)


def _has_key(path: Path) -> bool:
    return path.with_name(f"{path.name}.key").exists()


def _compare_clock(ledger: Ledger, now: datetime) -> Finding:
    """Compare the clock with the last entry, which it must not be behind."""
    entries = ledger.entries()
    shown = now.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    if not entries or now >= datetime.fromisoformat(entries[-1].time) - SLACK:
        return Finding("clock", "ok", f"{shown}, not behind the ledger")
    words = f"{shown} is before the last entry of the ledger, {entries[-1].time}"
    return Finding("clock", "fail", words, "set the clock of this machine")


def _look_at_partners(site: SiteFile) -> Finding:
    try:
        partners = list_partners(site)
    except InputError as error:
        return Finding("partners", "fail", str(error), "restore the file")
    new = [one.name for one in partners if one.standing != "accepted"]
    if not new:
        return Finding("partners", "ok", f"all {len(partners)} are accepted")
    remedy = f"compare keys, then fedsdr site peers accept {site.file.name}"
    return Finding("partners", "warn", f"not accepted: {', '.join(new)}", remedy)


def _look_at_rows(site: SiteFile, study: StudyFile) -> Finding:
    remedy = "correct [data] in the site file, or the source; then fedsdr site check"
    try:
        first = next(iter(SiteData(site, study).batches()), None)
    except InputError as error:
        return Finding("rows", "fail", str(error), remedy)
    except OSError as error:
        return Finding("rows", "fail", f"cannot be read: {error.strerror}", remedy)
    if first is None or not len(first):
        return Finding("rows", "fail", "the source has no rows", remedy)
    kind = site.data.get("kind", "")
    return Finding("rows", "ok", f"{kind} source with the columns of the study")
