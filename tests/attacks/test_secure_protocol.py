"""The attacks on the paper's protocol, tried on the default one."""

import numpy as np
import pytest
from tests.protocols.studies import Consortium, make_rows

from fedsdr.protocols.secure import SecureSum

D = 30


@pytest.fixture(scope="module")
def consortium() -> Consortium:
    return Consortium(make_rows(5, n_features=D, n_rows=40))


@pytest.fixture(scope="module")
def opened(consortium: Consortium) -> np.ndarray:
    """Run the protocol; the transcript then holds what the coordinator saw."""
    add = SecureSum(consortium.transport, consortium.study)
    add.agree()
    return add.add("moments", {}, consortium.n_values)


def test_masked_numbers_are_all_that_sites_say_about_rows(
    consortium: Consortium, opened: np.ndarray
) -> None:
    for message in consortium.transport.transcript.messages:
        if message.receiver != "coordinator":
            continue
        arrays = [v for v in message.payload.values() if isinstance(v, np.ndarray)]
        assert all(array.dtype == np.uint64 for array in arrays)
        assert bool(arrays) == (message.name == "secure.masked")


def test_sites_that_swap_their_rows_look_the_same(
    consortium: Consortium, opened: np.ndarray
) -> None:
    names = list(consortium.rows)
    swapped = dict(zip(names, reversed(consortium.rows.values()), strict=True))
    other = Consortium(swapped)
    add = SecureSum(other.transport, other.study)
    add.agree()
    again = add.add("moments", {}, other.n_values)
    # Fixed point makes sums exact, so that they do not depend on the order: what the
    # coordinator can open is the same to the last bit, and all else is noise.
    np.testing.assert_array_equal(again, opened)


def test_row_counts_do_not_show_in_sizes(
    consortium: Consortium, opened: np.ndarray
) -> None:
    sizes: dict[str, set[int]] = {}
    for message in consortium.transport.transcript.messages:
        sizes.setdefault(
            f"{message.name} {message.sender == 'coordinator'}", set()
        ).add(len(message.packed))
    assert all(len(lengths) == 1 for lengths in sizes.values())
