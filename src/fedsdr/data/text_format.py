"""How a text file is written, as somebody declares it."""

import codecs
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

from fedsdr.exceptions import InputError

#: Separators of thousands that are understood; a blank stands for narrow ones as well.
THOUSANDS = ("", ",", ".", "'", " ")


@dataclass(frozen=True, slots=True)
class TextFormat:
    """How a text file is written. Nothing here is guessed.

    Parameters
    ----------
    separator : str, default=""
        Between two fields; by the ending of the file's name if empty.
    encoding : str, default="utf-8"
        Encoding of the text. Files in another one are held in memory as UTF-8.
    decimal : {".", ","}, default="."
        Decimal sign of numbers.
    thousands : {"", ",", ".", "'", " "}, default=""
        Sign between groups of three digits.
    percent : bool, default=False
        Whether numbers may have a percent sign behind them, which is left out.
    na : tuple of str, default=()
        Entries that mean "missing", besides the usual ones.
    names : tuple of str, default=()
        Names of the columns, of a file without a line of names.
    skip : int, default=0
        Lines to leave out at the start.
    """

    separator: str = ""
    encoding: str = "utf-8"
    decimal: str = "."
    thousands: str = ""
    percent: bool = False
    na: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    skip: int = 0

    def __post_init__(self) -> None:
        if len(self.separator) > 1 or self.separator in ('"', "\n", "\r"):
            raise InputError("separator must be one sign, such as ';' or a tab")
        if self.decimal not in (".", ","):
            raise InputError("decimal must be '.' or ','")
        if self.thousands not in THOUSANDS or self.thousands == self.decimal:
            raise InputError(f"thousands must be one of {THOUSANDS}, not the decimal")
        try:
            codecs.lookup(self.encoding)
        except LookupError:
            known = "utf-8, latin-1, cp1252 or utf-16"
            raise InputError(f"encoding must be one such as {known}") from None
        if len(set(self.names)) < len(self.names) or "" in self.names:
            raise InputError("names must be different, and none of them empty")
        if self.skip < 0:
            raise InputError("skip must be a number of lines, from 0")

    @property
    def is_utf8(self) -> bool:
        """Whether the file can be read as it is."""
        return codecs.lookup(self.encoding).name == "utf-8"

    def table(self) -> dict[str, Any]:
        """Return the keys that differ from their defaults.

        Returns
        -------
        dict
            Plain values; `from_table` reads them.
        """
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        return {
            one.name: list(value) if isinstance(value, tuple) else value
            for one in fields(self)
            if (value := values[one.name]) != one.default
        }

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> Self:
        """Read keys of a site or schema file.

        Parameters
        ----------
        table : mapping of str
            Keys of this class; others are left out.

        Returns
        -------
        TextFormat
            An `InputError` names a wrong key.
        """
        given = {}
        for one in fields(cls):
            if one.name not in table:
                continue
            value = table[one.name]
            kind = type(one.default)
            if kind is tuple:
                value = tuple(value) if isinstance(value, list | tuple) else value
                fits = isinstance(value, tuple) and all(
                    isinstance(part, str) for part in value
                )
            else:
                fits = type(value) is kind
            if not fits:
                raise InputError(f"{one.name} of the data must be {_WORDS[kind]}")
            given[one.name] = value
        return cls(**given)


#: A file that is written in the usual way.
USUAL = TextFormat()

_WORDS = {
    str: "a text",
    bool: "true or false",
    int: "a whole number",
    tuple: "a list of texts",
}
