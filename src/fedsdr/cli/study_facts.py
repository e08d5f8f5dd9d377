"""What a study asks for, in words: for its coordinator and for stewards."""

from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from fedsdr.spoken import one_line

if TYPE_CHECKING:
    from fedsdr.study import StudyFile


def describe_study(study: "StudyFile", n_rows: int) -> dict[str, Any]:
    """Collect what is computed and which party sees what, as JSON can hold it."""
    from fedsdr.study import outlook
    from fedsdr.study.privacy_cost import describe_cost, study_cost

    agreed = study.to_study()
    leaving = outlook.leaves_site(study)
    kinds = [column.type for column in study.columns.values()]
    names = (*study.columns, study.target.name)
    private: dict[str, Any] = {}
    if study.privacy is not None:
        cost = study_cost(study, n_rows)
        private = {"privacy": {**study.content()["privacy"], **asdict(cost)}}
        private["privacy_costs"] = describe_cost(cost)
    return {
        "name": study.name,
        "purpose": study.purpose,
        "digest": agreed.digest,
        "columns": {kind: kinds.count(kind) for kind in ("number", "category")},
        "features": list(agreed.columns),
        "target": {"name": study.target.name, "type": study.target.type},
        "missing": {name: study.missing_in(name) for name in names},
        "protocol": study.protocol,
        "sites": list(agreed.sites),
        "minimum": agreed.agreed_threshold,
        "timeout": study.timeout,
        "model": study.content()["model"],
        "sums": outlook.statistics(study),
        "rounds": outlook.count_rounds(study),
        "max_profiles": agreed.terms.max_profiles,
        "max_steps": agreed.terms.max_steps,
        "folds": agreed.terms.score_folds,
        "bytes_from_each_site": sum(one.n_bytes * one.times for one in leaving),
        "coordinator_sees": outlook.seen_by_coordinator(study),
        "sites_see": outlook.seen_by_sites(study),
        **private,
    }


def _how_often(name: str, found: dict[str, Any]) -> str:
    kind, _, fold = name.partition("/")
    often = f", at most {found['max_steps']} times" if kind == "newton" else ""
    return often + (f", for each of {found['folds']} folds" if fold else "")


def study_facts(found: dict[str, Any]) -> list[tuple[str, str]]:
    """Return names and values of what `describe_study` found, line by line."""
    counts = found["columns"]
    sums = ", ".join(
        f"{name} ({n} numbers{_how_often(name, found)})"
        for name, n in found["sums"].items()
    )
    kinds = (
        f"{counts['number']} of numbers, {counts['category']} of categories; "
        f"{len(found['features'])} with indicators"
    )
    rules = Counter(found["missing"].values())
    # The directions decide how many there are.
    more = f" with one profile of at most {n}" if (n := found["max_profiles"]) else ""
    return [
        ("study", found["name"]),
        ("purpose", one_line(found["purpose"])),
        ("columns", kinds),
        ("target", f"{found['target']['name']} ({found['target']['type']})"),
        ("missing", ", ".join(f"{rule} in {n}" for rule, n in rules.items())),
        ("sites", f"{', '.join(found['sites'])}; {found['minimum']} must stay"),
        ("sums", sums),
        ("rounds", f"{found['rounds']}{more}"),
        ("bytes", f"{found['bytes_from_each_site']} from each site{more}"),
        *_listed("privacy costs", found.get("privacy_costs", [])),
        *_listed("coordinator sees", found["coordinator_sees"]),
        *_listed("each site sees", found["sites_see"]),
    ]


def _listed(title: str, lines: list[str]) -> list[tuple[str, str]]:
    return [("" if i else title, line) for i, line in enumerate(lines)]
