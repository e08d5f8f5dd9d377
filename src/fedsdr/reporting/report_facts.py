"""Sections of a report about data, assumptions, what left the sites, and versions."""

from typing import Any

from fedsdr.html_text import Html, join, tag, write_table
from fedsdr.reporting.checks_said import NOT_MADE, read_checks
from fedsdr.result import Result

#: Parameters that are listed; others are in the file.
LISTED = (
    "estimator", "n_directions", "penalty", "kernel", "refit", "standardize", "scores",
    "response_type", "select", "protocol", "random_state",
)  # fmt: skip

#: A column that the table of columns does not list by itself: type and details.
PLAIN = ("number", "")

PAPER = (
    "Cui, W., Zhao, Y., Xu, J. and Cheng, H.: Federated Sufficient Dimension Reduction "
    "Through High-Dimensional Sparse Sliced Inverse Regression."
)


def data_section(result: Result) -> Html:
    """Describe rows, sites and columns.

    Parameters
    ----------
    result : Result
        Result.

    Returns
    -------
    Html
        Content of the section.
    """
    settings = result.settings
    sites = [str(name) for name in settings.get("sites", ())]
    named = f": {', '.join(sites)}" if sites else ""
    rows = [
        ("rows", str(result.n_rows)),
        ("sites", f"{result.n_sites}{named}"),
        ("variables", str(len(result.feature_names))),
        ("response taken for", _response(settings)),
    ]
    parts = [write_table("Data of this analysis", ("what", "value"), rows)]
    columns = _columns(settings)
    plain = [name for name, kind, details in columns if (kind, details) == PLAIN]
    special = [row for row in columns if row[1:] != PLAIN]
    if special:
        head = ("column", "taken for", "details")
        caption = "What each column was taken for"
        parts.append(write_table(caption, head, special, style="text"))
    if plain:
        which = "The other columns" if special else "All columns"
        told = f"{which} are numbers and were taken as they are: {_short(plain, 1000)}."
        parts.append(tag("p", told))
    missing = settings.get("preparation", {}).get("missing")
    if missing:
        words = {
            "mean": "filled with the mean of the column",
            "drop": "left out with their rows",
            "refuse": "refused: there were none",
        }
        parts.append(tag("p", f"Missing numbers were {words.get(missing, missing)}."))
    return join(parts)


def assumed_section(result: Result) -> Html:
    """List what the method assumes, and what the checks said.

    Parameters
    ----------
    result : Result
        Result.

    Returns
    -------
    Html
        Content of the section.
    """
    words = {
        True: tag("span", "no doubt", class_="good"),
        False: tag("span", "doubt", class_="bad"),
        None: Html(NOT_MADE),
    }
    rows = [
        (check.assumption, words[check.passed], check.said)
        for check in read_checks(result)
    ]
    note = (
        "A check that raises no doubt is no proof: small samples hide much. The result "
        "describes how variables and response go together; it does not say that a "
        "variable causes the response."
    )
    head = ("assumption", "check", "what it said")
    table = write_table("Assumptions and checks", head, rows, style="text")
    return join([table, tag("p", note)])


def left_section(result: Result) -> Html:
    """Say what left each site.

    Parameters
    ----------
    result : Result
        Result.

    Returns
    -------
    Html
        Content of the section.
    """
    settings = result.settings
    width = len(result.feature_names)
    if settings.get("protocol") == "secure":
        sent = (
            "Rows did not leave any site. Each site computed sums over its own rows "
            f"(of {width} columns: covariances, and how they move with the response), "
            "and sent them under masks that cancel only in the sum over all sites. "
            "The coordinator saw sums over all sites and this result; which sites took "
            "part; and a fixed code for each site that did not."
        )
        ledger = (
            "Every site of a study keeps a ledger of its releases, with the rules that "
            "allowed each; its steward reads it with fedsdr site ledger."
        )
        texts = [sent, ledger]
    else:
        alone = (
            "All rows were in the hands of one analyst, and nothing was sent. The "
            "analysis used sums of each site only, as a study between institutions "
            "would, in which rows stay where they are."
        )
        texts = [alone]
    noise = settings.get("noise")
    if noise:
        texts.append(
            "Sites added noise to their sums (differential privacy): "
            + ", ".join(f"{key} {_short(value)}" for key, value in noise.items())
            + "."
        )
    return join(tag("p", text) for text in texts)


def made_section(result: Result) -> Html:
    """List parameters, certificate and versions, and say how to cite.

    Parameters
    ----------
    result : Result
        Result.

    Returns
    -------
    Html
        Content of the section.
    """
    settings = [
        (name, _short(result.settings[name]))
        for name in LISTED
        if name in result.settings
    ]
    certificate = [
        ("penalty", f"{result.penalty:.6g}"),
        ("objective", f"{result.objective:.10g}"),
        ("dual bound", _number(result.dual_bound)),
        ("relative gap", _number(result.gap)),
        ("iterations", str(result.n_iter)),
    ]
    study = result.settings.get("study", {})
    versions = [(name, _short(value)) for name, value in result.provenance.items()]
    if study.get("digest"):
        versions.append(("digest of the study", str(study["digest"])))
    version = result.provenance.get("fedsdr", "")
    cite = (
        f"The fedsdr developers: fedsdr, federated sparse sufficient dimension "
        f"reduction, version {version}. The method: {PAPER}"
    )
    head = ("what", "value")
    return join(
        [
            write_table("Parameters", head, settings),
            write_table("Certificate", head, certificate),
            write_table("Software and time", head, versions),
            tag("h3", "How to cite"),
            tag("p", cite),
        ]
    )


def _columns(settings: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Describe columns as the file's schema, or the study, says."""
    known = settings.get("preparation") or settings.get("preprocessing") or {}
    columns = known.get("columns", {})
    return [
        (name, str(plan.get("type", "number")), _details(plan))
        for name, plan in columns.items()
        if isinstance(plan, dict)
    ]


def _details(plan: dict[str, Any]) -> str:
    told = [
        f"{key.replace('_', ' ')}: {_short(value)}"
        for key, value in plan.items()
        if key != "type" and value not in (None, "", [], False)
    ]
    return "; ".join(told)


def _response(settings: dict[str, Any]) -> str:
    if settings.get("response_type") == "classes":
        return "classes, each value by itself"
    return "numbers in their order"


def _short(value: Any, longest: int = 200) -> str:
    if isinstance(value, list | tuple):
        value = ", ".join(map(str, value))
    text = str(value)
    return text if len(text) <= longest else f"{text[:longest]}…"


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.10g}"
