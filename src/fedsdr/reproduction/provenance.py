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

from fedsdr.reproduction.experiment import FIRST_SEED, Experiment

#: Rooms that decide about a result.
ROOMS = (
    *("datasets", "decomposition", "downstream", "estimators", "protocols"),
    *("selection", "simulate", "solver", "summaries"),
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
    sessions = json.loads(path.read_text())["sessions"] if path.exists() else []
    here = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": source_commit(),
        "python": platform.python_version(),
        "cpus": os.cpu_count(),
        "versions": {name: version(name) for name in PACKAGES},
    }
    config = {
        "experiment": experiment.name,
        "title": experiment.title,
        "conditions": list(experiment.conditions),
        "settings": list(experiment.settings),
        "methods": dict(experiment.methods),
        "measures": list(experiment.measures),
        "seeds": "SHA-256 of experiment|condition|setting|run, the same for all "
        f"methods, from {FIRST_SEED} up; defaults were chosen on smaller ones",
        "sessions": [*sessions, {**session, **here}],
    }
    draft = path.with_name(f"{path.name}.new")
    draft.write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    draft.replace(path)


def _git(*words: str) -> str:
    try:
        done = subprocess.run(
            ["git", *words], cwd=PACKAGE, capture_output=True, text=True, check=False
        )
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
