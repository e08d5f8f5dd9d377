"""Acts of a steward, by the commands: partners, ledger, export."""

import json
from pathlib import Path

import pytest
from tests.study.consortia import NAMES, Files, simulate_rows
from typer.testing import CliRunner, Result

from fedsdr.cli import app
from fedsdr.disclosure import Ledger, PeerBook, Policy
from fedsdr.exceptions import InputError
from fedsdr.secure_sum import Identity
from fedsdr.spoken import key_words
from fedsdr.study import read_site
from fedsdr.study.stewardship import begin_ledger


def run(*words: object) -> Result:
    return CliRunner(env={"COLUMNS": "120"}).invoke(app, [str(word) for word in words])


@pytest.fixture
def files(tmp_path: Path) -> Files:
    model = {"refit": "pooled"}
    return Files(tmp_path / "study", simulate_rows(), model=model)


def renew(files: Files, name: str) -> str:
    """Give a site a new identity, in the study of all parties."""
    key = files.root / name / "identity.key"
    key.unlink()
    identity = Identity.generate()
    identity.save(key)
    roster = {**files.study["sites"]["roster"], name: identity.public.hex()}
    files.write_study(sites={"roster": roster})
    return identity.public.hex()


def test_partners_are_listed_with_their_keys_in_words(files: Files) -> None:
    file = files.site_file("north")
    (files.root / "north" / "peers.json").unlink()
    done = run("site", "peers", "list", file)
    assert done.exit_code == 0
    said = " ".join(done.stdout.split())
    for name, key in files.study["sites"]["roster"].items():
        assert key_words(key) in said, name
    assert "fedsdr site peers accept" in said
    done = run("site", "peers", "accept", file)
    assert done.exit_code == 0
    assert done.stdout.count(" . ") == len(NAMES) - 1
    found = json.loads(run("site", "peers", "list", file, "--json").stdout)
    assert [one["name"] for one in found] == ["east", "south", "west"]
    assert {one["standing"] for one in found} == {"accepted"}
    assert "had been accepted" in run("site", "peers", "accept", file).stdout


def test_a_new_key_has_to_be_named(files: Files) -> None:
    renew(files, "west")
    file = files.site_file("north")
    done = run("site", "check", file)
    assert done.exit_code == 1
    assert "another key than the one that was" in " ".join(done.stdout.split())
    done = run("site", "peers", "accept", file)
    assert done.exit_code == 2
    assert "ask the steward there why" in done.stderr
    assert run("site", "peers", "accept", file, "west").exit_code == 0
    assert run("site", "check", file).exit_code == 0
    # The key before is not trusted any longer.
    book = PeerBook.read(files.root / "north" / "peers.json")
    assert sorted(one.revoked for one in book.peers.values()) == [False] * 3 + [True]


def test_a_revoked_partner_is_refused(files: Files) -> None:
    file = files.site_file("north")
    assert run("site", "peers", "revoke", file, "west").exit_code == 0
    done = run("site", "check", file)
    assert done.exit_code == 1
    assert "a key that was revoked" in " ".join(done.stdout.split())
    assert run("site", "peers", "accept", file).exit_code == 2
    assert run("site", "peers", "revoke", file, "west").exit_code == 2
    assert run("site", "peers", "accept", file, "nobody").exit_code == 2
    assert run("site", "peers", "accept", file, "west").exit_code == 0
    assert run("site", "check", file).exit_code == 0


@pytest.mark.parametrize("content", ["", "[]", '{"format": "fedsdr-peers-1"}'])
def test_a_damaged_book_is_said(files: Files, content: str) -> None:
    (files.root / "north" / "peers.json").write_text(content)
    done = run("site", "peers", "list", files.site_file("north"))
    assert done.exit_code == 2
    assert "is damaged: restore it" in done.stderr


def test_the_policy_counts_known_partners() -> None:
    assert Policy().min_known_peers is None
    assert Policy.from_mapping({"min_known_peers": 2}).min_known_peers == 2
    for wrong in (0, -1, 1.5, True):
        with pytest.raises(InputError, match="min_known_peers"):
            Policy(min_known_peers=wrong)


def test_a_ledger_is_begun_by_the_steward(files: Files) -> None:
    file = files.site_file("north")
    done = run("site", "ledger", "init", file)
    assert done.exit_code == 2
    assert "exists already" in done.stderr
    for path in (files.root / "north").glob("ledger*"):
        path.unlink()
    done = run("site", "check", file)
    assert done.exit_code == 1
    assert "fedsdr site ledger init site.toml" in done.stderr
    assert run("site", "ledger", "show", file).exit_code == 2
    assert run("site", "ledger", "init", file).exit_code == 0
    assert run("site", "check", file).exit_code == 0
    assert "nothing has been released" in run("site", "ledger", "show", file).stdout


def test_a_new_identity_takes_the_ledger_over(files: Files) -> None:
    files.run()
    renew(files, "north")
    file = files.site_file("north")
    done = run("site", "ledger", "show", file)
    assert done.exit_code == 1
    assert "sealed with another key" in done.stderr
    assert "Took" in run("site", "ledger", "init", file).stdout
    assert "adopted" in run("site", "ledger", "show", file).stdout
    assert run("site", "ledger", "init", file).exit_code == 2


def test_an_export_is_verified_without_the_site(files: Files, tmp_path: Path) -> None:
    files.run()
    out = tmp_path / "north.jsonl"
    done = run("site", "ledger", "export", files.site_file("north"), "--out", out)
    assert done.exit_code == 0, done.output
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    entries = Ledger(files.root / "north" / "ledger").entries()
    assert lines[:-1] == [entry.to_mapping() for entry in entries]
    done = run("site", "ledger", "audit", out)
    assert done.exit_code == 0
    assert "whole, 2 entries, stated by north" in done.stdout
    assert key_words(files.study["sites"]["roster"]["north"]) in done.stdout
    text = out.read_text()
    for changed, problem in [
        (text.replace('"n_entries":2', '"n_entries":3'), "is not signed by the key"),
        (text[text.index("\n") + 1 :], "does not follow"),
        (text.splitlines(keepends=True)[0] + text.splitlines()[2], "does not describe"),
        (text.replace('"moments"', '"errors"', 1), "was changed"),
    ]:
        out.write_text(changed)
        done = run("site", "ledger", "audit", out)
        assert done.exit_code == 1, problem
        assert problem in done.stderr
    out.write_text("no export")
    assert run("site", "ledger", "audit", out).exit_code == 2


def test_an_empty_ledger_can_be_exported(files: Files, tmp_path: Path) -> None:
    out = tmp_path / "north.jsonl"
    file = files.site_file("north")
    assert run("site", "ledger", "export", file, "--out", out).exit_code == 0
    assert "whole, 0 entries" in run("site", "ledger", "audit", out).stdout


def test_a_broken_ledger_is_not_exported(files: Files, tmp_path: Path) -> None:
    files.run()
    path = files.root / "north" / "ledger"
    path.write_bytes(path.read_bytes().replace(b"moments", b"momentz", 1))
    for command in (["export", "--out", str(tmp_path / "out")], ["show"], ["init"]):
        done = run("site", "ledger", *command, files.site_file("north"))
        assert done.exit_code == 1
        assert "is broken: line 1" in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_ledger_is_a_file(files: Files) -> None:
    site = read_site(files.site_file("north"))
    (files.root / "north" / "ledger").unlink()
    (files.root / "north" / "ledger").mkdir()
    with pytest.raises(InputError, match="cannot be the ledger"):
        begin_ledger(site)
