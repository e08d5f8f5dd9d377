"""FedSVD: the singular value decomposition of a matrix that nobody sees.

A mask authority draws rotations and sends them to the holders of the rows; the holders
send a server the sum of their rotated parts; the server factorises it. The authority
sees no data, the server no rotation. The two must not be one party, nor exchange what
they know: together they can undo the rotations and read every row.

`fed_svd` is the estimator, `svd_run` connects the parties in one process. A holder has
two sides, `row_holder` towards the server and `mask_keeper` towards the authority;
`svd_schema` lists their messages.
"""

from typing import TYPE_CHECKING

from fedsdr.lazy_names import import_lazily
from fedsdr.peers.fed_svd.mask_authority import MaskAuthority
from fedsdr.peers.fed_svd.row_holder import Factors, Holder
from fedsdr.peers.fed_svd.svd_run import masked_svd
from fedsdr.peers.fed_svd.svd_server import FactorisationServer
from fedsdr.peers.fed_svd.svd_terms import SvdTerms

if TYPE_CHECKING:
    from fedsdr.peers.fed_svd.fed_svd import FedSVD

__all__ = [
    "FactorisationServer",
    "Factors",
    "FedSVD",
    "Holder",
    "MaskAuthority",
    "SvdTerms",
    "masked_svd",
]

__getattr__ = import_lazily(__name__, {"FedSVD": "fedsdr.peers.fed_svd.fed_svd"})
