"""The paper's protocol, run from its first message to a result."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedsdr.arrays import Matrix
from fedsdr.choices import Universal
from fedsdr.estimation import orthonormal
from fedsdr.exceptions import (
    ConvergenceWarning,
    InputError,
    WeakSignalWarning,
    warn_user,
)
from fedsdr.method import Method
from fedsdr.peers.paper.paper_coordinator import PaperCoordinator, PaperFit
from fedsdr.peers.paper.paper_site import PaperSite
from fedsdr.result import Result
from fedsdr.rows import Communication, MemoryRows
from fedsdr.run import provenance
from fedsdr.selection import elect_dimension
from fedsdr.selection.penalties import universal_penalty
from fedsdr.telling import tell
from fedsdr.terms import Terms
from fedsdr.transports import InProcess, Transcript

# Largest penalty that is validated, over sqrt(log d / N): the coordinator does not know
# the kernel, and so not from where on nothing is selected.
LARGEST = 2.0


@dataclass(frozen=True, slots=True)
class PaperRun:
    """How to run the paper's protocol.

    Parameters
    ----------
    terms : Terms
        How sites compute their kernels.
    choices : Method
        K and the penalty, or the paper's way to choose them.
    max_iter : int
        Iterations at most.
    """

    terms: Terms
    choices: Method
    max_iter: int

    def fit(
        self,
        parts: Mapping[str, MemoryRows],
        generator: np.random.Generator,
        transcript: Transcript | None = None,
    ) -> tuple[dict[str, Any], Communication]:
        """Run sites and coordinator to the end of the protocol.

        Parameters
        ----------
        parts : dict of str to MemoryRows
            Sites by name.
        generator : numpy.random.Generator
            Draws rotations and the rows held out, decides ties between votes.
        transcript : Transcript, optional
            Where to record messages; counts only if not given.

        Returns
        -------
        found : dict
            Fields of a `Result` that depend on the data.
        communication : Communication
            Rounds and bytes.
        """
        parties = {name: PaperSite(rows, self.terms) for name, rows in parts.items()}
        keep = Transcript(keep=False) if transcript is None else transcript
        transport = InProcess(parties, transcript=keep, on_error="raise")
        coordinator = PaperCoordinator(transport, list(parts), generator)
        d = self.terms.n_features
        tell("adding covariances")
        sigma, counts = coordinator.covariance(d)
        scale = self._scale(sigma)
        k, rows = self._dimension(coordinator, generator)
        penalty, more = self._penalty(coordinator, k, sum(counts.values()))
        sigma = sigma / np.outer(scale, scale)
        iterates = coordinator.iterates(sigma, counts, k, penalty, scale=scale)
        tell(f"iterating over the sites, at most {self.max_iter} times")
        fit = self._run(coordinator, iterates, k, penalty)
        objective, between = coordinator.finish(fit, counts)
        self._warn(fit, k)
        spread = fit.basis.T @ sigma @ fit.basis
        shares = np.linalg.eigvals(np.linalg.pinv(spread) @ between).real
        found = {
            "directions": orthonormal(fit.basis / scale[:, None]),
            "support": fit.basis.any(axis=1),
            "eigenvalues": np.sort(shares)[::-1],
            "penalty": penalty,
            "objective": objective,
            "dual_bound": None,
            "gap": None,
            "converged": fit.converged,
            "n_rows": sum(counts.values()),
            "n_sites": len(counts),
            "scale": scale,
            "n_iter": fit.n_iter,
            "validation": (*rows, *more, _row(fit)),
        }
        traffic = {name: keep.bytes_of(name) for name in parts}
        return found, Communication(keep.rounds, traffic)

    def _warn(self, fit: PaperFit, n_directions: int) -> None:
        if not fit.converged:
            warn_user(
                f"the paper's iteration was stopped after {fit.n_iter} rounds with a "
                f"change of {fit.change:.1e}, above tol={self.choices.tol:g}: raise "
                "max_iter or tol",
                ConvergenceWarning,
            )
        found = fit.basis.shape[1]
        if found < n_directions:
            warn_user(
                f"{found} direction(s) instead of {n_directions}: with a penalty of "
                f"{fit.penalty:.3g} no more variables are selected; choose a smaller "
                "one",
                WeakSignalWarning,
            )

    def _scale(self, sigma: Matrix) -> Matrix:
        deviations = np.sqrt(np.diag(sigma))
        if not deviations.any():
            raise InputError(
                "every column of X is constant at every site: there is nothing to "
                "reduce"
            )
        usable = deviations > 1e-14 * deviations.max()
        return np.where(usable & self.choices.standardize, deviations, 1.0)

    def _dimension(
        self, coordinator: PaperCoordinator, generator: np.random.Generator
    ) -> tuple[int, tuple[dict[str, Any], ...]]:
        rule = self.choices.n_directions
        if isinstance(rule, int):
            if rule > self.terms.n_features:
                raise InputError(
                    f"n_directions must be from 1 to {self.terms.n_features}"
                )
            return rule, ()
        votes = coordinator.votes(rule.max_directions)
        if not votes:
            raise InputError(
                "no site shows any movement of X with y, so there are no directions to "
                "find; check that y varies within the sites"
            )
        rows = tuple(
            {"step": "vote", "n_directions": k, "sites": votes.count(k)}
            for k in sorted(set(votes))
        )
        return elect_dimension(votes, generator), rows

    def _penalty(
        self, coordinator: PaperCoordinator, k: int, n_rows: int
    ) -> tuple[float, tuple[dict[str, Any], ...]]:
        rule, d = self.choices.penalty, self.terms.n_features
        if isinstance(rule, float):
            return rule, ()
        if isinstance(rule, Universal):
            return universal_penalty(d, n_rows), ()
        sigma, counts = coordinator.covariance(d, fitting=True)
        scale = self._scale(sigma)
        sigma = sigma / np.outer(scale, scale)
        top = LARGEST * np.sqrt(np.log(max(d, 2)) / n_rows)
        grid = np.geomspace(top, rule.min_ratio * top, rule.penalties)
        bases = []
        for done, rho in enumerate(grid.tolist()):
            tell("validating penalties", done, len(grid))
            iterates = coordinator.iterates(
                sigma, counts, k, rho, scale=scale, fitting=True
            )
            fit = self._run(coordinator, iterates, k, rho)
            bases.append(fit.basis / scale[:, None])
        errors = coordinator.errors(bases)
        best = int(np.argmin(errors))
        rows = tuple(
            {
                "step": "holdout",
                "penalty": rho,
                "n_directions": k,
                "error": float(errors[i]),
                "chosen": i == best,
            }
            for i, rho in enumerate(grid.tolist())
        )
        return float(grid[best]), rows

    def _run(
        self, coordinator: PaperCoordinator, iterates: Any, k: int, penalty: float
    ) -> PaperFit:
        return coordinator.run(
            iterates, k, penalty, tol=self.choices.tol, max_iter=self.max_iter
        )


def literal_result(
    found: dict[str, Any], feature_names: tuple[str, ...], settings: dict[str, Any]
) -> Result:
    """Add names, settings and provenance to what the protocol found.

    Parameters
    ----------
    found : dict
        From `PaperRun.fit`.
    feature_names : tuple of str
        One per column.
    settings : dict
        Parameters of the estimator.

    Returns
    -------
    Result
        Frozen, without a certificate.
    """
    return Result(
        feature_names=feature_names,
        settings=settings,
        provenance=provenance(),
        **found,
    )


def _row(fit: PaperFit) -> dict[str, Any]:
    return {
        "step": "paper",
        "penalty": fit.penalty,
        "n_directions": fit.basis.shape[1],
        "n_selected": int(fit.pi.any(axis=1).sum()),
        "n_iter": fit.n_iter,
        "change": fit.change,
        "chosen": True,
    }
