"""Install the built wheel and sdist into empty environments, and test each.

``make dist`` builds both and runs this. Every environment gets the package with its
core dependencies, pytest and hypothesis, and of the clone only a copy of the tests.
The checks are a fit in Python, a fit on the command line, and the tests that need
neither a clone nor an extra.
"""

import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]

#: Tests that need neither a clone nor an extra.
TESTS = (
    "tests/estimation",
    "tests/estimators/test_former_names.py",
    "tests/selection",
    "tests/simulate",
    "tests/summaries/test_kernels.py",
    "tests/summaries/test_prediction.py",
    "tests/summaries/test_slicing.py",
    "tests/summaries/test_streaming.py",
    "tests/summaries/test_summary.py",
    "tests/test_exceptions.py",
    "tests/test_files.py",
    "tests/test_method.py",
    "tests/test_metrics.py",
)

FIT = """
import numpy as np, pandas as pd
from fedsdr import FedSSIR
from fedsdr.simulate import make_setting
data = make_setting(1, n_features=30, random_state=0)
model = FedSSIR().fit(data.X, data.y, sites=data.sites)
assert model.support_.nonzero()[0].tolist() == [0, 1, 2], model.support_.nonzero()
frame = pd.DataFrame(data.X).add_prefix("x").assign(site=data.sites, y=data.y)
frame.to_csv("rows.csv", index=False)
"""


def main() -> None:
    """Test every artifact in ``dist``."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    found = sorted((ROOT / "dist").glob(f"fedsdr-{version}*"))
    kinds = {one.suffix for one in found}
    if kinds != {".whl", ".gz"}:
        sys.exit(f"dist holds {[one.name for one in found]}, not a wheel and an sdist")
    for artifact in found:
        start = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            _try(artifact, Path(folder))
        print(f"{artifact.name}: fits, and its tests pass ({_since(start)})")


def _try(artifact: Path, folder: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", folder / "env"], check=True)
    python = folder / "env" / "bin" / "python"
    constraints = ["--constraint", str(ROOT / "constraints.txt")]
    install = ["-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    wanted = [str(artifact), "pytest", "hypothesis"]
    _run(python, *install, *constraints, *wanted, cwd=folder)
    _run(python, "-c", FIT, cwd=folder)
    fedsdr = folder / "env" / "bin" / "fedsdr"
    columns = ["--target", "y", "--site-column", "site"]
    _run(fedsdr, "fit", "rows.csv", *columns, cwd=folder)
    for name in ("tests", "pyproject.toml"):
        source = ROOT / name
        copy = shutil.copytree if source.is_dir() else shutil.copy
        copy(source, folder / name)
    _run(python, "-m", "pytest", "-q", "-m", "not slow", *TESTS, cwd=folder)


def _run(*command: object, cwd: Path) -> None:
    subprocess.run([str(one) for one in command], cwd=cwd, check=True)


def _since(start: float) -> str:
    return f"{time.monotonic() - start:.0f} s"


if __name__ == "__main__":
    main()
