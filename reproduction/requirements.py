"""Libraries that the experiments need and the installed package may lack."""

from importlib.util import find_spec

from fedsdr.exceptions import InputError

#: Name of the extra in pyproject.toml that brings them.
EXTRA = "reproduction"

#: Libraries without which nothing works. Without matplotlib there are no pictures.
NEEDED = ("joblib", "pyarrow")


def check_requirements() -> None:
    """Refuse to go on without the libraries that the experiments need.

    Raises
    ------
    InputError
        A library is missing; the message names it and the extra that installs it.
    """
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise InputError(
            f"the experiments need {' and '.join(missing)}: install fedsdr[{EXTRA}]"
        )
