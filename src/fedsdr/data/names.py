"""Names of columns in messages, and whether they are there."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from fedsdr.exceptions import InputError

#: Columns that one message lists before it says how many more there are.
LISTED = 8


def require_column(name: str, role: str, names: Sequence[str]) -> None:
    """Refuse a column that is not there, and say which one may be meant.

    Parameters
    ----------
    name : str
        That is asked for.
    role : str
        What for, for the message: "target", "column".
    names : sequence of str
        That there are; "" for a column without a name.

    Raises
    ------
    InputError
        With the names that resemble it, or else those that there are.
    """
    if name in names and name:
        return
    lower = {known.lower(): known for known in names if known}
    close = [lower[match] for match in get_close_matches(name.lower(), lower)]
    if len(names) == 1 and any(mark in names[0] for mark in ";\t|"):
        hint = "the file has a single column: separate its fields by commas"
    elif close:
        hint = f"did you mean {' or '.join(repr(match) for match in close)}?"
    else:
        hint = f"the file has {enumerate_names(known for known in names if known)}"
    raise InputError(f"{role} '{name}' is not in the file; {hint}")


def enumerate_names(names: Iterable[str]) -> str:
    """List names in a sentence, a few at most.

    Parameters
    ----------
    names : iterable of str
        What to list.

    Returns
    -------
    str
        For example "a, b and 3 more".
    """
    listed = list(names)
    rest = len(listed) - LISTED
    text = ", ".join(listed[:LISTED])
    return f"{text} and {rest} more" if rest > 0 else text
