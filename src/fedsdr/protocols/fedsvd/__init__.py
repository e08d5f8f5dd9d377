"""FedSVD: the singular value decomposition of a matrix that nobody sees.

A mask authority draws rotations and shows them to the holders of the rows; the holders
show a server the sum of their rotated parts; the server factorises it. The authority
sees no data, the server no rotation. The two must not be one party, nor talk: together
they can undo the rotations and read every row.
"""

from fedsdr.protocols.fedsvd.authority import MaskAuthority
from fedsdr.protocols.fedsvd.holder import Factors, Holder
from fedsdr.protocols.fedsvd.server import FactorisationServer
from fedsdr.protocols.fedsvd.terms import Terms

__all__ = ["FactorisationServer", "Factors", "Holder", "MaskAuthority", "Terms"]
