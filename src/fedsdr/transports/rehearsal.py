"""Run a whole study in one process, from its real files."""

import tempfile
from collections.abc import Iterable
from pathlib import Path

from fedsdr.exceptions import InputError, Refusal
from fedsdr.protocols import Party
from fedsdr.protocols.exchange import Payload
from fedsdr.result import Result
from fedsdr.study import conduct, open_site, read_study
from fedsdr.study.conducting import Progress
from fedsdr.transports.in_process import InProcess


class _Candid:
    """A site whose refusals are explained, since its rows belong to the caller."""

    def __init__(self, name: str, party: Party) -> None:
        self._name = name
        self._party = party

    def handle(self, name: str, payload: Payload) -> Payload:
        try:
            return self._party.handle(name, payload)
        except (InputError, Refusal) as error:
            raise InputError(f"site '{self._name}' refuses: {error}") from error


def rehearse(
    study_file: str | Path,
    site_files: Iterable[str | Path],
    *,
    progress: Progress | None = None,
) -> Result:
    """Run a study with all its sites in this process.

    Parameters
    ----------
    study_file : str or Path
        The coordinator's ``study.toml``.
    site_files : iterable of str or Path
        The ``site.toml`` of each site. A site of the roster whose file is not given
        is left out.
    progress : callable, optional
        Function that is called with every `fedsdr.study.Step`.

    Returns
    -------
    Result
        Result of the study. Sites apply their rules, with their ledgers and accepted
        partners as they are now; no files of the sites are written.
    """
    parties: dict[str, Party] = {}
    for path in site_files:
        site = open_site(path, rehearsal=True)
        if site.name in parties:
            raise InputError(f"two site files have the name '{site.name}'")
        parties[site.name] = _Candid(site.name, site)

    without = set(read_study(study_file).sites.roster).difference(parties)
    exchange = InProcess(parties, on_error="raise")
    with tempfile.TemporaryDirectory() as folder:
        return conduct(study_file, exchange, folder, progress=progress, without=without)
