"""Rules for the number of directions."""

import numpy as np
import pytest
from tests.selection.pooled import pooled

from fedsdr.exceptions import InputError
from fedsdr.selection import add_directions, elect_dimension
from fedsdr.selection.penalties import universal_penalty
from fedsdr.summaries import Slices, Smooth, bic_dimension, summarize


def test_bic_is_the_criterion_of_the_paper() -> None:
    values = np.array([1.0, 0.8, 0.3, 0.05])
    n = 400
    charge = np.sqrt(n) + 0.5 * np.log(n)
    by_hand = [
        n * (values[:k] ** 2).sum() / (values**2).sum() - charge * k * (k + 1) / 2
        for k in (1, 2, 3)
    ]
    assert bic_dimension(np.diag(values), n, 10) == 1 + int(np.argmax(by_hand))
    assert bic_dimension(np.diag(values), 10**8, 10) == 3
    assert bic_dimension(np.diag(values), 10**8, 2) == 2
    assert bic_dimension(np.eye(1), 50, 5) == 1


def test_bic_of_a_zero_kernel_says_that_y_says_nothing() -> None:
    with pytest.raises(InputError, match="y says nothing"):
        bic_dimension(np.zeros((3, 3)), 50, 2)


def test_votes_take_the_mode_and_break_ties_at_random() -> None:
    rng = np.random.default_rng(0)
    assert elect_dimension([1, 2, 2, 3], rng) == 2
    drawn = {elect_dimension([1, 1, 3, 3], rng) for _ in range(50)}
    assert drawn == {1, 3}
    first = elect_dimension([1, 2], np.random.default_rng(5))
    assert first == elect_dimension([1, 2], np.random.default_rng(5))


@pytest.mark.parametrize(("setting", "truth"), [(1, 1), (3, 2), (5, 1), (6, 2)])
def test_sparse_test_finds_the_dimension(setting: int, truth: int) -> None:
    total = pooled(setting, 1, n_per_site=200)
    rho = universal_penalty(60, total.n_rows)
    by_bic = bic_dimension(total.kernel, total.n_rows, 5)
    solution, tests = add_directions(total, rho, by_bic, 5, 1e-6)
    assert solution.n_directions == truth
    assert [test.accepted for test in tests] == [True] * truth + [False]


def test_noise_is_rarely_taken_for_a_second_direction(rng) -> None:
    accepted = 0
    for _ in range(20):
        X, y = rng.normal(size=(500, 30)), rng.normal(size=500)
        total = summarize(X, y, kernel=Smooth())
        total = total.scaled(np.sqrt(np.diag(total.sigma)))
        rho = min(universal_penalty(30, 500), 0.5 * np.diag(total.kernel).max())
        by_bic = bic_dimension(total.kernel, 500, 3)
        solution, _ = add_directions(total, rho, by_bic, 3, 1e-4)
        accepted += solution.n_directions > 1
    assert accepted <= 1


def test_noise_floor_is_what_noise_gives_on_average(rng) -> None:
    for kernel in (Smooth(), Slices()):
        parts = [
            summarize(rng.normal(size=(80, 40)), rng.normal(size=80), kernel=kernel)
            for _ in range(25)
        ]
        total = sum(parts)
        measured = np.trace(total.kernel) / np.trace(total.sigma)
        assert measured == pytest.approx(total.noise_floor, rel=0.05)
