"""Warnings of what sums over the sites show beside the directions.

Each is a test with a known law where all is well; ``docs/warnings.md`` has the measured
rates of false alarms and of detection.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, ndtri, stdtrit

from fedsdr.arrays import Matrix, Vector
from fedsdr.exceptions import (
    CovarianceWarning,
    DisagreementWarning,
    SkewnessWarning,
    SymmetryWarning,
    warn_user,
)
from fedsdr.summaries.site_agreement import CODES, Findings
from fedsdr.summaries.summary import Summary

#: Page of all warnings.
PAGE = "docs/warnings.md"

# Probability of a false alarm about covariances, and the mean squared difference from
# the common covariance, per variable, below which a difference does not matter.
COVARIANCE_LEVEL, COVARIANCE_SIZE = 1e-3, 0.05
# Sites that must be judged, standard errors within which what their own last directions
# explain is noise, and the share of the gain that it must stay below.
FEWEST_JUDGED, USE_ERRORS, OWN_SHARE = 3, 3.0, 0.25
# Probability that the share of a site is above what every site should show.
USUALLY = 0.99
# Coefficient of variation of what sites explain above which they cannot be compared.
MOST_UNEVEN = 0.15
# Skewness of a variable from which curves of it look like directions.
SKEWED = 1.5
# Probability of a false alarm about squares, over all columns together.
SQUARES_LEVEL = 5e-3


def covariances_differ(spread: Vector, n_rows: int, n_selected: int) -> bool:
    r"""Tell whether the covariances of the sites differ.

    Parameters
    ----------
    spread : ndarray of shape (3,)
        Sum over the sites of `spread_of_covariance`: distance D, its mean M and its
        variance V if all covariances are equal.
    n_rows : int
        Number of rows of all sites.
    n_selected : int
        Number of variables s.

    Returns
    -------
    bool
        Whether D is beyond what sampling explains, and :math:`(D - M) / (N s)`, the
        mean squared difference from the common covariance, is large enough to matter.

    Notes
    -----
    :math:`\nu D / M` with :math:`\nu = 2M^2 / V` is compared with a chi-square with
    :math:`\nu` degrees of freedom, which has the mean and the variance of D
    (Satterthwaite).
    """
    far, mean, variance = spread
    if not (mean > 0.0 and variance > 0.0):
        return False
    freedom = 2.0 * mean**2 / variance
    p_value = float(chdtrc(freedom, freedom * far / mean))
    size = (far - mean) / (n_rows * n_selected)
    return p_value < COVARIANCE_LEVEL and size > COVARIANCE_SIZE


def usual_at_sites(shares: Vector, unevenness: float, n_sites: int) -> Vector:
    """Compute the share of each direction that nearly every site should show.

    Parameters
    ----------
    shares : ndarray of shape (K,)
        Shares over all sites.
    unevenness : float
        Coefficient of variation of what the sites explain.
    n_sites : int
        Number of sites.

    Returns
    -------
    ndarray of shape (K,)
        Shares less so many standard deviations as the 99 % point of a t distribution
        with two degrees of freedom fewer than sites; zeros if sites vary too much, or
        if they are too few to say.
    """
    if n_sites < FEWEST_JUDGED or unevenness > MOST_UNEVEN:
        return np.zeros_like(shares)
    below = float(stdtrit(n_sites - 2, USUALLY)) * unevenness
    return np.asarray(shares * max(1.0 - below, 0.0))


def subspaces_differ(use: Vector, unevenness: float) -> bool:
    """Tell whether sites use fewer directions each than all sites together.

    Parameters
    ----------
    use : ndarray of shape (4,)
        Sum over the sites of `direction_use`.
    unevenness : float
        Coefficient of variation of what the sites explain.

    Returns
    -------
    bool
        Whether what the sites' own last directions explain is noise, up to three
        standard errors, which are less than a quarter of what the last common direction
        adds.
        Not if sites explain very different shares: a link that is used in other places
        at every site, since their means differ, shows one direction here and another
        there.
    """
    n_sites, gain, own, variance = use
    if n_sites < FEWEST_JUDGED - 0.5 or unevenness > MOST_UNEVEN:
        return False
    noise = USE_ERRORS * np.sqrt(max(variance, 0.0))
    return bool(own < noise < OWN_SHARE * gain)


def count_skewed(skewness: Vector, n_rows: int) -> int:
    """Count the selected variables that are strongly skewed.

    Parameters
    ----------
    skewness : ndarray of shape (s,)
        Sum over the sites of the skewness times the number of rows.
    n_rows : int
        Number of rows of all sites.

    Returns
    -------
    int
        Number of variables.
    """
    return int((np.abs(skewness) > SKEWED * n_rows).sum())


def count_squares(squares: Matrix) -> int:
    """Count the columns on whose squares y depends beyond the directions.

    Parameters
    ----------
    squares : ndarray of shape (4, n_features)
        Sum over the sites of `BesideDirections.squares`.

    Returns
    -------
    int
        Number of columns with a significant sum, by a normal law with the level divided
        by the number of sums (Bonferroni).
    """
    totals, variances = np.split(squares, 2)
    sizes = np.abs(totals) / np.sqrt(np.where(variances > 0.0, variances, np.inf))
    limit = -float(ndtri(SQUARES_LEVEL / (2 * sizes.size)))
    return int((sizes > limit).any(axis=0).sum())


def warn_of_covariances(spread: Vector, n_rows: int, n_selected: int) -> None:
    """Warn if the covariances of the sites differ.

    Parameters
    ----------
    spread : ndarray of shape (3,)
        Sum over the sites of `spread_of_covariance`.
    n_rows : int
        Number of rows of all sites.
    n_selected : int
        Number of selected variables.
    """
    if covariances_differ(spread, n_rows, n_selected):
        warn_user(
            "the covariances of the selected variables differ between sites: results "
            f"that assume one covariance can be wrong. See {PAGE}#covariances",
            CovarianceWarning,
        )


def warn_of_findings(
    findings: Findings, total: Summary, columns: NDArray[np.intp], unevenness: float
) -> None:
    """Warn of what the sites have noticed about the directions that were found.

    Parameters
    ----------
    findings : Findings
        Sums over the sites.
    total : Summary
        Sums of the first stage, with the numbers of sites and rows.
    columns : ndarray of int
        Indices of the selected variables.
    unevenness : float
        Coefficient of variation of what the sites explain.
    """
    found = dict(zip(CODES, np.rint(findings.counts).astype(int).tolist(), strict=True))
    texts = {
        "UNITS": "have columns in other units, or of another spread, than the others",
        "SILENT": "show no dependence of y on the directions",
        "OUTSIDE": "have directions of their own",
    }
    for code, text in texts.items():
        if found[code]:
            warn_user(
                f"{found[code]} of {total.n_sites} sites {text}; each of them has been "
                f"told. See {PAGE}#{code.lower()}",
                DisagreementWarning,
            )
    if subspaces_differ(findings.use, unevenness):
        warn_user(
            "the sites use fewer directions each than all of them together, as if "
            "there were groups of sites with subspaces of their own. "
            f"See {PAGE}#groups",
            DisagreementWarning,
        )
    n_skewed = count_skewed(findings.skewness[columns], total.n_rows)
    if n_skewed:
        warn_user(
            f"{n_skewed} of the selected variables are so skewed that directions may "
            f"be curves of others; try scores='normal'. See {PAGE}#skewness",
            SkewnessWarning,
        )
    n_squares = count_squares(findings.squares)
    if n_squares:
        warn_user(
            f"y depends on the squares of {n_squares} column(s) beyond the directions "
            "found: there may be a symmetric link, which this method does not see, or "
            "a variable was missed. "
            f"See {PAGE}#symmetry",
            SymmetryWarning,
        )
