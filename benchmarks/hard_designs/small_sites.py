r"""Sites with few rows each (method.md, section 11), d = 100.

Squaring at each site makes the noise of the kernel grow with the number of sites.
"weak": :math:`y = \sqrt{0.15}\, b'x / \mathrm{sd}(b'x) + e` with x from AR(0.5) and six
equal coefficients at columns 0, 3, ..., 15. "flipped": :math:`y = \pm b'x + e` with
three equal coefficients at neighbouring columns, minus at every second site: here a
kernel that adds before it squares sees nothing.
"""

from functools import partial

import numpy as np

from benchmarks.hard_designs.sample import (
    Design,
    Sample,
    autoregressive,
    join,
    one_direction,
)
from fedsdr.simulate.covariates import draw_autoregressive

FAMILY = "small sites"
N_FEATURES, GAMMA = 100, 0.5

#: Variance of the signal over that of the noise.
SNR = 0.15


def draw_weak(seed: int, *, n_sites: int, n_rows: int) -> Sample:
    """Draw many small sites with a weak signal.

    Parameters
    ----------
    seed : int
        Seed.
    n_sites : int
        Number of sites.
    n_rows : int
        Rows of each site.

    Returns
    -------
    Sample
        K = 1, six true variables.
    """
    rng = np.random.default_rng(seed)
    B = one_direction(N_FEATURES, [1.0] * 6, step=3)
    variance = float((B.T @ autoregressive(N_FEATURES, GAMMA) @ B).item())
    parts = []
    for _ in range(n_sites):
        x = draw_autoregressive(rng, n_rows, N_FEATURES, GAMMA)
        signal = np.sqrt(SNR / variance) * (x @ B[:, 0])
        parts.append((x, signal + rng.standard_normal(n_rows)))
    return join(parts, B)


def draw_flipped(seed: int, *, n_sites: int = 10, n_rows: int = 50) -> Sample:
    """Draw sites of which every second one has the opposite link.

    Parameters
    ----------
    seed : int
        Seed.
    n_sites : int, default=10
        Number of sites.
    n_rows : int, default=50
        Rows of each site.

    Returns
    -------
    Sample
        K = 1, three true variables.
    """
    rng = np.random.default_rng(seed)
    B = one_direction(N_FEATURES, [1.0] * 3)
    parts = []
    for site in range(n_sites):
        x = draw_autoregressive(rng, n_rows, N_FEATURES, GAMMA)
        sign = -1.0 if site % 2 else 1.0
        parts.append((x, sign * (x @ B[:, 0]) + rng.standard_normal(n_rows)))
    return join(parts, B)


DESIGNS = (
    *(
        Design(
            FAMILY,
            f"{n_sites} x {n_rows}, SNR {SNR}",
            1,
            partial(draw_weak, n_sites=n_sites, n_rows=n_rows),
        )
        for n_sites, n_rows in ((100, 10), (50, 20))
    ),
    Design(FAMILY, "10 x 50, links flipped", 1, draw_flipped),
)
