"""How results came about: command, commit, versions."""

import json
import os
import platform
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from reproduction.experiment import FIRST_SEED, Experiment
from reproduction.files import locked, write_atomically

#: Rooms that decide about a result.
ROOMS = (
    *("datasets", "decomposition", "downstream", "estimators", "protocols"),
    *("selection", "simulate", "solver", "summaries", "metrics.py"),
    *("reproduction/fits.py", "reproduction/methods.py"),
)
PACKAGES = ("fedsdr", "numpy", "scipy", "scikit-learn", "pandas", "joblib")
PACKAGE = Path(__file__).parents[1]


def source_commit() -> str:
    """Name the state of the code that computes.

    Returns
    -------
    str
        Last commit that changed it, with "-changed" if files differ from it; the
        version of the package where there is no repository.
    """
    commit = _git("log", "-1", "--format=%h", "--", *ROOMS)
    if not commit:
        return f"v{version('fedsdr')}"
    return commit + ("-changed" if _git("status", "--porcelain", "--", *ROOMS) else "")


def record_session(
    path: Path, experiment: Experiment, session: Mapping[str, Any]
) -> None:
    """Add to the configuration of an experiment how it is being run.

    Parameters
    ----------
    path : Path
        The JSON file; it need not exist.
    experiment : Experiment
        Described anew.
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
            ["git", *words], cwd=PACKAGE, capture_output=True, text=True, check=False
        )
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
