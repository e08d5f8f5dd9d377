"""How much noise a promise needs, and how it is divided between sums and sites."""

from dataclasses import dataclass
from functools import lru_cache

from fedsdr.extras import require
from fedsdr.privacy.privacy_value import Privacy

#: Rows are integer vectors whose squared length is at most 4 ** BITS.
BITS = 14

#: Share of the budget for the means on which sites centre their rows.
CENTRE_SHARE = 0.2


@lru_cache(maxsize=64)
def noise_multiplier(epsilon: float, delta: float) -> float:
    """Return the standard deviation of Gaussian noise for a sensitivity of 1.

    Parameters
    ----------
    epsilon, delta : float
        What is promised.

    Returns
    -------
    float
        Smallest multiplier that the accountant of Renyi differential privacy accepts.

    Notes
    -----
    The discrete Gaussian has the same Renyi bounds as the continuous one, so this
    accountant covers it exactly (Canonne, Kamath and Steinke, 2020, theorem 4).
    """
    require("privacy", "a fit with differential privacy")
    import dp_accounting
    from dp_accounting.rdp import RdpAccountant

    found = dp_accounting.calibrate_dp_mechanism(
        RdpAccountant, dp_accounting.GaussianDpEvent, epsilon, delta
    )
    return float(found)


@dataclass(frozen=True, slots=True)
class NoiseBudget:
    r"""Variances of the noise, in units of the integers that sites add.

    Parameters
    ----------
    multiplier : float
        Noise multiplier z of the whole promise.
    honest : int
        Number of sites whose noise alone must be enough.

    Notes
    -----
    A row adds an integer vector q to the centres of its site and the matrix
    :math:`w w'` to the products, with :math:`|q|^2, |w|^2 \le c = 4^b`. Noise has the
    variance :math:`v_1` in every centre, v outside the diagonal of the products and 2 v
    on it, so that the squared distance of neighbours, in units of the noise, is at most

    .. math:: \frac{|q|^2}{v_1} + \frac{1}{v} \sum_{j<k} w_j^2 w_k^2
              + \frac{1}{2 v} \sum_j w_j^4 \le \frac{c}{v_1} + \frac{c^2}{2 v}
              \le \frac{1}{z^2} .
    """

    multiplier: float
    honest: int

    @classmethod
    def of(cls, privacy: Privacy, honest: int) -> "NoiseBudget":
        """Compute the budget of a promise.

        Parameters
        ----------
        privacy : Privacy
            What is promised.
        honest : int
            Number of sites whose noise alone must be enough, at least 1.

        Returns
        -------
        NoiseBudget
            The variances.
        """
        return cls(noise_multiplier(privacy.epsilon, privacy.delta), honest)

    @property
    def centre_variance(self) -> int:
        """Variance of the noise in a site's centres, all of it added by the site."""
        return _above(self.multiplier**2 * 4.0**BITS / CENTRE_SHARE)

    @property
    def product_variance(self) -> int:
        """Variance that the noise of the honest sites must have beside the diagonal."""
        return _above(self.multiplier**2 * 16.0**BITS / (2.0 * (1.0 - CENTRE_SHARE)))

    @property
    def site_variance(self) -> int:
        """Variance that every site adds to an entry beside the diagonal of products."""
        return -(-self.product_variance // self.honest)


def _above(value: float) -> int:
    """Round up, by more than the product of a few numbers is rounded down."""
    return int(value * (1.0 + 1e-12)) + 1
