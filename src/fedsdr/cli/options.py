"""Read options that are parameters of a method, or lists of names."""

import csv
from typing import Any

import typer


def read_method(given: dict[str, Any]) -> dict[str, Any]:
    """Read the parameters of a method in the notation of study files.

    Parameters
    ----------
    given : dict of str to object
        Value of each parameter by its name; text where the command line has text.

    Returns
    -------
    dict of str to object
        Arguments of `fedsdr.method.Method`. The error about a wrong value names its
        option and the choices.
    """
    from fedsdr.exceptions import InputError
    from fedsdr.method import read_parameter

    words = {"true": True, "false": False}
    found = {}
    for name, value in given.items():
        plain = value
        if name == "refit":
            plain = words.get(value.lower(), value)
            plain = _number(plain) if isinstance(plain, str) else plain
        try:
            found[name] = read_parameter(name, plain)
        except InputError as error:
            option = "--" + name.replace("_", "-")
            text = str(error)
            text = text if text.endswith("?") else f"{text}."
            raise typer.BadParameter(text, param_hint=option) from error
    return found


def split_names(given: list[str] | None) -> list[str] | None:
    """Split lists of names at commas; names with commas are written in quotes."""
    if given is None:
        return None
    lists = csv.reader(given, skipinitialspace=True)
    return [name.strip() for names in lists for name in names if name.strip()]


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text
