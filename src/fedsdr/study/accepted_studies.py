"""Studies that a site has agreed to, besides the one that its file names.

A steward accepts a study once, by its digest. The node then answers it without being
started again, with the same rows, ledger, rules and partners.
"""

from pathlib import Path

from fedsdr.exceptions import InputError
from fedsdr.files import explained, write_atomically
from fedsdr.secure_sum import Identity
from fedsdr.study.site_file import SiteFile
from fedsdr.study.study_file import StudyFile, read_study

#: Folder of accepted studies and their results, beside the site file.
STUDIES = "studies"


def accept_study(site: SiteFile, path: Path) -> StudyFile:
    """Agree to a study: keep a copy of its file, unless it is the site's own.

    Parameters
    ----------
    site : SiteFile
        Site file.
    path : Path
        Study file that the coordinator has sent.

    Returns
    -------
    StudyFile
        The study. An `InputError` if this site, with its own key, is not in its roster.
    """
    study = read_study(path)
    identity = Identity.load(site.at(site.identity))
    if study.sites.roster.get(site.name) != identity.public.hex():
        raise InputError(
            f"{path}: its roster does not have '{site.name}' with the key of this "
            "site: ask the coordinator for a study that does"
        )
    if _is_own(site, study):
        return study
    target = _place(site, study.digest)
    with explained(f"cannot write {target}"):
        target.parent.mkdir(exist_ok=True, mode=0o700)
        write_atomically(target, path.read_bytes(), private=True)
    return study


def for_study(site: SiteFile, digest: str) -> SiteFile:
    """Return the site file with which a study is answered.

    Parameters
    ----------
    site : SiteFile
        Site file.
    digest : str
        Digest of the study that a coordinator asks for.

    Returns
    -------
    SiteFile
        The same for the study that the file names, and for one that nobody has
        accepted, which is refused later. For an accepted one, with its copy as the
        study, a result of its own, and those names of columns that it has.
    """
    path = _place(site, digest)
    return with_study(site, path) if path.is_file() else site


def with_study(site: SiteFile, path: Path) -> SiteFile:
    """Return the site file as it would be for another study.

    Parameters
    ----------
    site : SiteFile
        Site file.
    path : Path
        Study file.

    Returns
    -------
    SiteFile
        With this file as the study, a result beside it, and those names of columns that
        it has.
    """
    study = read_study(path)
    known = {study.target.name, *study.columns, *study.reads}
    changes = {
        "study": str(path.absolute()),
        "result": str(path.absolute().with_suffix(".result.json")),
        "columns": {name: own for name, own in site.columns.items() if name in known},
    }
    return site.model_copy(update=changes)


def _is_own(site: SiteFile, study: StudyFile) -> bool:
    own = site.at(site.study)
    return own.is_file() and read_study(own).digest == study.digest


def _place(site: SiteFile, digest: str) -> Path:
    # Whoever asks chooses the digest, and must not choose a path with it.
    name = digest if digest.isalnum() else "none"
    return site.folder / STUDIES / f"{name}.toml"
