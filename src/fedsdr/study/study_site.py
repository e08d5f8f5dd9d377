"""What a site's process runs."""

import os
import traceback
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from fedsdr.disclosure import Ledger, ReleaseGate
from fedsdr.exceptions import InputError, fixed_code
from fedsdr.protocols.exchange import Payload
from fedsdr.protocols.secure import SecureSite
from fedsdr.result import Result
from fedsdr.run import provenance
from fedsdr.secure_sum import Identity
from fedsdr.study.checked_files import CheckError
from fedsdr.study.site_data import SiteData
from fedsdr.study.site_file import SiteFile, read_site
from fedsdr.study.study_file import StudyFile


class StudySite:
    """A site of a study: answers, keeps a log, and writes the result down.

    Parameters
    ----------
    site : SiteFile
        The site.
    study : StudyFile
        Its copy of the study.
    party : SecureSite
        Who answers.
    writes : bool, default=True
        Whether to write log and result.

    Notes
    -----
    Explanations stay at the site, in its log; what carries messages lets nothing out
    but `fedsdr.exceptions.fixed_code` of whatever `handle` raises.
    """

    def __init__(
        self,
        site: SiteFile,
        study: StudyFile,
        party: SecureSite,
        *,
        writes: bool = True,
    ) -> None:
        self.name = site.name
        self._site = site
        self._study = study
        self._party = party
        self._writes = writes

    def handle(self, name: str, payload: Payload) -> Payload:
        """Answer one message.

        Parameters
        ----------
        name : str
            Of the message.
        payload : dict
            Its content.

        Returns
        -------
        dict
            The reply. What goes wrong is logged and raised.
        """
        try:
            reply = self._party.handle(name, payload)
            if name == "secure.result" and self._writes:
                result = read_message(payload, self._study)
                result.to_json(self._site.at(self._site.result))
        except Exception as error:
            if self._writes:
                log_failure(self._site.at(self._site.log), name, error)
            raise
        return reply


def open_site(site_file: str | Path, *, rehearsal: bool = False) -> StudySite:
    """Open a site: its rows, its rules, its ledger and its key.

    Parameters
    ----------
    site_file : str or Path
        The site's ``site.toml``.
    rehearsal : bool, default=False
        True for a study whose messages stay in this process: the ledger is kept in
        memory, and neither result nor log are written.

    Returns
    -------
    StudySite
        A party for whatever carries messages. An `InputError` says what in files or
        rows stands in the way.
    """
    site = read_site(site_file)
    study = site.read_study()
    identity = Identity.load(site.at(site.identity))
    agreed = study.to_study()
    check_identity(site, study, identity)
    ledger = Ledger() if rehearsal else open_ledger(site)
    # The same folds in every process: a sum that is asked for again must be the same.
    seed = int.from_bytes(ledger.derive(f"folds of {agreed.digest}"))
    rows = SiteData(site, study).rows(np.random.default_rng(seed))
    gate = ReleaseGate(site.read_policy(), ledger)
    party = SecureSite(site.name, agreed, rows, identity, gate)
    return StudySite(site, study, party, writes=not rehearsal)


def check_identity(site: SiteFile, study: StudyFile, identity: Identity) -> None:
    """Check that a site's key is the one that the others know.

    Parameters
    ----------
    site : SiteFile
        The site.
    study : StudyFile
        With the roster.
    identity : Identity
        The site's key.

    Raises
    ------
    CheckError
        If it is another one.
    """
    if study.sites.roster[site.name] != identity.public.hex():
        problem = (
            f"is not the key that the roster has for '{site.name}': use the right key, "
            "or send the public half of this one to the coordinator"
        )
        raise CheckError(str(site.at(site.identity)), [problem])


def open_ledger(site: SiteFile) -> Ledger:
    """Open a site's ledger.

    Parameters
    ----------
    site : SiteFile
        Names the file.

    Returns
    -------
    Ledger
        On disk; new if there is none.
    """
    path = site.at(site.ledger)
    if path.is_dir() or not path.parent.is_dir():
        raise InputError(f"{path} cannot be the ledger: name a file in a folder")
    return Ledger(path)


def read_message(payload: Payload, study: StudyFile) -> Result:
    """Read a result that the coordinator published.

    Parameters
    ----------
    payload : dict
        "secure.result", checked against the manifest.
    study : StudyFile
        The site's copy of the study.

    Returns
    -------
    Result
        With names and settings from the site's own copy, and with what new rows need:
        the means that gaps are filled with. The table behind the choices stays with the
        coordinator.
    """
    found = dict(payload)
    settings = study.settings()
    settings["sites"] = list(found.pop("sites", ()))
    if "means" in found:
        filled = dict(zip(study.imputed, found.pop("means").tolist(), strict=True))
        settings["preprocessing"]["filled_with"] = filled
    return Result(
        feature_names=study.features,
        settings=settings,
        provenance={**provenance(), "received": "from the coordinator"},
        **found,
    )


def log_failure(path: Path, name: str, error: Exception) -> None:
    """Say in the site's own log what went wrong.

    Parameters
    ----------
    path : Path
        Of the log; only its owner may read what is made here.
    name : str
        Message that could not be answered.
    error : Exception
        Why.
    """
    code = fixed_code(error)
    text = str(error)
    if code == "INTERNAL":
        text = "".join(traceback.format_exception(error))
    now = datetime.now(UTC).isoformat(timespec="seconds")
    lines = "".join(f"    {line}\n" for line in text.splitlines())
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with os.fdopen(descriptor, "a", encoding="utf-8") as stream:
        stream.write(f"{now} {name} {code}\n{lines}")
