"""The party that answers the coordinator's messages in the process of a site."""

import os
import traceback
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedsdr.certainty import Certainty
from fedsdr.disclosure import Ledger, PeerBook, ReleaseGate
from fedsdr.exceptions import Refusal, SiteWarning, fixed_code, warn_user
from fedsdr.normal_scores import NormalScores
from fedsdr.protocols.exchange import Payload
from fedsdr.protocols.secure import SecureSite
from fedsdr.result import Result
from fedsdr.run import provenance
from fedsdr.secure_sum import Identity
from fedsdr.spoken import escaped
from fedsdr.study.accepted_studies import for_study
from fedsdr.study.checked_files import CheckError
from fedsdr.study.prediction_stage import with_own_model
from fedsdr.study.scoring_stage import with_own_scores
from fedsdr.study.site_data import SiteData
from fedsdr.study.site_file import SiteFile, read_site
from fedsdr.study.stewardship import open_ledger
from fedsdr.study.study_file import StudyFile

#: What a site knows about a result, by whether its rows are in the sums.
RECEIVED = {
    True: "from the coordinator; this site signed the sums over these sites, and has "
    "not repeated the computation",
    False: "from the coordinator, unverified: this site took part in no sum of it",
}


class StudySite:
    """A site of a study: answers messages, keeps a log, and writes the result.

    Parameters
    ----------
    site : SiteFile
        Site file.
    study : StudyFile
        The site's copy of the study file.
    party : SecureSite
        Party that computes the answers.
    writes : bool, default=True
        Whether to write log and result.

    Notes
    -----
    Explanations stay at the site, in its log. Of an exception that `handle` raises, the
    transport sends only `fedsdr.exceptions.fixed_code`.
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
            Name of the message.
        payload : dict
            Content of the message.

        Returns
        -------
        dict
            The reply. Errors are logged and raised again.
        """
        try:
            reply = self._party.handle(name, payload)
            if name == "secure.result" and self._writes:
                took_part = self._party.took_part
                result = read_message(payload, self._study, took_part=took_part)
                terms = self._study.to_study().terms
                path = self._site.at(self._site.result)
                found = with_own_model(result, self._party, terms, path)
                with_own_scores(found, self._party, terms).to_json(path)
        except Exception as error:
            if self._writes:
                log_failure(self._site.at(self._site.log), name, error)
            raise
        return reply


def open_site(
    site_file: str | Path, *, rehearsal: bool = False, digest: str = ""
) -> StudySite:
    """Open a site: its rows, its rules, its ledger and its key.

    Parameters
    ----------
    site_file : str or Path
        The site's ``site.toml``.
    rehearsal : bool, default=False
        True for a study whose messages stay in this process: rules see the ledger, but
        what it records is kept in memory, and neither result nor log are written.
    digest : str, default=""
        Digest of the study that is asked for, if it may be another one than that of the
        file, see `fedsdr.study.accepted_studies`.

    Returns
    -------
    StudySite
        Party for a transport. An `InputError` names what in the files or rows cannot be
        used.
    """
    log = Path(site_file).with_name("site.log")
    try:
        site = for_study(read_site(site_file), digest)
        log = site.at(site.log)
        return _open(site, rehearsal=rehearsal)
    except Exception as error:
        if not rehearsal:
            log_failure(log, "opening the site", error)
        raise


def _open(site: SiteFile, *, rehearsal: bool) -> StudySite:
    study = site.read_study()
    identity = Identity.load(site.at(site.identity))
    agreed = study.to_study()
    check_identity(site, study, identity)
    ledger, peers = _open_memory(site, identity, rehearsal=rehearsal)
    # The same folds in every process: a sum that is requested again must be equal.
    seed = int.from_bytes(ledger.derive(f"folds of {agreed.digest}"))
    rows = SiteData(site, study, ledger.entries()).rows(np.random.default_rng(seed))
    rows.keep_halves(seed_of_halves(ledger))
    gate = ReleaseGate(site.read_policy(), ledger, peers, site.name)
    party = SecureSite(site.name, agreed, rows, identity, gate)
    return StudySite(site, study, party, writes=not rehearsal)


def seed_of_halves(ledger: Ledger) -> int:
    """Derive the secret that divides the rows of a site into halves.

    Parameters
    ----------
    ledger : Ledger
        Ledger of the site, whose key is secret.

    Returns
    -------
    int
        The same number in all studies: no coordinator gets other halves by another
        study.
    """
    return int.from_bytes(ledger.derive("halves of rows"))


def _open_memory(
    site: SiteFile, identity: Identity, *, rehearsal: bool
) -> tuple[Ledger, PeerBook | None]:
    """Open what a site remembers; a rehearsal does without what is not there yet."""
    if not rehearsal:
        return open_ledger(site, identity), PeerBook.read(site.at(site.peers))
    path = site.at(site.peers)
    peers = PeerBook.read(path) if path.exists() else None
    if site.at(site.ledger).exists():
        return open_ledger(site, identity).rehearsal(), peers
    warn_user(
        f"site '{site.name}' has no ledger, and would refuse this study: 'fedsdr site "
        f"ledger init {site.file.name}' begins it, or restore it from a backup",
        SiteWarning,
    )
    return Ledger(), peers


def check_identity(site: SiteFile, study: StudyFile, identity: Identity) -> None:
    """Check that the key of a site is the one in the roster.

    Parameters
    ----------
    site : SiteFile
        Site file.
    study : StudyFile
        Study file, which contains the roster.
    identity : Identity
        Key of the site.

    Raises
    ------
    CheckError
        If the roster has another key for the site.
    """
    if study.sites.roster[site.name] != identity.public.hex():
        problem = (
            f"is not the key that the roster has for '{site.name}': use the right key, "
            "or send the public half of this one to the coordinator"
        )
        raise CheckError(str(site.at(site.identity)), [problem])


def read_message(
    payload: Payload, study: StudyFile, *, took_part: bool = False
) -> Result:
    """Read a result that the coordinator published.

    Parameters
    ----------
    payload : dict
        Content of the message "secure.result", checked against its schema.
    study : StudyFile
        The site's copy of the study.
    took_part : bool, default=False
        Whether the site has released moments over the sites that the result names.

    Returns
    -------
    Result
        Result with names and settings from the site's own copy, and with the means that
        are filled into gaps of new rows and the scores that columns are replaced by.
        The table of the candidates stays with the coordinator.
    """
    found = dict(payload)
    settings = study.settings()
    settings["sites"] = list(found.pop("sites", ()))
    if "means" in found:
        filled = dict(zip(study.imputed, found.pop("means").tolist(), strict=True))
        settings["preprocessing"]["filled_with"] = filled
    if "points" in found:
        found["scores"] = NormalScores(found.pop("points"), found["scores"])
    pairs = found.pop("stand_ins", np.empty((0, 2), dtype=np.int64))
    found["agreement"] = _read_agreement(found)
    if "tests" in found:
        found["certainty"] = _read_tests(found.pop("tests"), study)
    return Result(
        feature_names=study.features,
        settings=settings,
        provenance={**provenance(), "received": RECEIVED[took_part]},
        stand_ins=_name_pairs(pairs, study.features),
        **found,
    )


def _read_tests(tests: NDArray[np.float64], study: StudyFile) -> Certainty:
    """Read the tests of all variables."""
    terms = study.to_study().terms
    if not terms.n_splits or not ((tests >= 0.0) & (tests <= 1.0)).all():
        raise Refusal("MALFORMED", "these are no tests of the study's variables")
    p_values, q_values, frequencies = np.array(tests).T
    return Certainty(p_values, q_values, frequencies, n_halves=2 * terms.n_splits)


def _read_agreement(found: Payload) -> dict[str, Any]:
    """Take from a message how many directions sites need."""
    names = ("needs", "need_others", "one_span")
    needs, others, p_value = (found.pop(name, None) for name in names)
    if needs is None and others is None and p_value is None:
        return {}
    if needs is None or others is None or p_value is None:
        raise Refusal("MALFORMED", "a count of the study's sites is not complete")
    counts = [*needs.tolist(), others]
    if min(counts) < 0 or not 0.0 <= p_value <= 1.0:
        raise Refusal("MALFORMED", "this is no count of the study's sites")
    return {"needs": counts, "p_value": p_value}


def _name_pairs(
    pairs: NDArray[np.int64], names: tuple[str, ...]
) -> dict[str, tuple[str, ...]]:
    """Collect the second variables of pairs by the first ones."""
    if ((pairs < 0) | (pairs >= len(names))).any():
        raise Refusal("MALFORMED", "stand-ins are not among the study's variables")
    found: dict[str, tuple[str, ...]] = {}
    for name, other in ((names[j], names[k]) for j, k in pairs.tolist()):
        found[name] = (*found.get(name, ()), other)
    return found


def log_failure(path: Path, name: str, error: Exception) -> None:
    """Write an error to the log of the site.

    Parameters
    ----------
    path : Path
        Path of the log. If it does not exist, it is created so that only its owner may
        read it.
    name : str
        Name of the message that could not be answered.
    error : Exception
        Reason of the failure.
    """
    code = fixed_code(error)
    text = str(error)
    if code == "INTERNAL":
        text = "".join(traceback.format_exception(error))
    now = datetime.now(UTC).isoformat(timespec="seconds")
    # Names come from other parties, and a steward reads the log on a terminal.
    lines = "".join(f"    {escaped(line)}\n" for line in text.splitlines())
    # A disk that is full must not put another error in the place of this one.
    with suppress(OSError):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(descriptor, "a", encoding="utf-8") as stream:
            stream.write(f"{now} {escaped(name)} {code}\n{lines}")
