"""A finished study as a research object, and a statement for an ethics board."""

import hashlib
import json
import tomllib
import zipfile
from html.parser import HTMLParser
from pathlib import Path

import pytest
from tests.study.consortia import NAMES, Files, simulate_rows

from fedsdr.disclosure import RULES
from fedsdr.result import Result
from fedsdr.spoken import key_words
from fedsdr.study import outlook, read_study

rocrate = pytest.importorskip(
    "rocrate.rocrate", reason="the extra fedsdr[evidence] is not installed"
)

PARTS = {"study.toml", "result.json", "certificate.json", "ledgers.json"}
PARTS |= {"versions.json", "manifest.json", "statement.html"}


@pytest.fixture(name="finished", scope="module")
def finished_study(tmp_path_factory) -> Files:
    """Run a study whose result the coordinator has."""
    root = tmp_path_factory.mktemp("bundle") / "study"
    files = Files(root, simulate_rows(n_rows=60), model={"refit": "pooled"})
    state = files.coordinator / "federation" / "state"
    state.mkdir(parents=True)
    files.run().to_json(state / "result.json")
    return files


@pytest.fixture(name="exports")
def exported_ledgers(run, finished, tmp_path: Path) -> list[str]:
    """Export the ledgers of all sites."""
    words = []
    for name in NAMES:
        out = tmp_path / f"{name}.jsonl"
        ledger = ("ledger", "export", finished.site_file(name), "--out", out)
        assert run("site", *ledger).exit_code == 0
        words += ["--ledger", str(out)]
    return words


def test_everything_is_in_the_bundle(run, finished, exports, tmp_path) -> None:
    outcome = run("study", "bundle", finished.study_file, *exports)
    assert outcome.exit_code == 0, outcome.output
    with zipfile.ZipFile(tmp_path / "study-bundle.zip") as archive:
        texts = {name: archive.read(name) for name in archive.namelist()}
    assert set(texts) >= PARTS | {"ro-crate-metadata.json"}
    study = read_study(finished.study_file)
    manifest = json.loads(texts["manifest.json"])
    assert manifest["study"] == study.digest
    assert set(manifest["sha256"]) == PARTS - {"manifest.json"}
    for name, digest in manifest["sha256"].items():
        assert hashlib.sha256(texts[name]).hexdigest() == digest
    assert tomllib.loads(texts["study.toml"].decode())["name"] == "example"
    result = Result.from_json(texts["result.json"].decode())
    proof = json.loads(texts["certificate.json"])
    assert proof["dual_bound"] == result.dual_bound
    assert proof["relative_gap"] == result.gap
    heads = json.loads(texts["ledgers.json"])
    assert set(heads) == set(NAMES)
    for name in NAMES:
        status = finished.ledger(name).verify()
        assert heads[name]["head"] == status.head
        assert heads[name]["n_released"] == 1
        assert heads[name]["key"] == study.sites.roster[name]
    assert json.loads(texts["versions.json"])["here"]["fedsdr"]


def test_the_bundle_is_a_research_object(run, finished, exports, tmp_path) -> None:
    command = ("study", "bundle", finished.study_file, *exports)
    assert run(*command, "--licence", "CC-BY-4.0").exit_code == 0
    crate = rocrate.ROCrate(tmp_path / "study-bundle.zip")
    study = read_study(finished.study_file)
    assert crate.root_dataset["identifier"] == study.digest
    assert crate.description == study.purpose
    assert crate.license == "CC-BY-4.0"
    listed = {one.id for one in crate.data_entities}
    assert listed == PARTS
    action = crate.dereference("#run")
    assert action.type == "CreateAction"
    assert action["instrument"]["name"] == "fedsdr"
    assert {one["name"] for one in action["participant"]} == set(NAMES)
    assert [one.id for one in action["object"]] == ["study.toml"]


def test_no_value_and_no_key_is_in_it(run, finished, exports, tmp_path) -> None:
    assert run("study", "bundle", finished.study_file, *exports).exit_code == 0
    with zipfile.ZipFile(tmp_path / "study-bundle.zip") as archive:
        whole = b"".join(archive.read(name) for name in archive.namelist()).decode()
    for name in NAMES:
        secret = (finished.root / name / "identity.key").read_text().strip()
        assert secret not in whole
    assert str(tmp_path) not in whole
    assert not any(f"{value:.6f}" in whole for value in finished.rows["x0"])


def test_absent_ledgers_are_said(run, finished, exports) -> None:
    outcome = run("study", "bundle", finished.study_file, *exports[:4])
    assert outcome.exit_code == 0
    assert "Without a ledger of south, west" in outcome.stdout


def test_what_does_not_belong_together_is_refused(
    run, finished, exports, tmp_path
) -> None:
    export = Path(exports[1])
    lines = export.read_text().splitlines(keepends=True)
    export.write_text("".join(lines[1:]))
    outcome = run("study", "bundle", finished.study_file, *exports)
    assert outcome.exit_code == 2
    assert "is not whole" in outcome.stderr
    export.write_text("".join(lines))
    outcome = run("study", "bundle", finished.study_file, *exports[:2], *exports[:2])
    assert "two exports" in outcome.stderr
    other = Files(tmp_path / "other", simulate_rows(n_rows=60))
    result = finished.coordinator / "federation" / "state" / "result.json"
    outcome = run("study", "bundle", other.study_file, "--result", result)
    assert outcome.exit_code == 2
    assert "digests differ" in outcome.stderr
    outcome = run("study", "bundle", other.study_file)
    assert "there is no result" in outcome.stderr
    assert not (tmp_path / "study-bundle.zip").exists()


# --- statement ------------------------------------------------------------------------


class Words(HTMLParser):
    """Collects text and tags of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.text, self.tags = "", set()

    def handle_starttag(self, tag, attrs) -> None:
        """Note a tag, and that nothing is loaded from elsewhere."""
        self.tags.add(tag)
        assert not {"src", "href", "onclick"} & {name for name, _ in attrs}

    def handle_data(self, data) -> None:
        """Collect text."""
        self.text += data


@pytest.mark.parametrize("ending", ["html", "md"])
@pytest.mark.parametrize("refit", ["pooled", True])
def test_a_statement_says_all_of_it(run, tmp_path, ending, refit) -> None:
    rows = simulate_rows(n_rows=60)
    purpose = "Is <b>it</b> | so?"
    files = Files(tmp_path / "f", rows, purpose=purpose, model={"refit": refit})
    name = f"statement.{ending}"
    outcome = run("study", "check", files.study_file, "--statement", name)
    assert outcome.exit_code == 0, outcome.output
    text = (tmp_path / name).read_text()
    if ending == "html":
        page = Words()
        page.feed(text)
        assert "b" not in page.tags
        assert "script" not in page.tags
        text = page.text
    study = read_study(files.study_file)
    for site, key in study.sites.roster.items():
        assert site in text
        assert key_words(key) in text
    assert study.digest in text
    for line in (*outlook.seen_by_coordinator(study), *outlook.seen_by_sites(study)):
        assert line in text
    for code, words in RULES.items():
        assert code in text
        assert words in text
    assert all(one.field in text for one in outlook.leaves_site(study))
    # Four sites of which three must stay: one may work with the coordinator.
    assert "together with 1 of the sites" in text
    assert ("covariances of single sites follow" in text) == (refit is True)
    assert "min_rows = 50" in text


def test_a_statement_needs_a_new_file_of_a_known_kind(run, finished, tmp_path) -> None:
    file = finished.study_file
    outcome = run("study", "check", file, "--statement", "statement.pdf")
    assert outcome.exit_code == 2
    assert ".html or .md" in outcome.stderr
    (tmp_path / "s.md").write_text("mine")
    assert run("study", "check", file, "--statement", "s.md").exit_code == 2
    assert (tmp_path / "s.md").read_text() == "mine"
