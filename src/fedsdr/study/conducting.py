"""Conduct a study as its coordinator, from agreement to the published result."""

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from fedsdr.exceptions import InputError
from fedsdr.files import explained, write_atomically
from fedsdr.protocols import IncompleteError
from fedsdr.protocols.exchange import Exchange, Failures, Payload, Payloads, Replies
from fedsdr.protocols.secure import SecureSum, SumFolder
from fedsdr.result import Result
from fedsdr.run import run
from fedsdr.study.later_stages import FIELDS, later_stages
from fedsdr.study.membership import (
    CHOSEN,
    Membership,
    check_choice,
    choose_sites,
    read_members,
)
from fedsdr.study.study_file import StudyFile, read_study

RESULT = "result.json"
JOURNAL = "journal.jsonl"
CLAIM = "study.json"


@dataclass(frozen=True, slots=True)
class Step:
    """One completed step of a study.

    Parameters
    ----------
    name : str
        Name of the message, "estimate" or "done".
    answered : tuple of str, default=()
        Sites that answered.
    failures : mapping of str to str, default={}
        Fixed code of each site that did not answer.
    """

    name: str
    answered: tuple[str, ...] = ()
    failures: Mapping[str, str] = field(default_factory=dict)


Progress = Callable[[Step], None]


def conduct(
    study_file: str | Path,
    exchange: Exchange,
    folder: str | Path,
    *,
    progress: Progress | None = None,
    without: Collection[str] = (),
) -> Result:
    """Run a study, or the rest of an interrupted study.

    Parameters
    ----------
    study_file : str or Path
        The coordinator's ``study.toml``.
    exchange : Exchange
        Sends messages to the sites and returns their replies.
    folder : str or Path
        Folder for finished work: one file per sum, ``journal.jsonl`` with one line per
        step, ``result.json``. If called again with the same folder, the study continues
        after the last finished sum, and no site is asked for a finished sum again.
    progress : callable, optional
        Function that is called with every `Step`.
    without : collection of str, default=()
        Sites that are left out, by choice and before their numbers are in a sum.

    Returns
    -------
    Result
        Result of the study, written to the folder first and then sent to all sites that
        have agreed. All of its sums are over the same sites: a
        `fedsdr.protocols.lost_sites.LostSiteError` is raised where one of them does not
        answer, and the study goes on if called again once it does.
    """
    folder = Path(folder)
    study = read_study(study_file)
    desk = _Desk(study, exchange, folder, progress)
    result = desk.earlier_result()
    if result is None:
        desk.form(without)
        generator = np.random.default_rng(study.model.seed)
        later = later_stages(desk.study.terms, study.method)
        found = run(desk.add, study.method, generator, later)
        result = desk.describe(found)
        result.to_json(folder / RESULT)
    else:
        desk.greet_again()
    desk.add.publish(to_message(result))
    desk.tell(Step("done"))
    return result


def to_message(result: Result) -> Payload:
    """Write the part of a result that is sent to the sites.

    Parameters
    ----------
    result : Result
        Result of a study.

    Returns
    -------
    dict
        Content of the message "secure.result": the estimate, and otherwise only what
        sites received during the study. The table of the candidates stays with the
        coordinator.
    """
    names = (
        "directions", "support", "eigenvalues", "n_rows", "n_sites", "penalty",
        "objective", "dual_bound", "gap", "converged", "scale",
    )  # fmt: skip
    message = {name: getattr(result, name) for name in names}
    message["sites"] = list(result.settings["sites"])
    filled = result.settings["preprocessing"].get("filled_with", {})
    if filled:
        message["means"] = np.array(list(filled.values()))
    # Only where it is true: sites with an earlier version refuse unknown fields.
    if result.weak:
        message["weak"] = True
    if result.at_limit:
        message["at_limit"] = True
    if result.scores is not None:
        message |= {"points": result.scores.points, "scores": result.scores.scores}
    if result.certainty is not None:
        sure = result.certainty
        message["tests"] = np.column_stack(
            [sure.p_values, sure.q_values, sure.frequencies]
        )
    if result.agreement:
        *needs, others = result.agreement["needs"]
        message["needs"] = np.array(needs, dtype=np.int64)
        message["need_others"] = others
        message["one_span"] = float(result.agreement["p_value"])
    if result.stand_ins:
        place = {name: j for j, name in enumerate(result.feature_names)}
        pairs = [
            (place[name], place[other])
            for name, others in result.stand_ins.items()
            for other in others
        ]
        message["stand_ins"] = np.array(pairs, dtype=np.int64)
    return message


class _Desk:
    """What the coordinator works with during one call of `conduct`."""

    def __init__(
        self,
        study_file: StudyFile,
        exchange: Exchange,
        folder: Path,
        progress: Progress | None,
    ) -> None:
        self.study_file = study_file
        self.study = study_file.to_study()
        self._exchange = exchange
        self._folder = folder
        self._progress = progress
        try:
            self._state = SumFolder(folder)
        except OSError as error:
            raise InputError(f"cannot use {folder}: {error.strerror}") from error
        claim_folder(folder, study_file)
        timeout = study_file.timeout
        self.add = SecureSum(self._watched, self.study, timeout, self._state)
        self._members = Membership(self.study.sites)

    def form(self, without: Collection[str]) -> None:
        """Agree with the sites of the study, and fix who is in all of its sums."""
        wanted = choose_sites(self.study_file, without)
        begun = self._state.begun()
        members = read_members(self._folder, begun)
        if members is not None:
            check_choice(members, without, begun)
            self.add.agree(members.sites, members.sites)
        else:
            agreed = self.add.agree(wanted, self.study_file.sites.needed(wanted))
            lost = set(wanted).difference(agreed)
            left_out = dict.fromkeys(without, CHOSEN) | {
                site: self.add.failures.get(site, "TIMEOUT") for site in sorted(lost)
            }
            members = Membership(tuple(sorted(agreed)), left_out)
            members.save(self._folder)
        self._members = members
        self.add.bind(members.sites)

    def describe(self, found: Result) -> Result:
        """Add what the study agreed on, and which sites stayed."""
        self.tell(Step("estimate"))
        settings = self.study_file.settings()
        settings["sites"] = list(self.add.counted)
        for key in ("noise", *FIELDS):
            if key in found.settings:
                settings[key] = found.settings[key]
        if "filled_with" in found.settings:
            settings["preprocessing"]["filled_with"] = found.settings["filled_with"]
        record = {
            "sums": self._sums(found.n_rows),
            "left_out": dict(self._members.left_out),
        }
        return replace(
            found, settings=settings, provenance={**found.provenance, **record}
        )

    def _sums(self, n_rows: int) -> list[dict[str, Any]]:
        """List sites and rows of every sum over all rows; sites refuse other ones."""
        begun = self._state.begun().items()
        kinds = [(name.partition("-")[0], saved["sites"]) for name, saved in begun]
        return [
            {"sum": kind, "sites": sites, "n_rows": n_rows}
            for kind, sites in kinds
            if "." not in kind
        ]

    def earlier_result(self) -> Result | None:
        """Return the result of an earlier call, which only has to be sent again."""
        path = self._folder / RESULT
        if not path.exists():
            return None
        result = Result.from_json(path)
        known = result.settings.get("study", {})
        if known.get("digest") != self.study.digest:
            raise InputError(f"{path} is the result of another study: move it away")
        return result

    def greet_again(self) -> None:
        """Agree with the sites that have joined, only to send them the result."""
        try:
            self.add.agree()
        except IncompleteError as error:
            self.add.failures |= error.failures

    def tell(self, step: Step) -> None:
        """Write a step to the journal and report it to `progress`."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        line = json.dumps({"time": now, **_plain(step)})
        try:
            with (self._folder / JOURNAL).open("a", encoding="utf-8") as stream:
                stream.write(line + "\n")
        except OSError as error:
            raise InputError(
                f"cannot write to {self._folder}: {error.strerror}; make room there, "
                "and resume"
            ) from error
        if self._progress is not None:
            self._progress(step)

    def _watched(
        self, name: str, payloads: Payloads, timeout: float
    ) -> tuple[Replies, Failures]:
        replies, failures = self._exchange(name, payloads, timeout)
        self.tell(Step(name, tuple(sorted(replies)), dict(failures)))
        return replies, failures


def claim_folder(folder: Path, study: StudyFile) -> None:
    """Note which study a folder belongs to; refuse one that holds sums of another.

    Parameters
    ----------
    folder : Path
        Folder at the coordinator; made if it does not exist.
    study : StudyFile
        The study.
    """
    path = folder / CLAIM
    claimed = read_claim(folder)
    if claimed is None:
        claim = {"name": study.name, "digest": study.digest}
        with explained(f"cannot write {path}"):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_atomically(path, json.dumps(claim) + "\n")
    elif claimed != study.digest:
        raise InputError(
            f"{folder} belongs to another study, or to this one before its file was "
            "changed: use another folder"
        )


def read_claim(folder: Path) -> str | None:
    """Read which study a folder of finished sums belongs to.

    Parameters
    ----------
    folder : Path
        Folder at the coordinator.

    Returns
    -------
    str or None
        Digest of the study; None if nobody has claimed the folder.
    """
    path = folder / CLAIM
    try:
        return str(json.loads(path.read_text(encoding="utf-8"))["digest"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise InputError(f"{path} is damaged: use another folder") from error


def _plain(step: Step) -> dict[str, Any]:
    return {**asdict(step), "failures": dict(step.failures)}
