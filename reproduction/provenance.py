"""How results were made: command, commit, versions."""

import json
import os
import platform
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import fedsdr
from fedsdr.files import locked, write_atomically
from reproduction.experiment import FIRST_SEED, Experiment

#: Root of the clone.
ROOT = Path(__file__).parents[1]

#: The code that computes results: all of the package but what only shows or carries
#: them, and the part of this one that fits.
COMPUTES = (
    "src/fedsdr",
    *(f":!src/fedsdr/{room}" for room in ("cli", "reporting", "study", "transports")),
    *("reproduction/experiments", "reproduction/estimators.py", "reproduction/fits.py"),
)
PACKAGES = ("fedsdr", "numpy", "scipy", "scikit-learn", "pandas", "joblib")


def source_commit() -> str:
    """Name the state of the code that computes.

    Returns
    -------
    str
        Last commit that changed it, with "-changed" if files differ from it. The
        version of the package if there is no repository, or if the package that is
        imported is not the one in this clone.
    """
    imported = Path(fedsdr.__file__).is_relative_to(ROOT)
    commit = _git("log", "-1", "--format=%h", "--", *COMPUTES) if imported else ""
    if not commit:
        return f"v{version('fedsdr')}"
    changed = _git("status", "--porcelain", "--", *COMPUTES)
    return commit + ("-changed" if changed else "")


def record_session(
    path: Path, experiment: Experiment, session: Mapping[str, Any]
) -> None:
    """Add to the configuration of an experiment how it is being run.

    Parameters
    ----------
    path : Path
        JSON file; it need not exist.
    experiment : Experiment
        Its description in the file is replaced.
    session : mapping of str to object
        Command and options.
    """
    here = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": source_commit(),
        "python": platform.python_version(),
        "cpus": os.cpu_count(),
        "versions": {name: version(name) for name in PACKAGES},
    }
    with locked(path) as file:
        text = file.readall().decode()
        sessions = json.loads(text)["sessions"] if text else []
        config = _describe(experiment)
        config["sessions"] = [*sessions, {**session, **here}]
        write_atomically(path, json.dumps(config, indent=2) + "\n")


def _describe(experiment: Experiment) -> dict[str, Any]:
    return {
        "experiment": experiment.name,
        "title": experiment.title,
        "conditions": list(experiment.conditions),
        "settings": list(experiment.settings),
        "methods": dict(experiment.methods),
        "measures": list(experiment.measures),
        "seeds": "SHA-256 of experiment|condition|setting|run, the same for all "
        f"methods, from {FIRST_SEED} up; defaults were chosen on smaller ones",
    }


def _git(*words: str) -> str:
    try:
        done = subprocess.run(
            ["git", *words], cwd=ROOT, capture_output=True, text=True, check=False
        )
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
