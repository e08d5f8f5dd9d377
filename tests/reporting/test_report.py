import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from fedsdr import FedSSIR
from fedsdr.certainty import Certainty
from fedsdr.html_text import Html, join, tag, write_table
from fedsdr.reporting import make_report, write_report
from fedsdr.reporting.binned_display import share_of
from fedsdr.reporting.checks_said import read_checks
from fedsdr.reporting.report_facts import data_section
from fedsdr.reporting.report_findings import in_short
from fedsdr.result import Result
from fedsdr.summaries.safe_bins import bin_rows

VOID = {"meta", "br", "hr", "img", "path", "use", "rect", "circle", "line"}
HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'; drop table -- & <b>",
    "</svg></title></style><iframe>",
)


class Page(HTMLParser):
    """Elements of a page; fails where they are not nested."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, name, attributes) -> None:
        """Note an element that begins."""
        self.elements.append((name, dict(attributes)))
        if name not in VOID:
            self.open.append(name)

    def handle_startendtag(self, name, attributes) -> None:
        """Note an element without content."""
        self.elements.append((name, dict(attributes)))

    def handle_endtag(self, name) -> None:
        """Close an element."""
        if name not in VOID:
            assert self.open.pop() == name

    def handle_data(self, data) -> None:
        """Note text."""
        self.text += data

    def named(self, name: str) -> list[dict[str, str | None]]:
        """Return the attributes of all elements of one name."""
        return [attributes for found, attributes in self.elements if found == name]


@pytest.fixture(scope="session", name="result")
def binned_result(rows, model) -> Result:
    X, y, sites = rows
    found = model.result_
    bins = bin_rows(found.place(X), y, sites, classes=False)
    settings = {**found.settings, "curves": [one.table() for one in bins]}
    return replace(found, settings=settings)


def test_every_section_and_finding_is_on_the_page(result) -> None:
    page = Page(make_report(result))
    assert [one["id"] for one in page.named("h2")] == [
        "short", "found", "sure", "data", "assumed", "left", "made",
    ]  # fmt: skip
    for j in np.flatnonzero(result.support):
        assert result.feature_names[j] in page.text
        assert f"{result.loadings[j, 0]:.2f}" in page.text
    for said in (
        f"{result.n_rows} rows",
        result.provenance["fedsdr"],
        "Cui, W.",
        f"{result.gap:.1e}",
        "nothing was sent",
    ):
        assert said in page.text


def test_what_tests_do_not_confirm_is_said_at_the_top(result) -> None:
    names = result.selected
    assert "confirm" not in in_short(result)
    n = len(result.feature_names)
    tests = Certainty(np.zeros(n), np.zeros(n), np.ones(n))
    sure = replace(result, certainty=tests)
    sentence = f"confirm {len(names)} of {len(names)} variables (q-value up to 0.1)."
    assert sentence in in_short(sure)
    q = np.zeros(n)
    q[result.feature_names.index(names[0])] = 0.5
    doubtful = replace(result, certainty=replace(tests, q_values=q))
    assert f"not confirmed: {names[0]}." in in_short(doubtful)


def test_plain_numbers_are_not_listed_one_by_one(result) -> None:
    columns = {"age": {"type": "number"}, "sex": {"type": "category"}, "bmi": {}}
    kept = {**result.settings, "preparation": {"columns": columns}}
    page = data_section(replace(result, settings=kept))
    assert page.count("<tr>") == 1 + 4 + 1 + 1
    assert "The other columns are numbers and were taken as they are: age, bmi." in page
    del columns["sex"]
    assert "All columns are numbers" in data_section(replace(result, settings=kept))


def test_the_share_of_a_comparison_is_named_in_words() -> None:
    assert share_of("num > 0", ("0", "1")) == "share with num > 0"
    assert share_of("disease", ("0", "1")) == "share of disease = 1"
    assert share_of("disease", ("no", "yes")) == "share of disease = yes"


def test_a_screen_reader_finds_its_way(result) -> None:
    page = Page(make_report(result))
    assert page.named("html")[0]["lang"] == "en"
    for landmark in ("header", "nav", "main", "footer", "h1"):
        assert len(page.named(landmark)) == 1
    pictures = page.named("svg")
    # Loadings and curves of two directions, eigenvalues, evidence.
    assert len(pictures) == 6
    assert all(one["role"] == "img" and one["aria-label"] for one in pictures)
    assert all(one.get("scope") in ("col", "row") for one in page.named("th"))
    ids = [one["id"] for _, one in page.elements if "id" in one]
    assert len(ids) == len(set(ids))
    links = {one["href"] for one in page.named("a")}
    assert links <= {f"#{one}" for one in ids}


def test_the_page_is_complete_in_itself(result) -> None:
    text = make_report(result)
    page = Page(text)
    assert not page.named("script")
    assert "://" not in text
    assert "@import" not in text
    references = [
        one[key] for _, one in page.elements for key in ("src", "href") if key in one
    ]
    assert all(reference.startswith("#") for reference in references)
    assert all(url.startswith("#") for url in re.findall(r"url\(([^)]*)\)", text))


def test_equal_results_give_equal_pages(result) -> None:
    again = Result.from_json(result.to_json())
    assert make_report(again) == make_report(result)


def test_hostile_names_stay_text(rows, model) -> None:
    X, y, sites = rows
    names = dict(zip(np.array(list(X))[model.support_], HOSTILE, strict=False))
    fitted = FedSSIR(n_directions=2).fit(X.rename(columns=names), y, sites=sites)
    study = {"name": HOSTILE[0], "purpose": HOSTILE[1], "digest": HOSTILE[3]}
    settings = {
        **fitted.result_.settings,
        "study": study,
        "sites": list(HOSTILE),
        "preparation": {
            "target": {"name": HOSTILE[3]},
            "columns": {name: {"type": name, "unit": name} for name in HOSTILE},
        },
    }
    doubt = (("OddWarning", HOSTILE[0]),)
    result = replace(fitted.result_, settings=settings, warnings=doubt)
    text = make_report(result, title=None)
    page = Page(text)
    for name in ("script", "img", "iframe", "b"):
        assert not page.named(name)
    assert not any(key.startswith("on") for _, one in page.elements for key in one)
    assert HOSTILE[0] in page.text
    assert "<script" not in text
    assert "<script" not in make_report(result, title=HOSTILE[0])
    assert "<script" not in result._repr_html_()


def test_two_hundred_variables_stay_below_two_megabytes(rng) -> None:
    X = pd.DataFrame(
        rng.normal(size=(3000, 200)),
        columns=[f"laboratory value number {j} in mmol per litre" for j in range(200)],
    )
    y = X.to_numpy() @ rng.uniform(1.0, 2.0, size=200) + rng.normal(size=3000)
    result = FedSSIR(1, penalty=1e-4).fit(X, y).result_
    assert len(result.selected) == 200
    assert len(make_report(result).encode()) < 2_000_000


def test_noise_is_not_named(rng) -> None:
    X, y = rng.normal(size=(200, 5)), rng.normal(size=200)
    result = FedSSIR(min_directions=0).fit(X, y).result_
    page = Page(make_report(result))
    assert "o direction was found" in page.text
    assert not re.search(r"\bx[0-4]\b", page.text)
    assert "Selected variables" not in page.text


def test_warnings_of_the_fit_are_on_the_page(rng) -> None:
    X = np.exp(rng.normal(size=(600, 6)))
    y = X[:, 0] + 0.1 * rng.normal(size=600)
    with pytest.warns(UserWarning, match="docs/warnings.md") as given:
        result = FedSSIR().fit(X, y).result_
    assert result.warnings
    assert {text for _, text in result.warnings} == {str(one.message) for one in given}
    assert Result.from_json(result.to_json()).warnings == result.warnings
    page = Page(make_report(result))
    for _, text in result.warnings:
        assert text in page.text
    raised = [check for check in read_checks(result) if check.passed is False]
    assert f"{len(raised)} check" in page.text


def test_checks_that_were_not_made_are_not_said_to_be_passed(rng) -> None:
    X = rng.normal(size=(200, 4))
    result = FedSSIR(1, refit=False).fit(X, X[:, 0]).result_
    found = {check.assumption: check.passed for check in read_checks(result)}
    assert list(found.values()).count(None) == 5
    one_site = FedSSIR(1).fit(X, X[:, 0] + 0.1 * rng.normal(size=200)).result_
    found = {check.assumption: check.passed for check in read_checks(one_site)}
    assert list(found.values()).count(None) == 2


def test_a_result_without_proof_says_so(result) -> None:
    page = Page(make_report(replace(result, gap=None, dual_bound=None)))
    assert "without a proof" in page.text
    page = Page(make_report(replace(result, gap=0.5, converged=False)))
    assert "exceeds the tolerance" in page.text


def test_a_report_is_written_to_a_file(result, tmp_path) -> None:
    write_report(result, tmp_path / "page.html", "Of hearts & minds")
    page = Page((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert "Of hearts & minds" in page.text


def test_text_is_escaped_unless_it_is_html() -> None:
    assert tag("p", "<b>", Html("<i></i>")) == "<p>&lt;b&gt;<i></i></p>"
    assert tag("a", "x", href='"><b>') == '<a href="&quot;&gt;&lt;b&gt;">x</a>'
    assert tag("meta", charset="utf-8") == '<meta charset="utf-8">'
    assert join(["&", Html("&amp;")]) == "&amp;&amp;"
    table = write_table("<t>", ("<h>",), [("<r>",)])
    assert "<t>" not in table
    assert "<h>" not in table
    assert "<r>" not in table


def test_a_notebook_shows_results_and_estimators(result, model, rng) -> None:
    page = Page(result._repr_html_())
    assert result.selected[0] in page.text
    assert "certified" in page.text
    shown = model._repr_html_()
    assert result.selected[0] in shown
    assert "FedSSIR" in shown
    assert shown.endswith(model.result_._repr_html_())
    assert result.selected[0] in model._repr_mimebundle_()["text/html"]
    assert "FedSSIR" in FedSSIR()._repr_html_()
    weak = FedSSIR(min_directions=0).fit(
        rng.normal(size=(100, 3)), rng.normal(size=100)
    )
    assert "no direction was found" in weak.result_._repr_html_()


def test_a_study_says_its_purpose_its_sites_and_what_left_them(result) -> None:
    study = {"name": "hearts", "purpose": "To learn of hearts.", "digest": "ab" * 32}
    columns = {"age": {"type": "number", "unit": "years", "missing": "refuse"}}
    target = {"name": "grade", "type": "number"}
    settings = {
        **result.settings,
        "protocol": "secure",
        "study": study,
        "sites": ["north", "south"],
        "preprocessing": {"columns": columns, "target": target},
        "noise": {"epsilon": 1.0},
    }
    page = Page(make_report(replace(result, settings=settings)))
    for said in (
        "Study hearts",
        "To learn of hearts.",
        "north, south",
        "“grade”",
        "unit: years; missing: refuse",
        "under masks",
        "differential privacy): epsilon 1.0.",
        "ab" * 32,
    ):
        assert said in page.text
    assert "nothing was sent" not in page.text
