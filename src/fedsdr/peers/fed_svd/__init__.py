"""FedSVD: the singular value decomposition of a matrix that nobody sees.

A mask authority draws rotations and shows them to the holders of the rows; the holders
show a server the sum of their rotated parts; the server factorises it. The authority
sees no data, the server no rotation. The two must not be one party, nor talk: together
they can undo the rotations and read every row.
"""

from fedsdr.peers.fed_svd.authority import MaskAuthority
from fedsdr.peers.fed_svd.holder import Factors, Holder
from fedsdr.peers.fed_svd.server import FactorisationServer
from fedsdr.peers.fed_svd.svd_terms import SvdTerms

__all__ = ["FactorisationServer", "Factors", "Holder", "MaskAuthority", "SvdTerms"]
