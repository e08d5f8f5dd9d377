"""A finished study as a research object: agreed, computed, proved and signed."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fedsdr.disclosure import LedgerError
from fedsdr.exceptions import InputError
from fedsdr.files import explained
from fedsdr.result import Result
from fedsdr.study.log_bundle import versions
from fedsdr.study.statement import write_statement
from fedsdr.study.stewardship import audit_export
from fedsdr.study.study_file import StudyFile, read_study

#: Profile of RO-Crate that says which program made what from what.
PROFILE = "https://w3id.org/ro/wfrun/process/0.5"

#: What each file of a bundle is, and its format.
FILES = {
    "study.toml": ("What was agreed, by all sites", "application/toml"),
    "result.json": ("Result", "application/json"),
    "certificate.json": ("Proof of the solution", "application/json"),
    "ledgers.json": ("Length and head of each site's ledger", "application/json"),
    "versions.json": ("Versions of the programs", "application/json"),
    "manifest.json": ("SHA-256 of every other file", "application/json"),
    "statement.html": ("What left each site, and who saw what", "text/html"),
}


@dataclass(frozen=True, slots=True)
class LedgerHead:
    """What a site states about its ledger, verified.

    Parameters
    ----------
    site : str
        Name of the site.
    n_entries : int
        Number of entries in the ledger.
    n_released : int
        Sums of this study that the site has released.
    head : str
        Hash of the last entry.
    key : str
        Public identity that signed it, which the study has for the site.
    time : str
        When the site stated it.
    """

    site: str
    n_entries: int
    n_released: int
    head: str
    key: str
    time: str


def read_heads(study: StudyFile, exports: Sequence[Path]) -> list[LedgerHead]:
    """Verify exported ledgers, and take their heads.

    Parameters
    ----------
    study : StudyFile
        Study file, which has the keys of the sites.
    exports : sequence of Path
        Files of ``fedsdr site ledger export``.

    Returns
    -------
    list of LedgerHead
        Sorted by site. An `InputError` if an export is not whole, or not of a site of
        the study.
    """
    found: dict[str, LedgerHead] = {}
    for path in exports:
        try:
            said, entries = audit_export(path)
        except LedgerError as error:
            raise InputError(f"{path} is not whole: {error}") from error
        site, key = str(said["site"]), str(said["key"])
        if study.sites.roster.get(site) != key:
            raise InputError(
                f"{path} is signed with a key that the study does not have for "
                f"'{site}': ask its steward"
            )
        if site in found:
            raise InputError(f"two exports are of '{site}': give one of each site")
        own = [o for o in entries if (o.stage, o.study) == ("released", study.digest)]
        found[site] = LedgerHead(
            site,
            len(entries),
            len(own),
            str(said["head"]),
            key,
            str(said["time"]),
        )
    return [found[site] for site in sorted(found)]


def describe_certificate(result: Result) -> dict[str, Any]:
    """Describe the proof that the solution is one.

    Parameters
    ----------
    result : Result
        Result of the study.

    Returns
    -------
    dict
        Objective, bound and gap of the convex problem that selects variables.
    """
    return {
        "objective": result.objective,
        "dual_bound": result.dual_bound,
        "relative_gap": result.gap,
        "converged": result.converged,
        "selected": list(result.selected),
        "n_rows": result.n_rows,
        "sites": result.settings.get("sites", []),
        "meaning": "No solution of the convex problem is better than the dual bound; "
        "the gap says how far this one can be from the best.",
    }


def write_bundle(
    study_file: Path,
    result_file: Path,
    exports: Sequence[Path],
    target: Path,
    licence: str = "",
) -> list[LedgerHead]:
    """Write a finished study as an RO-Crate in one zip file.

    Parameters
    ----------
    study_file : Path
        Study file.
    result_file : Path
        Result of this study.
    exports : sequence of Path
        Exported ledgers of sites, any number of them.
    target : Path
        Zip file, which must not exist.
    licence : str, default=""
        Under which the bundle may be used; if empty, it says that nobody has decided.

    Returns
    -------
    list of LedgerHead
        Of the ledgers that are in it.
    """
    if target.exists():
        raise InputError(f"{target} exists: name another file with --out")
    study = read_study(study_file)
    result = Result.from_json(result_file)
    known = result.settings.get("study", {}).get("digest")
    if known != study.digest:
        raise InputError(
            f"{result_file} is not the result of the study in {study_file}: their "
            "digests differ"
        )
    heads = read_heads(study, exports)
    contents = {
        "study.toml": study_file.read_text(encoding="utf-8"),
        "result.json": result_file.read_text(encoding="utf-8"),
        "certificate.json": _json(describe_certificate(result)),
        "ledgers.json": _json({one.site: _plain(one) for one in heads}),
        "versions.json": _json({"here": versions(), "result": result.provenance}),
        "statement.html": write_statement(study, Path("statement.html")),
    }
    contents["manifest.json"] = _json(
        {"study": study.digest, "sha256": {n: _sha(t) for n, t in contents.items()}}
    )
    with TemporaryDirectory() as scratch, explained(f"{target} cannot be written"):
        crate = _make_crate(study, result, licence)
        for name, text in contents.items():
            (Path(scratch) / name).write_text(text, encoding="utf-8")
            words, kind = FILES[name]
            about = {"name": words, "encodingFormat": kind, "sha256": _sha(text)}
            crate.add_file(Path(scratch) / name, properties=about)
        _describe_run(crate, study, result)
        crate.write_zip(target)
    return heads


def _make_crate(study: StudyFile, result: Result, licence: str) -> Any:
    from rocrate.rocrate import ROCrate

    crate = ROCrate()
    crate.name = f"Federated study {study.name}"
    crate.description = study.purpose
    crate.license = licence or "Nobody has decided yet: ask the sites of the study."
    crate.root_dataset["identifier"] = study.digest
    crate.root_dataset["size"] = f"{result.n_rows} rows in {result.n_sites} sites"
    crate.root_dataset["conformsTo"] = {"@id": PROFILE}
    return crate


def _describe_run(crate: Any, study: StudyFile, result: Result) -> None:
    """Say which program made the result from what, and whose rows it is about."""
    from rocrate.model.contextentity import ContextEntity

    def add(place: str, kind: str, **about: Any) -> Any:
        properties = {"@type": kind, **about}
        return crate.add(ContextEntity(crate, place, properties=properties))

    add(PROFILE, "CreativeWork", name="Process Run Crate", version="0.5")
    version = str(result.provenance.get("fedsdr", versions().get("fedsdr", "")))
    program = add("#fedsdr", "SoftwareApplication", name="fedsdr", version=version)
    sites = [
        add(f"#site-{name}", "Organization", name=name, identifier=key)
        for name, key in sorted(study.sites.roster.items())
    ]
    action = add(
        "#run",
        "CreateAction",
        name=f"The study {study.name}, computed from sums over sites",
        actionStatus="http://schema.org/CompletedActionStatus",
    )
    action["instrument"] = program
    action["participant"] = sites
    action["object"] = [crate.dereference("study.toml")]
    action["result"] = [
        crate.dereference(name) for name in ("result.json", "certificate.json")
    ]
    crate.root_dataset["mentions"] = [action]


def _plain(head: LedgerHead) -> dict[str, Any]:
    return {name: getattr(head, name) for name in LedgerHead.__slots__}


def _json(table: Any) -> str:
    return json.dumps(table, indent=2, ensure_ascii=False) + "\n"


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
