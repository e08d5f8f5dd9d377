"""The accuracy that a promise costs, before any row has been looked at."""

from dataclasses import dataclass

import numpy as np

from fedsdr.privacy import NoiseBudget, RowBounds
from fedsdr.privacy.bounded_rows import PRODUCT_SHARES
from fedsdr.privacy.noise_budget import BITS
from fedsdr.questions import PrivateMoments
from fedsdr.selection import universal_penalty
from fedsdr.study.study_file import StudyFile

#: Length of a typical row, relative to that at which rows are shortened.
TYPICAL = 0.8


@dataclass(frozen=True, slots=True)
class PrivacyCost:
    """Noise of a promise beside the noise of sampling.

    Parameters
    ----------
    n_rows : int
        Number of rows of all sites together that this is said for.
    covariance_noise : float
        Standard deviation of the noise in a correlation of two columns.
    sampling_noise : float
        Standard deviation of the same correlation by sampling alone.
    effective_rows : int
        Number of rows that would have all of this noise by sampling alone.
    penalty, plain_penalty : float
        Universal penalty with and without the noise.
    rows_for_half : int
        Number of rows from which the noise is at most half of that of sampling.
    """

    n_rows: int
    covariance_noise: float
    sampling_noise: float
    effective_rows: int
    penalty: float
    plain_penalty: float
    rows_for_half: int


def cost_of(
    bounds: RowBounds, budget: NoiseBudget, n_sites: int, n_rows: int
) -> PrivacyCost:
    """Compute what a promise costs for a number of rows.

    Parameters
    ----------
    bounds : RowBounds
        Map from rows to integers.
    budget : NoiseBudget
        Noise of every site.
    n_sites : int
        Number of sites; all of them add noise.
    n_rows : int
        Number of rows of all sites together.

    Returns
    -------
    PrivacyCost
        For columns that vary as much as the radius expects: a typical row has 0.8 of
        the length at which rows are shortened.
    """
    d = bounds.n_features
    # In a sum of w w': noise per unit of squared length, and what a row adds to it.
    noise = np.sqrt(float(budget.site_variance) * n_sites) / 4.0**BITS
    per_column = TYPICAL**2 * PRODUCT_SHARES[1] / d
    per_function = PRODUCT_SHARES[2] / bounds.n_functions
    covariance = noise / per_column
    link = noise / np.sqrt(per_column * per_function)
    effective = 1.0 / (1.0 / n_rows + (2.0 * link**2 + covariance**2) / n_rows**2)
    return PrivacyCost(
        n_rows=n_rows,
        covariance_noise=float(covariance / n_rows),
        sampling_noise=float(1.0 / np.sqrt(n_rows)),
        effective_rows=max(int(effective), 1),
        penalty=universal_penalty(d, max(int(effective), 1)),
        plain_penalty=universal_penalty(d, n_rows),
        rows_for_half=int(np.ceil((2.0 * covariance) ** 2)),
    )


def study_cost(study: StudyFile, n_rows: int) -> PrivacyCost:
    """Compute what the privacy of a study costs.

    Parameters
    ----------
    study : StudyFile
        A study with a ``[privacy]`` table.
    n_rows : int
        Number of rows of all sites together.

    Returns
    -------
    PrivacyCost
        Noise beside that of sampling.
    """
    agreed = study.to_study()
    asked = PrivateMoments(agreed.terms)
    return cost_of(asked.bounds, asked.budget, len(agreed.sites), n_rows)


def describe_privacy(study: StudyFile) -> list[str]:
    """Describe in words what the coordinator sees of a study with privacy.

    Parameters
    ----------
    study : StudyFile
        A study with a ``[privacy]`` table.

    Returns
    -------
    list of str
        Descriptions, one line each.
    """
    agreed = study.to_study()
    if study.privacy is None:
        return []
    lost = len(agreed.sites) - agreed.agreed_threshold
    colluding = agreed.agreement().tolerated
    seen = (
        "one sum with noise over the sites that stay: number of rows, means and "
        f"products of {len(agreed.columns)} columns and of functions of y"
    )
    promise = (
        f"epsilon {study.privacy.epsilon:g} and delta {study.privacy.delta:g} hold for "
        "adding or removing one row of one site, against a coordinator with "
        f"{colluding} colluding site(s), also if {lost} site(s) are lost"
    )
    return [seen, promise]


def describe_cost(cost: PrivacyCost) -> list[str]:
    """Describe in words what privacy costs.

    Parameters
    ----------
    cost : PrivacyCost
        For a number of rows.

    Returns
    -------
    list of str
        Descriptions, one line each.
    """
    ratio = cost.covariance_noise / cost.sampling_noise
    noise = (
        f"with {cost.n_rows} rows over all sites the noise of a correlation has a "
        f"standard deviation of {cost.covariance_noise:.2g}, {ratio:.2g} times that "
        "of sampling"
    )
    selection = (
        f"variables are selected as from {cost.effective_rows} rows, with a penalty of "
        f"at least {cost.penalty:.2g} in place of {cost.plain_penalty:.2g}"
    )
    needed = f"{cost.rows_for_half} rows are needed for half as much noise as sampling"
    return [noise, selection, needed]
