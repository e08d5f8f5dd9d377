"""`override`, which Python has from 3.12 on, for methods of a base class.

A method that is marked so does what the base class says, and has its docstring unless
there is more to say.
"""

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from typing_extensions import override
elif sys.version_info >= (3, 12):
    from typing import override
else:
    Function = TypeVar("Function", bound=Callable)

    def override(method: Function) -> Function:
        """Mark a method of a base class.

        Parameters
        ----------
        method : callable
            Method that stands in the place of the base class's.

        Returns
        -------
        callable
            The same method.
        """
        method.__override__ = True
        return method


__all__ = ["override"]
