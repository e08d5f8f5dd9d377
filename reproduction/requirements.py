"""Libraries that the experiments need and the installed package may lack."""

from fedsdr.extras import require

#: Name of the extra in pyproject.toml that brings them.
EXTRA = "reproduction"


def check_requirements() -> None:
    """Refuse to go on without the libraries that the experiments need.

    Without matplotlib the experiments run, and draw no pictures.

    Raises
    ------
    InputError
        A library is missing; the message names the extra that installs it.
    """
    require(EXTRA, "running the experiments")
