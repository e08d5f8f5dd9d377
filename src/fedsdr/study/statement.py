"""A statement about a study for print: what leaves, who sees it, who agreed."""

import html
from dataclasses import dataclass, fields
from pathlib import Path

from fedsdr.disclosure import RULES, Policy
from fedsdr.exceptions import InputError
from fedsdr.spoken import in_words, key_words, one_line
from fedsdr.study import outlook
from fedsdr.study.log_bundle import versions
from fedsdr.study.study_file import StudyFile

#: Endings of files that a statement can be written to.
ENDINGS = (".html", ".md")


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a statement.

    Parameters
    ----------
    title : str
        Heading.
    lines : tuple of str, default=()
        Sentences, one item of a list each.
    head : tuple of str, default=()
        Headings of a table's columns.
    rows : tuple of tuple of str, default=()
        Rows of the table.
    """

    title: str
    lines: tuple[str, ...] = ()
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


def write_statement(study: StudyFile, path: Path) -> str:
    """Write a statement in the format that the name of a file asks for.

    Parameters
    ----------
    study : StudyFile
        Study file.
    path : Path
        File whose name ends in .html or .md; it is not written here.

    Returns
    -------
    str
        Text of the file.
    """
    if path.suffix.lower() not in ENDINGS:
        raise InputError(f"{path}: a statement is a file that ends in .html or .md")
    title, sections = f"Statement about the study {study.name}", describe_study(study)
    if path.suffix.lower() == ".md":
        return _markdown(title, sections)
    return _page(title, sections)


def describe_study(study: StudyFile) -> list[Section]:
    """Describe a study for those who have to decide on it.

    Parameters
    ----------
    study : StudyFile
        Study file.

    Returns
    -------
    list of Section
        All of it follows from the study file, so that every party writes the same.
    """
    return [
        _about(study),
        _leaving(study),
        Section(
            "What the coordinator can learn",
            tuple(outlook.seen_by_coordinator(study)),
        ),
        Section(
            "What every site can learn about the others",
            tuple(outlook.seen_by_sites(study)),
        ),
        _hidden(study),
        _limits(study),
        _rules(),
        _agreed(study),
    ]


def _about(study: StudyFile) -> Section:
    agreed = study.to_study()
    variables = {**study.columns, study.target.name: study.target}
    rows = tuple(
        (
            name,
            "response" if name == study.target.name else "covariate",
            one.type,
            one.unit,
            study.missing_in(name),
        )
        for name, one in variables.items()
    )
    lines = (
        f"Purpose: {one_line(study.purpose)}",
        (
            f"Sites: {', '.join(agreed.sites)}; at least {agreed.agreed_threshold} of "
            "them take part in every sum."
        ),
        f"Digest of everything that is agreed: {agreed.digest}",
        f"The digest in words: {in_words(agreed.digest)}",
    )
    head = ("column", "role", "type", "unit", "missing values")
    return Section("The study", lines, head, rows)


def _leaving(study: StudyFile) -> Section:
    leaving = outlook.leaves_site(study)
    rows = tuple(
        (one.statistic, one.field, one.kind, str(one.n_bytes), one.seen_by)
        for one in leaving
    )
    total = sum(one.n_bytes * one.times for one in leaving)
    terms = study.to_study().terms
    most, steps = terms.max_profiles, terms.max_steps
    more = f", with one of at most {most} sums called profile" if most else ""
    more += f", with {steps} sums called newton, the most there are" if steps else ""
    n_folds = terms.score_folds
    more += f", and those called fold for each of {n_folds} folds" if n_folds else ""
    lines = (
        (
            "Rows, and values of single persons, do not leave a site: no message has a "
            "field for them."
        ),
        (
            "Sums over a site's rows leave it covered by random numbers, and can be "
            "opened as a total of the sites only."
        ),
        (f"{total} bytes leave each site{more}. The table has every field."),
    )
    head = ("sum", "field", "type", "bytes", "read by")
    return Section("What leaves each site", lines, head, rows)


def _hidden(study: StudyFile) -> Section:
    agreed = study.to_study()
    tolerated = agreed.agreement().tolerated
    noise = (
        "That sums have noise, of which the study file states epsilon and delta, "
        "bounds what they show about any one row."
        if study.privacy is not None
        else ""
    )
    lines = (
        (
            "The sum of a single site cannot be opened by the coordinator, alone or "
            f"together with {tolerated} of the sites, save for what the next section "
            "says."
        ),
        "Why a site refuses is not told: others see one of a few fixed codes.",
        (
            "The coordinator cannot run programs at a site, read its files or logs, or "
            "change what was agreed."
        ),
        (
            "A total over fewer rows, over other sites, or over other rows than "
            "before, whose difference from an earlier total would show a site or a "
            "person, is refused by the rules below."
        ),
    )
    return Section("What cannot be learnt", (*lines, *([noise] if noise else [])))


def _limits(study: StudyFile) -> Section:
    lines = [
        (
            "A site that invents its numbers, within the agreed ranges, makes the "
            "result wrong without being noticed."
        ),
        (
            f"With {study.to_study().agreement().tolerated + 1} or more sites that "
            "work together with the coordinator, the sum of another site can be opened."
        ),
        (
            "The result itself is a statement about all rows together, and is shown to "
            "all sites."
        ),
    ]
    if study.to_study().terms.max_profiles:
        lines.append(
            "A coordinator that lies can choose the directions of the second stage so "
            "that covariances of single sites follow, though not of which site. Who "
            'cannot accept that agrees only to refit = "pooled".'
        )
    if study.to_study().terms.scored:
        lines.append(
            "Counts of values between two cuts, over all sites, may be those of a "
            "single row in the tail of a column."
        )
    if study.privacy is None:
        lines.append(
            "The sums are exact: there is no differential privacy, which the study "
            "could agree on with [privacy]."
        )
    return Section("What is not protected", tuple(lines))


def _rules() -> Section:
    usual = Policy()
    limits = ", ".join(
        f"{one.name} = {value}"
        for one in fields(Policy)
        if (value := getattr(usual, one.name)) is not None
    )
    lines = (
        (
            "Every site applies these rules by itself, before it computes anything, "
            "and records each release in a ledger that cannot be changed unnoticed."
        ),
        f"Usual limits, which a site may tighten or relax for itself: {limits}.",
    )
    rows = tuple((code, words) for code, words in RULES.items())
    return Section("Rules in force", lines, ("rule", "what it demands"), rows)


def _agreed(study: StudyFile) -> Section:
    lines = (
        (
            "A site that takes part has this study with this digest; its key signs "
            "every message. Each steward compares digest and keys, and signs here."
        ),
        (
            f"Written by fedsdr {versions().get('fedsdr', '')}, with fedsdr study "
            "check --statement; it follows from the study file alone."
        ),
    )
    head = ("site", "key in words", "steward", "date and signature")
    rows = tuple(
        (site, key_words(key), "", "")
        for site, key in sorted(study.sites.roster.items())
    )
    return Section("Who agrees", lines, head, rows)


def _markdown(title: str, sections: list[Section]) -> str:
    parts = [f"# {title}\n"]
    for one in sections:
        parts.append(f"## {one.title}\n")
        parts += [f"- {line}" for line in one.lines]
        if one.rows:
            table = [one.head, ("---",) * len(one.head), *one.rows]
            parts.append("")
            parts += [f"| {' | '.join(map(_cell, row))} |" for row in table]
        parts.append("")
    return "\n".join(parts)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


_STYLE = """\
body { font: 11pt/1.4 serif; max-width: 50em; margin: 2em auto; padding: 0 1em; }
table { border-collapse: collapse; width: 100%; font-size: 9pt; margin: 1em 0; }
td, th { border: 1px solid #888; padding: 3px 6px; text-align: left; }
h2 { page-break-after: avoid; } tr { page-break-inside: avoid; }
"""


def _page(title: str, sections: list[Section]) -> str:
    """Write one page without anything that is loaded from elsewhere."""
    body = [f"<h1>{html.escape(title)}</h1>"]
    for one in sections:
        body.append(f"<h2>{html.escape(one.title)}</h2>")
        items = "".join(f"<li>{html.escape(line)}</li>" for line in one.lines)
        body.append(f"<ul>{items}</ul>")
        if one.rows:
            head = "".join(f"<th>{html.escape(cell)}</th>" for cell in one.head)
            rows = "".join(
                "<tr>" + "".join(f"<td>{html.escape(c)}</td>" for c in row) + "</tr>\n"
                for row in one.rows
            )
            body.append(f"<table><tr>{head}</tr>\n{rows}</table>")
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f"<title>{html.escape(title)}</title>\n<style>\n{_STYLE}</style></head>\n"
        f"<body>\n{chr(10).join(body)}\n</body></html>\n"
    )
