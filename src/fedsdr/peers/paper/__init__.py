"""The paper's protocol, message by message, sign corrected.

Algorithm 2 shows the coordinator every site's covariance, and Algorithm 1 shows it
every site's kernel wherever that is not thresholded to zero. It is here to be compared
with; it is not the default.
"""

from fedsdr.peers.paper.paper_coordinator import PaperCoordinator, PaperFit
from fedsdr.peers.paper.paper_site import PaperSite

__all__ = ["PaperCoordinator", "PaperFit", "PaperSite"]
