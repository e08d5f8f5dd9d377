"""Sites of which one or some are wrong (method.md, section 11).

Ten sites of 50 rows, d = 100, x from AR(0.5), y = b'x + e with equal coefficients of
the first three columns. Odd sites: one with columns in other units (100 times larger),
one whose responses are shuffled, or three that follow another direction.
"""

from functools import partial

import numpy as np

from benchmarks.hard_designs.sample import Design, Sample, join, one_direction
from fedsdr.simulate.covariates import draw_autoregressive

FAMILY = "odd sites"
N_FEATURES, N_SITES, N_ROWS = 100, 10, 50
UNITS = 100.0

#: Columns in other units at the odd site; the first three are the true variables.
UNIT_COLUMNS = {
    "a true column": (0,),
    "a noise column": (50,),
    "six columns": (0, 1, 2, 50, 51, 52),
}

#: Columns of the direction that three sites follow instead.
OTHER = (10, 11, 12)


def draw_odd(
    seed: int,
    *,
    columns: tuple[int, ...] = (),
    shuffled: bool = False,
    n_other: int = 0,
) -> Sample:
    """Draw sites, the first of which are odd.

    Parameters
    ----------
    seed : int
        Seed.
    columns : tuple of int, default=()
        Columns that are in other units at the first site.
    shuffled : bool, default=False
        Whether the responses of the first site are shuffled.
    n_other : int, default=0
        Number of sites, the first ones, that follow another direction.

    Returns
    -------
    Sample
        K = 1; the truth is that of the sites that are not odd.
    """
    rng = np.random.default_rng(seed)
    B = one_direction(N_FEATURES, [1.0] * 3)
    other = np.zeros_like(B)
    other[list(OTHER)] = 1.0
    parts = []
    for site in range(N_SITES):
        x = draw_autoregressive(rng, N_ROWS, N_FEATURES, 0.5)
        own = other if site < n_other else B
        y = x @ own[:, 0] + rng.standard_normal(N_ROWS)
        if site == 0:
            x[:, list(columns)] *= UNITS
            y = rng.permutation(y) if shuffled else y
        parts.append((x, y))
    return join(parts, B, tuple(range(max(n_other, 1))))


DESIGNS = (
    *(
        Design(FAMILY, f"other units: {name}", 1, partial(draw_odd, columns=columns))
        for name, columns in UNIT_COLUMNS.items()
    ),
    Design(FAMILY, "y shuffled at one site", 1, partial(draw_odd, shuffled=True)),
    Design(FAMILY, "another subspace at 3 of 10", 1, partial(draw_odd, n_other=3)),
)
