"""The documentation site: what its extensions promise, and examples without data."""

import importlib
import inspect
import runpy
from pathlib import Path
from types import ModuleType

import pytest
from tests.page_blocks import ROOT

import fedsdr

EXAMPLES = ("01_heart_disease", "02_credit_default", "03_communities", "04_genes")


@pytest.fixture(name="extension")
def find_extensions(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "_ext"))
    return importlib.import_module


def test_the_reference_has_every_public_name(extension) -> None:
    pages = extension("reference_pages").pages()
    for name in fedsdr.__all__:
        if inspect.ismodule(getattr(fedsdr, name)):
            room = importlib.import_module(f"fedsdr.{name}")
            for inner in room.__all__:
                if callable(getattr(room, inner)):
                    assert inner in pages[f"fedsdr.{name}"], inner
        elif name != "__version__":
            assert f"   {name}\n" in pages["fedsdr"], name
    assert "fedsdr site ledger show\n" in pages["commands"]
    assert "``--site-column``" in pages["commands"]


def test_formulas_are_converted_or_refused(extension) -> None:
    pytest.importorskip("latex2mathml")
    from sphinx.errors import ExtensionError

    to_mathml = extension("mathml").to_mathml
    half = to_mathml(r"\frac12 \hat T_i", block=False)
    assert "<mfrac><mn>1</mn><mn>2</mn></mfrac>" in half
    assert 'display="block"' in to_mathml("x", block=True)
    with pytest.raises(ExtensionError, match="cannot be shown"):
        to_mathml(r"\strange x", block=True)


def test_what_is_loaded_from_elsewhere_is_found(extension, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text('<a href="https://example.org">a link</a><img src="here.png">')
    assert extension("offline").foreign_parts(tmp_path) == []
    for part in (
        '<script async src="https://cdn.example.org/mathjax.js"></script>',
        '<link rel="stylesheet" href="//fonts.example.org/a.css">',
        '<img alt="" src="http://example.org/a.png">',
        "<style>@font-face { src: url(https://example.org/a.woff2) }</style>",
    ):
        page.write_text(part)
        assert len(extension("offline").foreign_parts(tmp_path)) == 1


def test_every_page_has_a_place(extension) -> None:
    tree = extension("page_tree")
    placed = tree.placed_pages() | set(tree.pages_under("docs/guide"))
    for page in (ROOT / "docs").glob("*.md"):
        assert f"docs/{page.stem}" in placed
    for name in placed:
        written = name.startswith(("docs/gallery", "docs/reference"))
        assert written or (ROOT / f"{name}.md").is_file(), name


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_run_where_there_are_no_data(name, monkeypatch, capsys) -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    monkeypatch.delenv("FEDSDR_DATA", raising=False)
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    with monkeypatch.context() as patch:
        patch.setattr(pyplot, "show", lambda: pyplot.close("all"))
        runpy.run_path(str(ROOT / "examples" / f"plot_{name}.py"))
    assert "FEDSDR_DATA is not set" in capsys.readouterr().out


def test_buttons_of_the_side_bar_have_names(extension) -> None:
    name = extension("spoken_names").name_toggles
    for link in (
        '<a class="reference internal" href="a.html">Sites &amp; <code>rows</code></a>',
        '<a aria-current="page" class="reference" href="#">Sites &amp; rows</a>',
    ):
        for start in ("<details>", '<details open="open">'):
            named = name(f"<li>{link}{start}<summary><span></span></summary>")
            assert '<summary aria-label="Pages under Sites &amp; rows">' in named
    # One that has a heading in it is read by that.
    own = "<details><summary><p>Rows</p></summary></details>"
    assert name(own) == own


def test_an_empty_corner_of_a_table_is_no_heading(extension) -> None:
    corner = '<th class="head text-right"><p></p></th>'
    context = {"body": f"<tr>{corner}<th>rows</th></tr>"}
    extension("spoken_names").add_names(None, "page", "page.html", context, None)
    assert context["body"] == '<tr><td class="head text-right"></td><th>rows</th></tr>'
