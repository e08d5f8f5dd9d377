"""Designs on which warnings are measured: where all is well, and where it is not."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks.hard_designs.covariances import SIZES, draw_covariances, respond
from benchmarks.hard_designs.odd_sites import UNIT_COLUMNS, draw_odd
from benchmarks.hard_designs.pure_noise import draw_noise
from benchmarks.hard_designs.sample import Sample, join, one_direction
from benchmarks.hard_designs.skewed import draw_lognormal, draw_skewed
from benchmarks.hard_designs.small_sites import draw_flipped
from fedsdr.arrays import Matrix, Vector
from fedsdr.simulate import make_setting
from fedsdr.simulate.covariates import draw_autoregressive

#: Every warning that is measured, with its anchor in docs/warnings.md or its class.
ALARMS = {
    "covariances": "#covariances",
    "units": "#units",
    "silent": "#silent",
    "outside": "#outside",
    "groups": "#groups",
    "skewness": "#skewness",
    "symmetry": "#symmetry",
    "curvature": "CurvatureWarning",
    "weak": "WeakSignalWarning",
    "convergence": "ConvergenceWarning",
}

#: Alarms that say that sites are odd; one of them is enough.
ODD = ("units", "silent", "outside", "groups")


@dataclass(frozen=True, slots=True)
class AlarmDesign:
    """A way of simulating, and what should be said about it.

    Parameters
    ----------
    name : str
        Name, of no other design.
    draw : callable
        From a seed to a `Sample`.
    wanted : tuple of str, default=()
        Alarms, at least one of which should be raised; none if all is well.
    free : tuple of str, default=()
        Alarms that may be raised or not; all others are false.
    """

    name: str
    draw: Callable[[int], Sample]
    wanted: tuple[str, ...] = ()
    free: tuple[str, ...] = ()

    @property
    def null_for(self) -> tuple[str, ...]:
        """Alarms that would be false."""
        allowed = {*self.wanted, *self.free}
        return tuple(name for name in ALARMS if name not in allowed)


def draw_linear(
    seed: int,
    *,
    sizes: tuple[int, ...] = (50,) * 10,
    n_features: int = 100,
    gamma: float = 0.5,
    shift: float = 0.0,
    binary: bool = False,
    tails: Callable[[np.random.Generator, tuple[int, int]], Matrix] | None = None,
) -> Sample:
    """Draw sites with y = b'x + e, three equal coefficients, where all is well.

    Parameters
    ----------
    seed : int
        Seed.
    sizes : tuple of int, default=(50,) * 10
        Rows of each site.
    n_features : int, default=100
        Number of variables d.
    gamma : float, default=0.5
        Correlation of neighbouring variables.
    shift : float, default=0.0
        Standard deviation of the sites' means.
    binary : bool, default=False
        Whether only the sign of y is seen.
    tails : callable, optional
        Draws independent columns of another distribution.

    Returns
    -------
    Sample
        K = 1.
    """
    rng = np.random.default_rng(seed)
    B = one_direction(n_features, [1.0] * 3)
    parts = []
    for n_rows in sizes:
        if tails is None:
            x = draw_autoregressive(rng, n_rows, n_features, gamma)
        else:
            x = tails(rng, (n_rows, n_features))
        x = x + shift * rng.standard_normal(n_features)
        signal = (x - x.mean(axis=0)) @ B[:, 0] if binary else x @ B[:, 0]
        y = signal + rng.standard_normal(n_rows)
        parts.append((x, (y > 0.0).astype(float) if binary else y))
    return join(parts, B)


def draw_ratio(seed: int, *, sizes: tuple[int, ...], n_features: int) -> Sample:
    """Draw sites with the ratio link, K = 2, equal covariances and means.

    Parameters
    ----------
    seed : int
        Seed.
    sizes : tuple of int
        Rows of each site.
    n_features : int
        Number of variables d.

    Returns
    -------
    Sample
        K = 2.
    """
    rng = np.random.default_rng(seed)
    B = np.zeros((n_features, 2))
    B[:3, 0], B[3:5, 1] = 1.0, 1.0
    parts = []
    for n_rows in sizes:
        x = draw_autoregressive(rng, n_rows, n_features, 0.5)
        parts.append((x, respond(rng, "ratio", x @ B)))
    return join(parts, B)


def draw_setting(
    seed: int, *, setting: int, n_per_site: int = 100, n_sites: int = 10
) -> Sample:
    """Draw one of the paper's settings with d = 150.

    Parameters
    ----------
    seed : int
        Seed.
    setting : int
        Number of the setting.
    n_per_site : int, default=100
        Rows of each site.
    n_sites : int, default=10
        Number of sites.

    Returns
    -------
    Sample
        K = 1 or 2.
    """
    data = make_setting(
        setting, n_sites=n_sites, n_per_site=n_per_site, random_state=seed
    )
    return Sample(data.X, data.y, data.sites, data.B)


def draw_symmetric(
    seed: int,
    *,
    linear: bool,
    sizes: tuple[int, ...] = (200,) * 10,
    n_features: int = 100,
) -> Sample:
    """Draw sites with a link that slices do not show.

    Parameters
    ----------
    seed : int
        Seed.
    linear : bool
        Whether y = b1'x + (b2'x)^2 + e, or y = (b2'x)^2 + e.
    sizes : tuple of int, default=(200,) * 10
        Rows of each site.
    n_features : int, default=100
        Number of variables d.

    Returns
    -------
    Sample
        Directions have three equal coefficients of unit length.
    """
    rng = np.random.default_rng(seed)
    B = np.zeros((n_features, 2))
    B[:3, 0], B[3:6, 1] = np.sqrt(1 / 3), np.sqrt(1 / 3)
    parts = []
    for n_rows in sizes:
        x = draw_autoregressive(rng, n_rows, n_features, 0.5)
        u, w = (x @ B).T
        signal: Vector = (u if linear else 0.0) + w**2
        parts.append((x, signal + rng.standard_normal(n_rows)))
    return join(parts, B if linear else B[:, 1:])


def _heavy(rng: np.random.Generator, shape: tuple[int, int]) -> Matrix:
    return np.asarray(rng.standard_t(3, shape) / np.sqrt(3.0))


_UNEQUAL = (20, 30, 40, 60, 80, 120, 200, 300, 400, 500)
_NOISE = ("normal", "log-normal", "t3", "100 x 10", "20 to 150 rows", "binary y")
_MAY_BE_WEAK = ("weak",)

#: Where all is well.
NULL = (
    AlarmDesign("linear, 10 x 50, independent", partial(draw_linear, gamma=0.0)),
    AlarmDesign("linear, 10 x 50, AR(0.5)", draw_linear),
    AlarmDesign(
        "linear, 10 x 100, means differ",
        partial(draw_linear, sizes=(100,) * 10, shift=1.4),
    ),
    AlarmDesign("linear, 20 to 500 rows", partial(draw_linear, sizes=_UNEQUAL)),
    AlarmDesign("linear, 3 x 100", partial(draw_linear, sizes=(100,) * 3)),
    AlarmDesign(
        "linear, 100 x 20, d=50",
        partial(draw_linear, sizes=(20,) * 100, n_features=50),
    ),
    AlarmDesign(
        "linear, 100 x 40, d=50",
        partial(draw_linear, sizes=(40,) * 100, n_features=50),
    ),
    AlarmDesign("binary y, 10 x 50", partial(draw_linear, binary=True)),
    AlarmDesign(
        "t3 columns, 5 x 100", partial(draw_linear, sizes=(100,) * 5, tails=_heavy)
    ),
    AlarmDesign("links flipped, 10 x 50", draw_flipped),
    AlarmDesign(
        "ratio, 10 x 200", partial(draw_ratio, sizes=(200,) * 10, n_features=60)
    ),
    AlarmDesign("ratio, 3 x 500", partial(draw_ratio, sizes=(500,) * 3, n_features=60)),
    AlarmDesign("ratio, 30 x 60", partial(draw_ratio, sizes=(60,) * 30, n_features=60)),
    AlarmDesign(
        "ratio, 20 to 500 rows", partial(draw_ratio, sizes=_UNEQUAL, n_features=60)
    ),
    AlarmDesign(
        "ratio, 10 x 200, means differ",
        partial(
            draw_covariances,
            link="ratio",
            structure="equal",
            sizes=SIZES["n=200"],
            n_features=60,
        ),
    ),
    *(
        AlarmDesign(
            f"setting {number}, 10 x 100", partial(draw_setting, setting=number)
        )
        for number in range(1, 7)
    ),
    *(
        AlarmDesign(
            f"setting {number}, 10 x 200",
            partial(draw_setting, setting=number, n_per_site=200),
        )
        for number in (3, 4, 6)
    ),
    AlarmDesign(
        "setting 3, 3 x 300",
        partial(draw_setting, setting=3, n_per_site=300, n_sites=3),
    ),
    *(
        AlarmDesign(f"noise, {kind}", partial(draw_noise, kind=kind), free=_MAY_BE_WEAK)
        for kind in _NOISE
    ),
)

#: Where something should be said.
ODD_DESIGNS = (
    *(
        AlarmDesign(
            f"other units: {name}",
            partial(draw_odd, columns=columns),
            wanted=("units",),
            free=("covariances", "silent", "outside", "groups", "curvature", "weak"),
        )
        for name, columns in UNIT_COLUMNS.items()
    ),
    AlarmDesign(
        "y shuffled at one site",
        partial(draw_odd, shuffled=True),
        wanted=("silent", "outside", "groups"),
    ),
    AlarmDesign(
        "another subspace at 3 of 10",
        partial(draw_odd, n_other=3),
        wanted=("silent", "outside", "groups"),
    ),
    *(
        AlarmDesign(
            f"covariances: {structure}, {link}",
            partial(
                draw_covariances,
                link=link,
                structure=structure,
                sizes=SIZES["n=200"],
                n_features=60,
            ),
            wanted=("covariances",),
        )
        for link in ("linear", "ratio")
        for structure in ("correlations", "scales", "both")
    ),
    *(
        AlarmDesign(
            f"columns: {kind}",
            partial(draw_skewed, kind=kind),
            wanted=("skewness",),
            free=("curvature", "weak"),
        )
        for kind in ("log-normal", "chi2", "Poisson", "dummies of 2 %", "mixed")
    ),
    AlarmDesign(
        "columns: log-normal, 30 x 20",
        partial(draw_linear, sizes=(20,) * 30, tails=draw_lognormal),
        wanted=("skewness",),
        free=("curvature", "weak"),
    ),
    AlarmDesign(
        "columns: log-normal, 10 x 100",
        partial(draw_linear, sizes=(100,) * 10, tails=draw_lognormal),
        wanted=("skewness",),
        free=("curvature", "weak"),
    ),
    AlarmDesign(
        "y = b1'x + (b2'x)^2",
        partial(draw_symmetric, linear=True),
        wanted=("symmetry",),
    ),
    AlarmDesign(
        "y = (b'x)^2",
        partial(draw_symmetric, linear=False),
        wanted=("symmetry", "weak"),
        free=("curvature",),
    ),
)

#: All designs by name.
ALARM_DESIGNS = {design.name: design for design in (*NULL, *ODD_DESIGNS)}
