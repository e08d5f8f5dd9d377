"""What the parties of FedSVD agree on beforehand."""

from dataclasses import asdict, dataclass
from typing import Literal

from fedsdr.protocols.exchange import Payload, Refusal
from fedsdr.secure_sum import FixedPoint

Center = Literal["global", "site", False]

#: Steps of 2e-22, up to 2e16 over the number of holders.
CODE = FixedPoint(words=2, fraction_bits=72)

#: No count in a message may be larger.
LARGEST = 2**40


@dataclass(frozen=True, slots=True)
class SvdTerms:
    """What is decomposed, and who learns what of it.

    Parameters
    ----------
    center : {"global", "site", False}, default="global"
        Where rows are measured from: the mean of all rows, the mean of the holder's own
        rows, or the origin.
    n_components : int or None, default=None
        How many left vectors the holders learn; None for all.
    recover_rows : bool, default=False
        Whether holders learn the right vectors of their own rows. The server then
        learns the singular values of every holder's own rows, see `Holder`.
    """

    center: Center = "global"
    n_components: int | None = None
    recover_rows: bool = False

    def to_payload(self) -> Payload:
        """Write the terms as a message.

        Returns
        -------
        dict
            Of plain values.
        """
        return asdict(self)


def check_range(value: int, low: int, high: int) -> int:
    """Refuse a whole number of a message that is out of bounds.

    Parameters
    ----------
    value : int
        What the message holds.
    low, high : int
        Bounds, both allowed.

    Returns
    -------
    int
        The same; a `Refusal` "MALFORMED" where it is out of bounds.
    """
    if not low <= value <= high:
        raise Refusal("MALFORMED")
    return value
