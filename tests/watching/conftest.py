"""Running commands in this process."""

from tests.cli.conftest import run_command

__all__ = ["run_command"]
