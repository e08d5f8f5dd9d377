"""What a holder of rows sends the server."""

import secrets
from dataclasses import dataclass

import numpy as np

from fedsdr.arrays import Matrix
from fedsdr.exceptions import InputError
from fedsdr.peers.fed_svd.mask_keeper import MaskKeeper
from fedsdr.peers.fed_svd.rotations import haar
from fedsdr.peers.fed_svd.secret_draws import Draws
from fedsdr.peers.fed_svd.svd_schema import FEDSVD
from fedsdr.peers.fed_svd.svd_terms import CODE, SvdTerms, check_range
from fedsdr.protocols.checked_exchange import answer_checked
from fedsdr.protocols.exchange import Payload, Refusal
from fedsdr.secure_sum.masks import SEED_BYTES
from fedsdr.summaries.summary import centre


@dataclass(frozen=True, slots=True, eq=False)
class Factors:
    r"""What a holder has in the end.

    Parameters
    ----------
    left : ndarray of shape (n_features, k)
        Left singular vectors U of all holders' rows, as columns of X.
    values : ndarray of shape (k,)
        Singular values, positive and descending.
    total : float
        Sum of all squared singular values, also of those not sent.
    mean : ndarray of shape (n_features,)
        Mean of all rows; zeros if rows are not centred.
    n_rows : int
        Rows of all holders.
    right : ndarray of shape (n, k) or None
        Right singular vectors of the holder's own rows, None unless agreed on.
    """

    left: Matrix
    values: Matrix
    total: float
    mean: Matrix
    n_rows: int
    right: Matrix | None = None


class Holder:
    r"""The side of a holder that answers the server.

    Parameters
    ----------
    name : str
        Its name.
    X : ndarray of shape (n_rows, n_features)
        Its rows, one at least.
    terms : SvdTerms
        That it agreed to.
    seed : bytes of length 32, optional
        For the rotations :math:`R_i`; random if not given.
    min_peers : int, default=1
        How many other holders it insists on, see `MaskKeeper`.

    Attributes
    ----------
    masks : MaskKeeper
        Its side that answers the authority.

    Notes
    -----
    With X the N rows of all holders as columns, :math:`X_i` those of this one, and
    :math:`Q_i` its rows of Q, it sends

    ==============  ========================================================
    message         reply
    ==============  ========================================================
    fedsvd.begin    the numbers of columns of X, of its variables, of holders
                    and of blocks of Q
    fedsvd.share    :math:`P X_i 1 / N`, masked, if rows are centred
    fedsvd.mean     nothing; the message brings :math:`P X 1 / N`
    fedsvd.columns  some columns of :math:`P X_i Q_i`, masked
    fedsvd.factors  nothing; the message brings :math:`U'` and S
    fedsvd.cover    :math:`Q_i^\top R_i` for a block of Q, if agreed on
    fedsvd.rows     nothing; the message brings :math:`V'^\top Q_i^\top R_i`
    ==============  ========================================================

    "Masked" is the secure sum of pairwise masks: the server can read the sum over all
    holders only. The last two messages exist where the terms say `recover_rows`. Chai
    et al. mean :math:`R_i` to keep :math:`Q_i` from the server, and so it does, but not
    the projector :math:`Q_i^\top R_i R_i^\top Q_i = Q_i^\top Q_i`. With it the server
    gets :math:`P X Q\, Q_i^\top Q_i = P X_i Q_i`, the part of one holder, which the
    masked sum was to hide: its number of rows, its singular values, and its scatter
    up to the rotation P; where it has one row x in a block of Q, P x up to its sign.
    Hence rows are not recovered unless a holder agreed to it.

    In the end every holder knows the scatter :math:`U S^2 U^\top` of all rows. Of two
    holders each can subtract its own.
    """

    def __init__(
        self,
        name: str,
        X: Matrix,
        terms: SvdTerms,
        *,
        seed: bytes | None = None,
        min_peers: int = 1,
    ) -> None:
        self._X = X
        self._terms = terms
        self._draws = Draws(secrets.token_bytes(SEED_BYTES) if seed is None else seed)
        self._next: str | None = "fedsvd.begin"
        self._own = self._mean = np.zeros(X.shape[1])
        self._left = np.empty((X.shape[1], 0))
        self._n_sent = 0
        self._n_recovered = 0
        self._undo = np.empty((0, 0))
        self._factors: Factors | None = None
        self.masks = MaskKeeper(name, *X.shape, min_peers=min_peers)

    @property
    def factors(self) -> Factors:
        """What came out; a `Refusal` before the end."""
        if self._factors is None or self._next is not None:
            raise Refusal("ORDER", "the decomposition has not ended")
        return self._factors

    def handle(self, name: str, payload: Payload) -> Payload:
        """Answer one message of the server.

        Parameters
        ----------
        name : str
            One of those above.
        payload : dict
            Its content.

        Returns
        -------
        dict
            The reply.
        """
        answers = {
            "fedsvd.begin": self._begin,
            "fedsvd.share": self._share,
            "fedsvd.mean": self._learn_mean,
            "fedsvd.columns": self._columns,
            "fedsvd.factors": self._learn_factors,
            "fedsvd.cover": self._cover,
            "fedsvd.rows": self._learn_rows,
        }
        asks_for_rows = name in ("fedsvd.cover", "fedsvd.rows")
        if asks_for_rows and not self._terms.recover_rows:
            raise Refusal("DISCLOSURE", "recovering rows shows this holder's part")
        if name in answers and name != self._next:
            raise Refusal("ORDER", f"{self._next} was expected")
        sizes = {"d": self._X.shape[1], "words": CODE.words}
        return answer_checked(FEDSVD, answers, name, payload, sizes=sizes)

    def _begin(self, payload: Payload) -> Payload:
        if not self.masks.complete:
            raise Refusal("ORDER", "the masks come first")
        if payload["terms"] != self._terms.to_payload():
            raise Refusal("TERMS")
        limit = CODE.limit(self.masks.n_holders)
        if np.abs(self._X).max() >= limit:
            raise InputError(
                f"numbers of {limit:.0e} or more cannot be added in fixed point: use "
                "larger units"
            )
        if self._terms.center is False:
            self._left = self.masks.rotation.apply(self._X.T)
            self._next = "fedsvd.columns"
        else:
            self._next = "fedsvd.share"
        return {
            "n_columns": self.masks.n_columns,
            "n_features": self._X.shape[1],
            "n_holders": self.masks.n_holders,
            "n_blocks": len(self.masks.slices),
        }

    def _share(self, _: Payload) -> Payload:
        rotation = self.masks.rotation
        centred, own = centre(self._X)
        weight = len(self._X) / self.masks.n_columns
        masked = self.masks.hide(rotation.apply(weight * own), "share")
        self._own, self._left = rotation.apply(own), rotation.apply(centred.T)
        self._next = "fedsvd.mean"
        return {"masked": masked}

    def _learn_mean(self, payload: Payload) -> Payload:
        pooled = payload["mean"]
        self._mean = self.masks.rotation.undo(pooled)
        if self._terms.center == "global":
            self._left += (self._own - pooled)[:, None]
        self._next = "fedsvd.columns"
        return {}

    def _columns(self, payload: Payload) -> Payload:
        n_columns = self.masks.n_columns
        start = check_range(payload["start"], self._n_sent, self._n_sent)
        stop = check_range(payload["stop"], start + 1, n_columns)
        part = self.masks.rotate(self._left, start, stop)
        masked = self.masks.hide(part, f"columns {start} to {stop}")
        self._n_sent = stop
        if stop == n_columns:
            self._next = "fedsvd.factors"
        return {"masked": masked}

    def _learn_factors(self, payload: Payload) -> Payload:
        left, values, total = payload["left"], payload["values"], payload["total"]
        if total < 0.0:
            raise Refusal("MALFORMED", "a sum of squares cannot be negative")
        recover = self._terms.recover_rows and left.shape[1] > 0
        self._factors = Factors(
            left=self.masks.rotation.undo(left),
            values=values,
            total=total,
            mean=self._mean,
            n_rows=self.masks.n_columns,
            right=np.empty((len(self._X), left.shape[1])) if recover else None,
        )
        self._next = "fedsvd.cover" if recover else None
        return {}

    def _cover(self, payload: Payload) -> Payload:
        check_range(payload["block"], self._n_recovered, self._n_recovered)
        part = self.masks.slices[self._n_recovered]
        self._undo = haar(len(part.rows), self._draws.normal)
        self._next = "fedsvd.rows"
        return {"cover": part.block.T @ self._undo}

    def _learn_rows(self, payload: Payload) -> Payload:
        factors, part = self._factors, self.masks.slices[self._n_recovered]
        assert factors is not None
        assert factors.right is not None
        covered = payload["covered"]
        if covered.shape != (factors.left.shape[1], len(part.rows)):
            raise Refusal("MALFORMED", "one row per direction, one column per own row")
        factors.right[part.rows] = self._undo @ covered.T
        self._n_recovered += 1
        last = self._n_recovered == len(self.masks.slices)
        self._next = None if last else "fedsvd.cover"
        return {}
