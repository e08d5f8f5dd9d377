"""The paper's six simulation settings."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedsdr.exceptions import InputError
from fedsdr.simulate.covariates import (
    draw_autoregressive,
    draw_site_mean,
    draw_sizes,
    split_equally,
)
from fedsdr.simulate.models import ACTIVE, N_DIRECTIONS, respond, true_directions

RandomState = int | np.random.Generator | np.random.RandomState | None

#: Models that the sites of each setting may follow.
MODELS = {1: (1,), 2: (2,), 3: (3,), 4: (4,), 5: (1, 2), 6: (3, 4)}


@dataclass(frozen=True, slots=True, eq=False)
class Simulation:
    """Simulated rows of several sites, and their true directions.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        Covariates of all sites, site after site.
    y : ndarray of shape (n_rows,)
        Response.
    sites : ndarray of shape (n_rows,), int
        Site of each row, from 0.
    B : ndarray of shape (n_features, n_directions)
        True directions: columns of zeros and ones, not of unit length.
    setting : int
        Number of the setting.
    models : ndarray of shape (n_sites,), int
        Model that each site follows.
    """

    X: NDArray[np.float64]
    y: NDArray[np.float64]
    sites: NDArray[np.int64]
    B: NDArray[np.float64]
    setting: int
    models: NDArray[np.int64]

    @property
    def n_directions(self) -> int:
        """Dimension of the central subspace, K."""
        return self.B.shape[1]

    @property
    def support(self) -> NDArray[np.bool_]:
        """Mask of the active variables, shape (n_features,)."""
        return np.asarray(self.B.any(axis=1))


def make_setting(
    setting: int,
    *,
    n_sites: int = 10,
    n_per_site: int = 100,
    n_features: int = 150,
    total: int | None = None,
    concentration: float | None = None,
    alpha: float = 1.0,
    gamma: float = 0.5,
    non_gaussian: bool = False,
    random_state: RandomState = None,
) -> Simulation:
    r"""Simulate one of the paper's settings.

    Parameters
    ----------
    setting : {1, 2, 3, 4, 5, 6}
        1 to 4: covariate shift, every site follows the model of that number.
        5 and 6: concept shift, a fair coin decides for each site between models 1
        and 2 (setting 5), or 3 and 4 (setting 6).
    n_sites : int, default=10
        Number of sites, m.
    n_per_site : int, default=100
        Number of rows per site; ignored if `total` is given.
    n_features : int, default=150
        Number of variables, d; at least 3 for one direction, 5 for two.
    total : int or None, default=None
        Number of rows over all sites, N. By default ``n_sites * n_per_site``.
    concentration : float or None, default=None
        If given, the sites' sizes are Dirichlet-multinomial with this parameter
        (5 in the paper), and a site may have few rows or none. By default the sizes
        are as equal as possible.
    alpha : float, default=1.0
        Variance of the means :math:`A_i` of the sites in settings 1 to 4.
    gamma : float, default=0.5
        Correlation of neighbouring variables, strictly between -1 and 1.
    non_gaussian : bool, default=False
        Whether to add independent Bernoulli(1/2) draws to every entry of X.
    random_state : int, Generator, RandomState or None, default=None
        Source of randomness; an int gives the same data every time.

    Returns
    -------
    Simulation
        Rows and true directions.

    Notes
    -----
    Site i draws :math:`A_i \sim N(0, \alpha I)`, :math:`v_i \sim N(A_i, I)` and its
    rows from :math:`N(v_i, \Sigma)` with :math:`\Sigma_{jk} = \gamma^{|j-k|}`; under
    concept shift :math:`v_i = 0`. The paper does not give the probability of the
    Bernoulli draws; 1/2 is our choice.

    Examples
    --------
    >>> from fedsdr.simulate import make_setting
    >>> data = make_setting(3, n_features=20, random_state=0)
    >>> data.X.shape, data.n_directions, int(data.support.sum())
    ((1000, 20), 2, 5)
    """
    total = n_sites * n_per_site if total is None else total
    _check(setting, n_sites, n_features, total, concentration, alpha, gamma)
    rng = _generator(random_state)
    if concentration is None:
        sizes = split_equally(total, n_sites)
    else:
        sizes = draw_sizes(rng, total, n_sites, concentration)
    choices = np.array(MODELS[setting])
    models = choices[rng.integers(len(choices), size=n_sites)]

    blocks = []
    for n_rows in sizes:
        block = draw_autoregressive(rng, n_rows, n_features, gamma)
        if len(choices) == 1:
            block += draw_site_mean(rng, n_features, alpha)
        if non_gaussian:
            block += rng.integers(2, size=block.shape)
        blocks.append(block)
    responses = [
        respond(model, block, rng.standard_normal(len(block)))
        for model, block in zip(models, blocks, strict=True)
    ]
    return Simulation(
        X=np.concatenate(blocks),
        y=np.concatenate(responses),
        sites=np.repeat(np.arange(n_sites), sizes),
        B=true_directions(n_features, N_DIRECTIONS[MODELS[setting][0]]),
        setting=setting,
        models=models,
    )


def _check(
    setting: int,
    n_sites: int,
    n_features: int,
    total: int,
    concentration: float | None,
    alpha: float,
    gamma: float,
) -> None:
    if setting not in MODELS:
        raise InputError(f"setting must be 1, 2, 3, 4, 5 or 6, got {setting!r}")
    n_directions = N_DIRECTIONS[MODELS[setting][0]]
    needed = 1 + max(max(active) for active in ACTIVE[:n_directions])
    if n_features < needed:
        raise InputError(
            f"setting {setting} has {needed} active variables: n_features must be at "
            f"least {needed}, got {n_features}"
        )
    if n_sites < 1 or total < 1:
        raise InputError(
            f"need at least one site and one row, got {n_sites=}, {total=}"
        )
    if concentration is not None and not 0 < concentration < np.inf:
        raise InputError(f"concentration must be positive, got {concentration}")
    if not 0 <= alpha < np.inf:
        raise InputError(f"alpha is a variance and cannot be negative, got {alpha}")
    if not -1 < gamma < 1:
        raise InputError(f"gamma must lie strictly between -1 and 1, got {gamma}")


def _generator(random_state: RandomState) -> np.random.Generator:
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31, size=4))
    return np.random.default_rng(random_state)
