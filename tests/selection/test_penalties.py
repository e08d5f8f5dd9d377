"""Rules for the penalty: from theory, or on rows held out."""

import numpy as np
import pytest
from tests.selection.pooled import pooled

from fedsdr.method import Method
from fedsdr.questions import ask_sites
from fedsdr.selection import Evidence, moment_score, penalties, select
from fedsdr.selection.penalties import (
    plug_in_penalty,
    solve_universal,
    universal_penalty,
)
from fedsdr.selection.solving import solve_sums
from fedsdr.solver import solve
from fedsdr.summaries import Smooth, Summary, bic_dimension, summarize


@pytest.fixture
def total(rng) -> Summary:
    X = rng.normal(size=(600, 25))
    y = X[:, 0] + X[:, 1] + 0.4 * X[:, 2] + 0.5 * rng.normal(size=600)
    summary = summarize(X, y, kernel=Smooth())
    return summary.scaled(np.sqrt(np.diag(summary.sigma)))


def test_universal_penalty_is_the_papers_formula() -> None:
    assert universal_penalty(150, 1000) == 0.5 * np.sqrt(np.log(150) / 1000)
    assert universal_penalty(1, 100) > 0


def test_the_plug_in_level_only_ever_raises_the_penalty(total, monkeypatch) -> None:
    low = solve_sums(total, 1, 0.004, 1e-6)
    level = plug_in_penalty(total, low)
    monkeypatch.setattr(penalties, "universal_penalty", lambda *_: 0.004)
    raised = solve_universal(total, 1, 1e-6, bic_choice=1)
    assert raised.solution.penalty == level > low.penalty
    assert raised.solution.active.size <= low.active.size
    assert [line["step"] for line in raised.table] == ["universal", "plug-in"]
    monkeypatch.setattr(penalties, "universal_penalty", lambda *_: 0.2)
    high = solve(total.sigma, total.kernel, 1, 0.2)
    for known in (high, None):
        kept = solve_universal(total, 1, 1e-6, bic_choice=1, known=known)
        assert kept.solution.penalty == 0.2
        assert [line["step"] for line in kept.table] == ["universal"]
    assert solve_universal(total, 1, 1e-6, 1, known=high).solution is high


def test_the_penalty_stays_where_bic_sees_more_directions() -> None:
    def steps(total: Summary) -> list[str]:
        method = Method(n_directions=1, kernel=Smooth(own=1.0))
        choosing = select(Evidence(total), method, np.random.default_rng(0))
        return [line["step"] for line in ask_sites(None, choosing).table]

    one, two = pooled(1, 1), pooled(4, 1)
    assert bic_dimension(one.kernel, one.n_rows, 5) == 1
    assert bic_dimension(two.kernel, two.n_rows, 5) == 2
    assert steps(one) == ["universal", "plug-in"]
    assert steps(two) == ["universal"]


def test_moment_score_prefers_the_truth_and_ignores_the_basis(rng) -> None:
    X = rng.normal(size=(500, 4))
    held_out = summarize(X, np.exp(X[:, 0] + X[:, 1]))
    truth = np.array([[1.0], [1.0], [0.0], [0.0]])
    wrong = np.array([[0.0], [0.0], [1.0], [0.0]])
    assert moment_score(truth, held_out) > 3 * moment_score(wrong, held_out)
    assert moment_score(7 * truth, held_out) == pytest.approx(
        moment_score(truth, held_out)
    )
    assert moment_score(np.empty((4, 0)), held_out) == 0.0
