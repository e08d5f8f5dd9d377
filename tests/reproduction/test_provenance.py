import subprocess
from pathlib import Path

import fedsdr
from reproduction import provenance
from reproduction.provenance import source_commit


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=nobody", "-c", "user.email=nobody@example.org")
    done = subprocess.run(
        ["git", *who, *words], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_the_commit_is_the_last_one_that_changed_what_computes(
    tmp_path, monkeypatch
) -> None:
    solver = tmp_path / "src" / "fedsdr" / "solver" / "problem.py"
    command = tmp_path / "src" / "fedsdr" / "cli" / "fit.py"
    fits = tmp_path / "reproduction" / "fits.py"
    for file in (solver, command, fits):
        file.parent.mkdir(parents=True)
        file.write_text("first\n")
    monkeypatch.setattr(provenance, "ROOT", tmp_path)
    monkeypatch.setattr(fedsdr, "__file__", str(solver.parents[1] / "__init__.py"))
    assert source_commit() == f"v{fedsdr.__version__}"

    git(tmp_path, "init")
    commits = []
    for file in (solver, command, fits):
        git(tmp_path, "add", str(file))
        git(tmp_path, "commit", "--message", "one file")
        commits.append(git(tmp_path, "log", "-1", "--format=%h"))
        if file == command:
            # The command line does not compute; fits.py is not there yet, for git.
            assert source_commit() == commits[0] + "-changed"
    assert source_commit() == commits[2]
    command.write_text("second\n")
    assert source_commit() == commits[2]
    solver.write_text("second\n")
    assert source_commit() == commits[2] + "-changed"


def test_another_package_than_that_of_the_clone_has_its_version(
    tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr(fedsdr, "__file__", str(tmp_path / "fedsdr" / "__init__.py"))
    assert source_commit() == f"v{fedsdr.__version__}"
