"""Read the TOML files that people write, and explain mistakes in them."""

import inspect
import tomllib
from collections.abc import Collection, Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from fedsdr.exceptions import InputError
from fedsdr.spoken import escaped

Model = TypeVar("Model", bound=BaseModel)

#: Explanations that replace those of pydantic where these assume knowledge of it.
_WORDS = {
    "missing": "is missing: add it",
    "string_type": "must be text, in quotes",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "bool_type": "must be true or false",
    "model_type": "must be a table",
    "dict_type": "must be a table",
    "tuple_type": "must be a list",
    "list_type": "must be a list",
}


class CheckError(InputError):
    """A file or the data of a site have one or several problems.

    Parameters
    ----------
    where : str
        Name of the file or data that was checked.
    problems : sequence of str
        Problems and their correction, one line each, without values of the data.

    Attributes
    ----------
    where : str
        Name of the file or data that was checked.
    problems : tuple of str
        Problems; at least one.
    """

    def __init__(self, where: str, problems: Sequence[str]) -> None:
        super().__init__(where, tuple(problems))
        self.where = where
        self.problems = tuple(problems)

    def __str__(self) -> str:
        return "\n".join(f"{self.where}: {problem}" for problem in self.problems)


def read_model(
    model: type[Model],
    path: Path,
    *,
    long_texts: Collection[str] | None = None,
    **given: Any,
) -> Model:
    """Read a TOML file into a model.

    Parameters
    ----------
    model : type
        A pydantic model.
    path : Path
        Path of the file.
    long_texts : collection of str or None, default=None
        Keys whose text may have several lines; None for all of them. Other characters
        that cannot be printed are refused everywhere: files come from other parties,
        and a terminal obeys such characters.
    **given : object
        Fields that do not come from the file.

    Returns
    -------
    BaseModel
        Validated model. A `CheckError` names every wrong key.
    """
    table = _read_toml(path)
    hidden = [
        f"{escaped(_key_text(place))}: has a character that cannot be printed, such as "
        "one that a terminal obeys: remove it, and ask whoever sent you the file why "
        "it is there"
        for place, text in _texts(table)
        if not _is_plain(
            text, long=long_texts is None or _key_text(place) in long_texts
        )
    ]
    if hidden:
        raise CheckError(str(path), hidden)
    known = sorted(set(_keys(model)) - set(given))
    for key in given:
        if key in table:
            raise CheckError(str(path), [f"{key}: is not a key that belongs here"])
    try:
        return model.model_validate({**table, **given})
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)
        problems = [_explain(dict(one), known) for one in found]
        raise CheckError(str(path), problems) from None


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CheckError(str(path), [f"cannot be read: {error.strerror}"]) from error
    except UnicodeDecodeError:
        raise CheckError(str(path), ["is not UTF-8 text: save it as UTF-8"]) from None
    except tomllib.TOMLDecodeError as error:
        raise CheckError(str(path), [f"is not valid TOML: {error}"]) from None


def _is_plain(text: str, *, long: bool) -> bool:
    # Not splitlines, which also takes other control characters for ends of lines.
    blanks = str.maketrans("\t\r\n", "   ")
    return (text.translate(blanks) if long else text).isprintable()


def _texts(
    value: Any, place: tuple[str | int, ...] = ()
) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Find all texts of a file, keys included, with their places."""
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield (*place, key), key
            yield from _texts(inner, (*place, key))
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from _texts(inner, (*place, i))


def _explain(error: dict[str, Any], known: Sequence[str]) -> str:
    """Describe in one line the mistake in one key, without showing its value."""
    *_, last = error["loc"] or ("",)
    if error["type"] == "extra_forbidden":
        close = get_close_matches(str(last), known, n=1)
        hint = f"did you mean '{close[0]}'?" if close else "remove it"
        words = f"is not a key that belongs here; {hint}"
    elif error["type"] == "value_error":
        words = str(error["ctx"]["error"])
    elif error["type"] == "literal_error":
        words = f"must be {error['ctx']['expected']}"
    else:
        plain = error["msg"].replace("Input should", "must")
        words = _WORDS.get(error["type"], plain)
    key = _key_text(error["loc"])
    return f"{key}: {words}" if key else words


def _key_text(location: tuple[str | int, ...]) -> str:
    """Write the location of a key in TOML notation."""
    text = ""
    for part in location:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            plain = part.replace("_", "").replace("-", "").isalnum() and part.isascii()
            text += f".{part}" if plain else f'."{part}"'
    return text.removeprefix(".")


def _keys(model: type[BaseModel]) -> Iterator[str]:
    for name, field in model.model_fields.items():
        yield name
        for inner in _models_in(field.annotation):
            yield from _keys(inner)


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if inspect.isclass(annotation) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models_in(inner)
