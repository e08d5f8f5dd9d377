r"""Sites whose covariances differ (method.md, sections 7 and 8).

The pooled kernel then has directions that no site has. Two links, with
:math:`u = b_1'x` on three variables and :math:`w = b_2'x` on two others:
:math:`y = u + e` and :math:`y = u / (0.5 + (w + 1.5)^2) + 0.5 e`. Ten sites, whose
means differ too.
"""

from functools import partial

import numpy as np

from benchmarks.hard_designs.sample import Design, Sample, join
from fedsdr.arrays import Matrix, Vector
from fedsdr.simulate.covariates import draw_autoregressive

FAMILY = "covariances differ"
LINKS = {"linear": 1, "ratio": 2}
N_SITES = 10

#: How the covariances of the sites are made; "equal" is for comparison.
STRUCTURES = ("equal", "correlations", "scales", "both", "blocks", "half")

#: Rows of each of the ten sites.
SIZES = {
    "n=60": (60,) * N_SITES,
    "n=200": (200,) * N_SITES,
    "n=500": (500,) * N_SITES,
    "n=60 to 500": (60, 170, 280, 390, 500) * 2,
}


def draw_covariances(
    seed: int, *, link: str, structure: str, sizes: tuple[int, ...], n_features: int
) -> Sample:
    """Draw sites whose covariances differ.

    Parameters
    ----------
    seed : int
        Seed.
    link : {"linear", "ratio"}
        Link of all sites.
    structure : str
        One of `STRUCTURES`, or "variances"; see `draw_rows`.
    sizes : tuple of int
        Rows of each site.
    n_features : int
        Number of variables d.

    Returns
    -------
    Sample
        K = 1 with the linear link, K = 2 with the other.
    """
    rng = np.random.default_rng(seed)
    B = np.zeros((n_features, 2))
    B[:3, 0], B[3:5, 1] = 1.0, 1.0
    parts = []
    for site, n_rows in enumerate(sizes):
        own = structure
        if structure == "half":
            own = "both" if site % 2 else "equal"
        x = draw_rows(rng, own, n_rows, n_features)
        y = respond(rng, link, x @ B)
        parts.append((x + rng.standard_normal(n_features), y))
    return join(parts, B[:, : LINKS[link]])


def draw_rows(
    rng: np.random.Generator, structure: str, n_rows: int, n_features: int
) -> Matrix:
    """Draw the rows of one site about their mean.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of randomness; also of the site's covariance.
    structure : str
        "equal": AR(0.5). "correlations": AR(r) with r uniform in (-0.6, 0.9). "scales":
        AR(0.5), columns multiplied by exp(0.5 z). "both": the last two. "blocks":
        blocks of 2 to 10 columns with a common correlation between 0.1 and 0.9, both
        drawn. "variances": AR(0.5), variances multiplied by e^U, U uniform in
        (-0.7, 0.7).
    n_rows, n_features : int
        Shape of the result.

    Returns
    -------
    ndarray of shape (n_rows, n_features)
        Normal rows.
    """
    if structure == "blocks":
        return _draw_blocks(rng, n_rows, n_features)
    differ = structure in ("correlations", "both")
    gamma = float(rng.uniform(-0.6, 0.9)) if differ else 0.5
    x = draw_autoregressive(rng, n_rows, n_features, gamma)
    if structure in ("scales", "both"):
        x *= np.exp(0.5 * rng.standard_normal(n_features))
    if structure == "variances":
        x *= np.exp(0.5 * rng.uniform(-0.7, 0.7, n_features))
    return x


def respond(rng: np.random.Generator, link: str, reduced: Matrix) -> Vector:
    """Draw the response of one site.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of the noise.
    link : {"linear", "ratio"}
        Link.
    reduced : ndarray of shape (n_rows, 2)
        u and w.

    Returns
    -------
    ndarray of shape (n_rows,)
        Response.
    """
    u, w = reduced.T
    noise = rng.standard_normal(len(u))
    if link == "linear":
        return u + noise
    return u / (0.5 + (w + 1.5) ** 2) + 0.5 * noise


def _draw_blocks(rng: np.random.Generator, n_rows: int, n_features: int) -> Matrix:
    size, shared = int(rng.integers(2, 11)), float(rng.uniform(0.1, 0.9))
    block = np.arange(n_features) // size
    common = rng.standard_normal((n_rows, block[-1] + 1))[:, block]
    own = rng.standard_normal((n_rows, n_features))
    return np.sqrt(shared) * common + np.sqrt(1.0 - shared) * own


def _design(link: str, structure: str, rows: str, n_features: int) -> Design:
    sizes = SIZES[rows]
    draw = partial(
        draw_covariances,
        link=link,
        structure=structure,
        sizes=sizes,
        n_features=n_features,
    )
    name = f"{link}, {structure}, {rows}, d={n_features}"
    return Design(FAMILY, name, LINKS[link], draw)


DESIGNS = (
    *(
        _design(link, structure, rows, n_features)
        for n_features in (60, 150)
        for link in LINKS
        for structure in STRUCTURES
        for rows in SIZES
    ),
    *(_design(link, "variances", "n=500", 100) for link in LINKS),
)
