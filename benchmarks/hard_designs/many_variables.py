r"""Many true variables, several directions of unequal strength, and twins (section 11).

"s true of 300": :math:`y = \sqrt 2\, b'x / \sqrt s + e` with independent columns and s
coefficients of 1 or -1 at places that are drawn; six sites of 100 rows.

"K = 3" and "K = 4": the inverse model :math:`x = \sum_k a_k f_k(y) b_k + e` with y
uniform in (0, 1), Legendre polynomials :math:`f_k` of unit variance and :math:`b_k` of
unit length on five variables each. So :math:`a_k^2` is what y explains along
:math:`b_k`, in units of the noise. d = 100, five sites of 200 rows.

"twins": :math:`y = x_1 - x_2 + x_3 - x_4 + 2 e` with normal columns that are
independent, but for a twin of each of the four: another column that has a correlation
of 0.95 with it. d = 100, five sites of 100 rows.
"""

from functools import partial

import numpy as np
from scipy.special import eval_legendre

from benchmarks.hard_designs.sample import Design, Sample, join, one_direction

FAMILY = "many variables"
SNR = 2.0

#: Strengths of the directions, by their number.
STRENGTHS = {3: (1.0, 0.7, 0.53), 4: (1.0, 0.9, 0.8, 0.65)}
WIDTH = 5

#: Coefficients of the variables that have twins, and the correlation with these.
TWINNED = (1.0, -1.0, 1.0, -1.0)
ALIKE = 0.95


def draw_many(
    seed: int, *, n_true: int, n_features: int = 300, n_sites: int = 6
) -> Sample:
    """Draw one direction of many variables.

    Parameters
    ----------
    seed : int
        Seed.
    n_true : int
        Number of true variables.
    n_features : int, default=300
        Number of variables d.
    n_sites : int, default=6
        Number of sites, of 100 rows each.

    Returns
    -------
    Sample
        K = 1.
    """
    rng = np.random.default_rng(seed)
    B = np.zeros((n_features, 1))
    B[rng.permutation(n_features)[:n_true], 0] = rng.choice([-1.0, 1.0], n_true)
    parts = []
    for _ in range(n_sites):
        x = rng.standard_normal((100, n_features))
        signal = np.sqrt(SNR / n_true) * (x @ B[:, 0])
        parts.append((x, signal + rng.standard_normal(100)))
    return join(parts, B)


def draw_several(
    seed: int, *, strengths: tuple[float, ...], n_sites: int = 5, n_rows: int = 200
) -> Sample:
    """Draw several directions of unequal strength.

    Parameters
    ----------
    seed : int
        Seed.
    strengths : tuple of float
        Strength of each direction.
    n_sites : int, default=5
        Number of sites.
    n_rows : int, default=200
        Rows of each site.

    Returns
    -------
    Sample
        K directions, d = 100.
    """
    rng = np.random.default_rng(seed)
    k = len(strengths)
    B = np.zeros((100, k))
    for place in range(k):
        B[WIDTH * place : WIDTH * (place + 1), place] = 1.0 / np.sqrt(WIDTH)
    parts = []
    for _ in range(n_sites):
        y = rng.random(n_rows)
        curves = [
            strength * np.sqrt(2 * degree + 1) * eval_legendre(degree, 2 * y - 1)
            for degree, strength in enumerate(strengths, start=1)
        ]
        noise = rng.standard_normal((n_rows, len(B)))
        parts.append((np.column_stack(curves) @ B.T + noise, y))
    return join(parts, B)


def draw_twins(seed: int, *, n_features: int = 100, n_sites: int = 5) -> Sample:
    """Draw one direction of variables that have twins.

    Parameters
    ----------
    seed : int
        Seed.
    n_features : int, default=100
        Number of variables d; the last four are the twins.
    n_sites : int, default=5
        Number of sites, of 100 rows each.

    Returns
    -------
    Sample
        K = 1.
    """
    rng = np.random.default_rng(seed)
    n_true = len(TWINNED)
    B = one_direction(n_features, TWINNED)
    parts = []
    for _ in range(n_sites):
        x = rng.standard_normal((100, n_features))
        x[:, -n_true:] *= np.sqrt(1.0 - ALIKE**2)
        x[:, -n_true:] += ALIKE * x[:, :n_true]
        parts.append((x, x @ B[:, 0] + np.sqrt(n_true) * rng.standard_normal(100)))
    return join(parts, B)


DESIGNS = (
    *(
        Design(FAMILY, f"{n_true} true of 300", 1, partial(draw_many, n_true=n_true))
        for n_true in (20, 40)
    ),
    *(
        Design(FAMILY, f"K = {k}", k, partial(draw_several, strengths=strengths))
        for k, strengths in STRENGTHS.items()
    ),
    Design(FAMILY, "twins", 1, draw_twins),
)
