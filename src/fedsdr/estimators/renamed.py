"""Former names of attributes, which work for one more release."""

from typing import Any

from fedsdr.exceptions import warn_user


def renamed_attribute(old: str, new: str) -> property:
    """Make a property that reads an attribute by its former name, and warns.

    Parameters
    ----------
    old, new : str
        The former name and the name now.

    Returns
    -------
    property
        To be assigned to `old` in the body of the class.
    """

    def read(self: Any) -> Any:
        value = getattr(self, new)
        warn_user(
            f"{old} is called {new} now; the former name goes in the next release",
            FutureWarning,
        )
        return value

    return property(read, doc=f"Former name of `{new}`.")
