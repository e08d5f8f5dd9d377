"""What the coordinator does in the paper's protocol."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from fedsdr.arrays import Matrix
from fedsdr.peers.paper.paper_schema import PAPER
from fedsdr.protocols.checked_exchange import ask_checked
from fedsdr.protocols.exchange import Exchange, Replies
from fedsdr.solver.linearized_admm import constrain, square_root


@dataclass(frozen=True, slots=True, eq=False)
class PaperFit:
    """Where a run of Algorithm 1 stopped.

    Parameters
    ----------
    pi : ndarray of shape (d, d)
        Average of the sites' soft-thresholded matrices. Neither a solution of eq2.10
        nor sparse: it has the union of the sites' supports.
    basis : ndarray of shape (d, at most K)
        Its top eigenvectors; fewer than K where fewer variables are selected.
    penalty : float
        Penalty rho.
    n_iter : int
        Iterations.
    change : float
        Frobenius norm of the last step.
    converged : bool
        Whether `change` is below the tolerance, which proves nothing.
    """

    pi: Matrix
    basis: Matrix
    penalty: float
    n_iter: int
    change: float
    converged: bool


@dataclass(slots=True, eq=False)
class PaperCoordinator:
    r"""Runs Algorithms 1 and 2 over an `exchange`.

    Parameters
    ----------
    exchange : Exchange
        Reaches the sites.
    sites : sequence of str
        Their names.
    generator : numpy.random.Generator
        Draws the rotation P.
    nu : float, default=1.0
        ADMM parameter.
    timeout : float, default=600.0
        Seconds a site may take for an answer; no site may fail.

    Notes
    -----
    It sees :math:`P X_i \Psi_i` and every site's iterates, and from them
    :math:`n_i`, :math:`\hat\Sigma_i` and :math:`\hat T_i`.
    """

    exchange: Exchange
    sites: Sequence[str]
    generator: np.random.Generator
    nu: float = 1.0
    timeout: float = 600.0

    def covariance(
        self, n_features: int, *, fitting: bool = False
    ) -> tuple[Matrix, dict[str, int]]:
        r"""Run Algorithm 2, covariance by FedSVD.

        Parameters
        ----------
        n_features : int
            Number of columns d.
        fitting : bool, default=False
            Use the rows for fitting only, not those held out.

        Returns
        -------
        sigma : ndarray of shape (d, d)
            :math:`\frac1N U D^2 U'` with :math:`U = P'U'` and
            :math:`[P X_1 \Psi_1, \dots] = U' D V'`.
        counts : dict of str to int
            Rows of each site: the width of what it sent.
        """
        rotation = np.linalg.qr(self.generator.standard_normal((n_features,) * 2))[0]
        payload = {"rotation": rotation, "fitting": fitting}
        replies = self._ask("paper.mask", payload, d=n_features)
        parts = [reply["rotated"] for reply in replies.values()]
        counts = {site: reply["rotated"].shape[1] for site, reply in replies.items()}
        left, values, _ = np.linalg.svd(np.hstack(parts), full_matrices=False)
        scaled = (rotation.T @ left) * values
        return scaled @ scaled.T / sum(counts.values()), counts

    def votes(self, max_directions: int) -> list[int]:
        """Ask each site for its choice of K.

        Parameters
        ----------
        max_directions : int
            Largest K considered.

        Returns
        -------
        list of int
            From the sites that have one.
        """
        replies = self._ask("paper.vote", {"max_directions": max_directions})
        votes = [reply["n_directions"] for reply in replies.values()]
        return [vote for vote in votes if vote is not None]

    def iterates(
        self,
        sigma: Matrix,
        counts: dict[str, int],
        n_directions: int,
        penalty: float,
        *,
        scale: Matrix | None = None,
        fitting: bool = False,
    ) -> Iterator[Matrix]:
        r"""Run Algorithm 1 for as long as the caller likes.

        Parameters
        ----------
        sigma : ndarray of shape (d, d)
            Pooled covariance, of columns divided by `scale`.
        counts : dict of str to int
            Rows of each site.
        n_directions : int
            K.
        penalty : float
            Penalty rho.
        scale : ndarray of shape (d,), optional
            What the sites divide their columns by; ones, as in the paper, if not given.
        fitting : bool, default=False
            Use the rows for fitting only.

        Yields
        ------
        ndarray of shape (d, d)
            :math:`\Pi^{t+1} = \sum_i \frac{n_i}{N} \Pi_i^{t+}`, after each iteration.
        """
        d = len(sigma)
        terms = {
            "penalty": penalty,
            "nu": self.nu,
            "scale": np.ones(d) if scale is None else scale,
            "fitting": fitting,
        }
        self._ask("paper.start", terms, d=d)
        n_rows = sum(counts.values())
        root = square_root(sigma)
        pi, gamma = np.eye(d), np.zeros((d, d))
        pull = sigma @ sigma - sigma
        while True:
            replies = self._ask("paper.step", {"pi": pi, "pull": pull}, d=d)
            pi = np.zeros((d, d))
            for site, reply in replies.items():
                pi += counts[site] / n_rows * reply["pi"]
            gamma, pull = constrain(pi, gamma, root, n_directions)
            yield pi

    def run(
        self,
        iterates: Iterator[Matrix],
        n_directions: int,
        penalty: float,
        *,
        tol: float,
        max_iter: int,
    ) -> PaperFit:
        r"""Iterate until :math:`\|\Pi^t - \Pi^{t-1}\|_F <` `tol`.

        Parameters
        ----------
        iterates : iterator of ndarray of shape (d, d)
            From `iterates`.
        n_directions : int
            K.
        penalty : float
            Penalty rho.
        tol : float
            The paper's epsilon.
        max_iter : int
            Iterations at most.

        Returns
        -------
        PaperFit
            The last iterate.
        """
        previous: Matrix | None = None
        for n_iter, pi in enumerate(iterates, start=1):
            before = np.eye(len(pi)) if previous is None else previous
            change = float(np.linalg.norm(pi - before))
            previous = pi
            if change < tol or n_iter >= max_iter:
                break
        basis = _leading_eigenvectors(pi, n_directions)
        return PaperFit(pi, basis, penalty, n_iter, change, change < tol)

    def errors(self, bases: Sequence[Matrix]) -> Matrix:
        """Add up the sites' validation errors.

        Parameters
        ----------
        bases : sequence of ndarray of shape (d, K)
            Candidates, in the data's own units.

        Returns
        -------
        ndarray of shape (n_candidates,)
            Sum over sites of their mean squared errors.
        """
        replies = self._ask("paper.errors", {"bases": list(bases)}, c=len(bases))
        return np.sum([reply["errors"] for reply in replies.values()], axis=0)

    def finish(self, fit: PaperFit, counts: dict[str, int]) -> tuple[float, Matrix]:
        """Send the sites the result and ask how much of it they explain.

        Parameters
        ----------
        fit : PaperFit
            Where the run stopped.
        counts : dict of str to int
            Rows of each site.

        Returns
        -------
        objective : float
            Of eq2.10 at Pi, which need not be feasible.
        between : ndarray of shape (K, K)
            ``B' T B`` for the pooled T.
        """
        d, k = fit.basis.shape
        replies = self._ask(
            "paper.finish", {"pi": fit.pi, "basis": fit.basis}, d=d, K=k
        )
        n_rows = sum(counts.values())
        value = sum(counts[s] * r["value"] for s, r in replies.items()) / n_rows
        parts = [counts[s] * r["between"] / n_rows for s, r in replies.items()]
        size = float(np.abs(fit.pi).sum())
        return fit.penalty * size - value, np.sum(parts, axis=0)

    def _ask(self, name: str, payload: dict[str, object], **sizes: int) -> Replies:
        everyone = dict.fromkeys(self.sites, payload)
        return ask_checked(
            self.exchange, PAPER, name, everyone, self.timeout, sizes=sizes
        )


def _leading_eigenvectors(pi: Matrix, n_directions: int) -> Matrix:
    active = np.flatnonzero(pi.any(axis=1))
    symmetric = (pi + pi.T) / 2
    if len(active) < n_directions:
        # A zero eigenvalue has no eigenvector of its own.
        basis = np.zeros((len(pi), len(active)))
        basis[active] = np.linalg.eigh(symmetric[np.ix_(active, active)])[1][:, ::-1]
        return basis
    basis = np.linalg.eigh(symmetric)[1][:, ::-1][:, :n_directions]
    # Eigenvectors of a matrix with zero rows are zero there but for rounding.
    return basis * pi.any(axis=1, keepdims=True)
