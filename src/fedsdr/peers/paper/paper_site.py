"""What a site does in the paper's protocol."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedsdr.arrays import Matrix
from fedsdr.peers.paper.paper_schema import PAPER
from fedsdr.protocols.checked_exchange import answer_checked
from fedsdr.protocols.exchange import Payload, Refusal
from fedsdr.rows.memory_rows import MemoryRows
from fedsdr.solver.linearized_admm import linearization
from fedsdr.solver.projection import soft_threshold
from fedsdr.summaries import bic_dimension
from fedsdr.summaries.summary import centre
from fedsdr.terms import Terms


@dataclass(slots=True)
class _Running:
    """What a site keeps between two steps of one run of Algorithm 1."""

    kernel: Matrix
    alpha: float
    penalty: float
    nu: float


class PaperSite:
    r"""A site that answers as Algorithms 1 and 2 say.

    Parameters
    ----------
    rows : MemoryRows
        The site's rows; their generator draws the site's own rotation.
    terms : Terms
        Agreed between all parties.

    Notes
    -----
    It sees the rotation P, every iterate and the final result. It sends

    ============  ==========================================================
    message       reply
    ============  ==========================================================
    paper.mask    :math:`P X_i \Psi_i`, from which the coordinator, who drew
                  P, gets :math:`n_i \hat\Sigma_i`
    paper.vote    its own choice of K (eq2.14a)
    paper.start   nothing
    paper.step    :math:`\mathrm{ST}[\Pi + (\hat T_i - \nu M) / \alpha_i,
                  \rho / \alpha_i]`
    paper.errors  mean squared error of each candidate (eq2.14)
    paper.finish  :math:`\langle \hat T_i, \Pi \rangle` and
                  :math:`B' \hat T_i B`; the paper has no such message
    ============  ==========================================================
    """

    def __init__(self, rows: MemoryRows, terms: Terms) -> None:
        self._rows = rows
        self._terms = terms
        self._running: _Running | None = None

    def handle(self, name: str, payload: Payload) -> Payload:
        """Answer one message of the protocol.

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
            "paper.mask": self._mask,
            "paper.vote": self._vote,
            "paper.start": self._start,
            "paper.step": self._step,
            "paper.errors": self._errors,
            "paper.finish": self._finish,
        }
        sizes = {"d": self._terms.n_features}
        return answer_checked(PAPER, answers, name, payload, sizes=sizes)

    def _kept(self, fitting: bool) -> NDArray[np.bool_]:  # noqa: FBT001
        if fitting:
            return ~self._rows.hold_out(self._terms)
        return np.ones(len(self._rows.y), dtype=bool)

    def _mask(self, payload: Payload) -> Payload:
        """Algorithm 2: rotate the centred rows from both sides."""
        X = self._rows.X[self._kept(payload["fitting"])]
        centred, _ = centre(X)
        gaussian = self._rows.generator.standard_normal((len(X), len(X)))
        own_rotation = np.linalg.qr(gaussian)[0]
        return {"rotated": payload["rotation"] @ centred.T @ own_rotation}

    def _vote(self, payload: Payload) -> Payload:
        own = self._rows.summarize(self._terms)
        if not own.between.any():
            return {"n_directions": None}
        limit = payload["max_directions"]
        return {"n_directions": bic_dimension(own.kernel, own.n_rows, limit)}

    def _start(self, payload: Payload) -> Payload:
        fitting = payload["fitting"]
        strict = self._terms.strict and not fitting
        own = self._rows.summarize(self._terms, self._kept(fitting), strict=strict)
        own = own.scaled(payload["scale"])
        alpha = linearization(own.sigma, payload["nu"])
        # A site whose rows are all alike has no step of its own; any will do.
        self._running = _Running(
            own.kernel, alpha or 1.0, payload["penalty"], payload["nu"]
        )
        return {}

    def _step(self, payload: Payload) -> Payload:
        """Algorithm 1, Pi update."""
        own = self._started()
        forward = payload["pi"] + (own.kernel - own.nu * payload["pull"]) / own.alpha
        return {"pi": soft_threshold(forward, own.penalty / own.alpha)}

    def _errors(self, payload: Payload) -> Payload:
        return {"errors": self._rows.errors(self._terms, payload["bases"])}

    def _finish(self, payload: Payload) -> Payload:
        own = self._started()
        basis = payload["basis"]
        return {
            "value": float((own.kernel * payload["pi"]).sum()),
            "between": basis.T @ own.kernel @ basis,
        }

    def _started(self) -> _Running:
        if self._running is None:
            raise Refusal("ORDER", "paper.start comes first")
        return self._running
