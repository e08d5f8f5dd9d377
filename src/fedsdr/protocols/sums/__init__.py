"""The default protocol: sum once, solve once.

The pooled covariance and the pooled kernel are sums over sites, and so is everything
else that a choice of K or of the penalty needs. Sites tell sums; the coordinator
solves.
"""

from fedsdr.protocols.sums.coordinator import SumsCoordinator
from fedsdr.protocols.sums.plain import PlainSite, PlainSum

__all__ = ["PlainSite", "PlainSum", "SumsCoordinator"]
