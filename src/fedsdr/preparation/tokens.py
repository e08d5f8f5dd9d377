"""Words, numbers and signs of an expression, each with its position."""

import re
from dataclasses import dataclass

from fedsdr.exceptions import InputError

#: Longest expression that is read.
MAX_LENGTH = 1000

#: Most words, numbers and signs of an expression, and so the greatest depth of a tree.
MAX_TOKENS = 200

_PATTERN = re.compile(
    r"""
    (?P<blank>\s+)
  | (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
  | (?P<text>"[^"]*"|'[^']*')
  | (?P<quoted>`[^`]+`)
  | (?P<word>[^\W\d][\w.]*)
  | (?P<sign><=|>=|!=|<>|==|\*\*|[-+*/^()<>=,])
    """,
    re.VERBOSE,
)

#: Different spellings of one sign.
_SAME = {"==": "=", "<>": "!=", "**": "^"}

#: Words of the language; a column of such a name is written in back quotes.
WORDS = ("and", "or", "not", "is", "missing")


@dataclass(frozen=True, slots=True)
class Token:
    """One word, number or sign.

    Parameters
    ----------
    kind : {"number", "text", "name", "word", "sign", "end"}
        What it is; "word" for the words of the language.
    text : str
        What it says, without quotes.
    position : int
        Place of its first character, from 1.
    """

    kind: str
    text: str
    position: int


def expression_error(text: str, position: int, problem: str) -> InputError:
    """Say what is wrong with an expression, and where.

    Parameters
    ----------
    text : str
        The expression.
    position : int
        Place of the mistake, from 1.
    problem : str
        What is wrong there.

    Returns
    -------
    InputError
        To be raised.
    """
    shown = text if len(text) <= 60 else f"{text[:57]}..."
    return InputError(f"'{shown}' at position {position}: {problem}")


def split_tokens(text: str) -> list[Token]:
    """Split an expression.

    Parameters
    ----------
    text : str
        The expression, of at most `MAX_LENGTH` characters.

    Returns
    -------
    list of Token
        The last one is of the kind "end".
    """
    if len(text) > MAX_LENGTH:
        raise expression_error(
            text, MAX_LENGTH, f"an expression has at most {MAX_LENGTH} characters"
        )
    tokens, start = [], 0
    while start < len(text):
        match = _PATTERN.match(text, start)
        if match is None:
            raise expression_error(text, start + 1, _strange(text[start]))
        token = _read(str(match.lastgroup), match.group(), start + 1)
        tokens += [token] if token else []
        start = match.end()
    if len(tokens) > MAX_TOKENS:
        position = tokens[MAX_TOKENS].position
        problem = f"an expression has at most {MAX_TOKENS} words, numbers and signs"
        raise expression_error(text, position, problem)
    return [*tokens, Token("end", "", len(text) + 1)]


def _read(kind: str, text: str, position: int) -> Token | None:
    if kind == "blank":
        return None
    if kind in ("text", "quoted"):
        kind = "name" if kind == "quoted" else kind
        return Token(kind, text[1:-1], position)
    if kind == "word":
        known = text.lower() in WORDS
        return (
            Token("word", text.lower(), position)
            if known
            else Token("name", text, position)
        )
    return Token(kind, _SAME.get(text, text), position)


def _strange(character: str) -> str:
    if character in "\"'`":
        return "this quote is never closed"
    return (
        f"'{character}' has no meaning here; a column whose name has blanks or signs "
        "is written in back quotes: `my column`"
    )
