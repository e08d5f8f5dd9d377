"""The paper's protocol, message by message, with one sign corrected.

Algorithm 2 shows the coordinator every site's covariance, and Algorithm 1 shows it
every site's kernel wherever that is not thresholded to zero. The protocol is here to be
compared with `FedSSIR`.

`paper_fed_ssir` is the estimator, `paper_run` runs the protocol in one process from its
first message to a result. `paper_coordinator` and `paper_site` are the parties, and
`paper_schema` lists their messages.
"""

from typing import TYPE_CHECKING

from fedsdr.lazy_names import import_lazily
from fedsdr.peers.paper.paper_coordinator import PaperCoordinator, PaperFit
from fedsdr.peers.paper.paper_site import PaperSite

if TYPE_CHECKING:
    from fedsdr.peers.paper.paper_fed_ssir import PaperFedSSIR

__all__ = ["PaperCoordinator", "PaperFedSSIR", "PaperFit", "PaperSite"]

__getattr__ = import_lazily(
    __name__, {"PaperFedSSIR": "fedsdr.peers.paper.paper_fed_ssir"}
)
