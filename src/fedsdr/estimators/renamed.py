"""Former names of attributes, which work until the next release."""

from typing import Any

from fedsdr.exceptions import warn_user


def renamed_attribute(old: str, new: str) -> property:
    """Make a property that reads an attribute by its former name, and warns.

    Parameters
    ----------
    old, new : str
        Former and present name.

    Returns
    -------
    property
        Property to assign to `old` in the body of the class.
    """

    def read(self: Any) -> Any:
        value = getattr(self, new)
        warn_user(
            f"{old} is called {new} now; the next release removes the former name",
            FutureWarning,
        )
        return value

    return property(read, doc=f"Former name of `{new}`.")
