"""Mirror statistics: selection by signs, combined over halves."""

import numpy as np

from benchmarks.half_tests import run_half_tests, select_by_mirrors
from fedsdr.simulate import make_setting


def test_a_half_selects_where_few_mirrors_are_negative():
    # Ten large ones; a threshold of 1 leaves one negative one: (1 + 1) / 11 > 0.1.
    one = np.array([*np.arange(11.0, 1.0, -1.0), 1.0, -1.0, 0.5, -0.5, 0.0])
    assert select_by_mirrors(one[None], 0.1).nonzero()[0].tolist() == list(range(10))
    assert select_by_mirrors(one[None], 0.2).nonzero()[0].tolist() == list(range(11))
    # Nine are too few to be sure of at 10 %.
    assert not select_by_mirrors(one[None, 1:], 0.1).any()


def test_variables_that_few_halves_include_are_left_out():
    mirrors = np.zeros((8, 30))
    mirrors[:, :10] = 5.0
    mirrors[0, 10] = 5.0
    assert select_by_mirrors(mirrors, 0.1).nonzero()[0].tolist() == list(range(10))


def test_true_variables_have_positive_mirrors_and_small_p_values():
    data = make_setting(1, n_sites=3, n_per_site=100, n_features=12, random_state=0)
    found = run_half_tests(data.X, data.y, data.sites, 0)
    assert (found.mirrors[:, data.support] > 0).all()
    assert (found.p_values[:, data.support] < 0.01).all()
    untested = found.p_values == 1.0
    assert (found.mirrors[untested] == 0.0).all()
