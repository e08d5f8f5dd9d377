"""The attacks on the paper's protocol, tried on the default one."""

import numpy as np
import pytest
from scipy import stats
from tests.protocols.studies import Consortium, make_rows

from fedsdr.method import Smooth
from fedsdr.protocols.secure import SecureSum
from fedsdr.summaries import summarize

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


def test_no_covariance_kernel_or_row_count_is_recovered(
    consortium: Consortium, opened: np.ndarray
) -> None:
    ring = consortium.study.ring
    for message in consortium.transport.transcript.messages:
        if message.name != "secure.masked" or message.receiver != "coordinator":
            continue
        read = ring.decode(message.payload["masked"])
        X, y = consortium.rows[message.sender]
        own = summarize(X, y, kernel=Smooth())
        upper = np.triu_indices(D)
        # A site of 40 rows has ten of the twelve functions.
        linear = np.zeros((D, 13))
        linear[:, : own.linear.shape[1]] = own.linear
        linear[:, -1] = own.products
        matrices = (own.scatter[upper], own.between[upper], linear.ravel())
        truth = np.concatenate([*matrices, [own.response_square]])
        assert abs(read[0] - own.n_rows) > 1.0
        # Not even a trend: large entries of the truth are not large in what is read.
        assert stats.spearmanr(read[4:], truth).pvalue > 1e-4
        assert stats.kstest(read / ring.limit(1), "uniform", (-2, 4)).pvalue > 1e-4


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
