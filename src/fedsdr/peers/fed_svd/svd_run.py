"""The three roles of FedSVD in one process."""

import secrets
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from fedsdr.peers.fed_svd.mask_authority import MaskAuthority
from fedsdr.peers.fed_svd.row_holder import Factors, Holder
from fedsdr.peers.fed_svd.svd_server import FactorisationServer
from fedsdr.peers.fed_svd.svd_terms import SvdTerms
from fedsdr.secure_sum.masks import SEED_BYTES
from fedsdr.transports.in_process import InProcess
from fedsdr.transports.transcript import Transcript

AUTHORITY = "authority"
SERVER = "server"


def random_seed() -> bytes:
    """Draw a seed from the operating system.

    Returns
    -------
    bytes of length 32
        That nobody can guess.
    """
    return secrets.token_bytes(SEED_BYTES)


def masked_svd(
    rows: Mapping[str, NDArray[np.float64]],
    terms: SvdTerms,
    *,
    block_size: int | None = None,
    draw_seed: Callable[[], bytes] = random_seed,
    transcript: Transcript | None = None,
) -> dict[str, Factors]:
    """Run authority, holders and server until every holder has its factors.

    Parameters
    ----------
    rows : mapping of str to ndarray of shape (n_i, n_features)
        Rows of each holder, by its name, which is neither of the names above.
    terms : SvdTerms
        That all agreed on.
    block_size : int or None, default=None
        See `MaskAuthority`.
    draw_seed : callable, default=random_seed
        Gives one seed to the authority and one to each holder.
    transcript : Transcript, optional
        Records the messages of "authority", "server" and holders.

    Returns
    -------
    dict of str to Factors
        What each holder has in the end. A single holder has nobody to hide among: the
        server then sees its masked rows, and it agrees to that.
    """
    if transcript is None:
        transcript = Transcript(keep=False)
    seed = draw_seed()
    holders = {
        name: Holder(
            name, own, terms, seed=draw_seed(), min_peers=min(1, len(rows) - 1)
        )
        for name, own in rows.items()
    }
    keepers = {name: holder.masks for name, holder in holders.items()}
    to_keepers = InProcess(
        keepers, transcript=transcript, driver=AUTHORITY, on_error="raise"
    )
    to_holders = InProcess(
        holders, transcript=transcript, driver=SERVER, on_error="raise"
    )
    MaskAuthority(to_keepers, list(rows), seed, block_size).run()
    FactorisationServer(to_holders, list(rows), terms).run()
    return {name: holder.factors for name, holder in holders.items()}
