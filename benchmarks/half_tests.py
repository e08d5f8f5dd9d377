"""The tests of a fit alone, without its estimates."""

import numpy as np
from numpy.typing import NDArray

from fedsdr.inference.split_testing import split_p_values
from fedsdr.method import Method, Variables
from fedsdr.questions import Asking, ask_sites
from fedsdr.rows.own_sites import OwnSites, split_sites
from fedsdr.run import gather

Array = NDArray[np.float64]


def p_values_of_halves(
    X: Array,
    y: Array,
    sites: NDArray[np.int64],
    seed: int,
    *,
    discrete: bool = False,
    groups: NDArray[np.int64] | None = None,
) -> Array:
    """Compute the p-values of all halves as a fit does.

    Parameters
    ----------
    X, y, sites : ndarray
        Rows.
    seed : int
        Seed of the halves.
    discrete : bool, default=False
        Whether y holds classes.
    groups : ndarray of shape (n_rows,), optional
        Subject of each row.

    Returns
    -------
    ndarray of shape (n_halves, n_features)
        p-values; 1 where a variable was not tested.
    """
    rows = split_sites(X, y, sites, np.random.default_rng(seed), groups)
    names = tuple(f"x{j}" for j in range(X.shape[1]))
    variables = Variables(names, discrete=discrete)
    method = Method(select="tested")

    def stages() -> Asking[Array]:
        gathered = yield from gather(variables, method)
        limit = method.n_directions.max_directions
        found = yield from split_p_values(gathered.evidence, gathered.frame, limit)
        return found[1]

    return ask_sites(OwnSites(rows, variables), stages())
