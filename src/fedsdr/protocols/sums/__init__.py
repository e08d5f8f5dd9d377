"""The default protocol: sum once, solve once.

The pooled covariance and the pooled kernel are sums over sites, and so is everything
else that a choice of K or of the penalty needs. Sites tell sums; the coordinator
solves.
"""

from fedsdr.protocols.sums.plain import PlainSite, PlainSum
from fedsdr.protocols.sums.sums_coordinator import SumsCoordinator

__all__ = ["PlainSite", "PlainSum", "SumsCoordinator"]
