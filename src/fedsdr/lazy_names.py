"""Names of a package that are imported when they are used."""

from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from typing import Any


def import_lazily(
    package: str, homes: Mapping[str, str], rooms: Collection[str] = ()
) -> Callable[[str], Any]:
    """Make the ``__getattr__`` of a package.

    Every process of a study imports fedsdr, and scikit-learn, which estimators need,
    takes longer to import than all the rest of it together.

    Parameters
    ----------
    package : str
        Name of the package.
    homes : mapping of str to str
        Module that defines each public name.
    rooms : collection of str, default=()
        Submodules that are attributes of the package, too.

    Returns
    -------
    callable
        Function that returns the object of a given name.
    """

    def load(name: str) -> Any:
        if name in rooms:
            return import_module(f"{package}.{name}")
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(homes[name]), name)

    return load
