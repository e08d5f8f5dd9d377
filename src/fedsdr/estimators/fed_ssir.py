"""Federated sparse sliced inverse regression."""

from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fedsdr.estimators.parameters import check_choices, random_generator
from fedsdr.estimators.reducer import Reducer
from fedsdr.estimators.sites import (
    Communication,
    cost,
    join_in_the_open,
    join_under_masks,
    split_sites,
)
from fedsdr.protocols.sums import SumsCoordinator
from fedsdr.result import Result, make_result
from fedsdr.rows import MemoryRows
from fedsdr.selection import Choices, estimate
from fedsdr.solver.threads import single_threaded_blas
from fedsdr.summaries import is_discrete
from fedsdr.terms import Terms


class FedSSIR(Reducer):
    r"""Federated sparse sliced inverse regression.

    Finds the few variables, in few linear combinations, that y depends on at all
    sites, when neither the distribution of x nor the link need be the same at each.

    Parameters
    ----------
    n_directions : int or {"auto", "bic", "votes"}, default="auto"
        Dimension K. "auto" adds directions while each is more than noise on the
        variables selected; "bic" is the criterion eq2.14a on the pooled kernel; "votes"
        is the paper's way, the most frequent choice of the sites' own BIC.
    penalty : float or {"universal", "moments", "holdout"}, default="universal"
        rho, for columns on the common scale. "universal" is
        :math:`\frac12\sqrt{\log d / N}`, raised where the directions found are noisier
        than that allows for, and followed by a test for missed variables. "moments"
        cross-validates on held-out moments, "holdout" is the paper's way: kernel
        regression eq2.14 on rows held out.
    kernel : {"smooth", "slices", "pairs"}, default="smooth"
        How the movement of x with y is measured; see `fedsdr.summaries.summarize`.
        "slices" is the paper's.
    slice_size : int, default=20
        Rows in a slice, for ``kernel="slices"``.
    refit : bool or float, default=True
        True reports plain SIR on the selected variables, False the top eigenvectors of
        the penalised solution (the paper's way). A number in (0, 1) solves again on the
        selected variables with the penalty times that number.
    standardize : bool, default=True
        The l1 penalty depends on units: put columns on a common scale first, by the
        pooled within-site variance. Directions are reported in the data's own units.
    max_directions : int, default=5
        Largest dimension considered when it is chosen.
    n_folds : int, default=5
        For ``penalty="moments"``.
    validation_fraction : float, default=0.3
        For ``penalty="holdout"``.
    n_penalties : int, default=20
        Size of the grid for "moments" and "holdout".
    min_ratio : float, default=0.15
        Smallest penalty of that grid over the one that selects nothing.
    tol : float, default=1e-6
        Relative duality gap of the convex problem. For ``protocol="paper"`` the change
        of Pi, in Frobenius norm, at which it stops.
    protocol : {"sums", "secure", "paper"}, default="sums"
        "sums": sites tell sums once and the problem is solved once. "secure": the same
        under masks, as between sites that do not trust the coordinator; the same
        result, for at least 3 sites. "paper": Algorithms 1 and 2 of the paper, a
        message each way in every iteration.
    max_iter : int, default=5000
        Iterations at most, for ``protocol="paper"``.
    random_state : int, RandomState instance, Generator or None, default=None
        Splits rows for "moments" and "holdout" and decides ties between "votes"; the
        defaults use no randomness.

    Attributes
    ----------
    directions_ : ndarray of shape (n_features, n_directions_)
        Orthonormal basis of the central subspace, in the data's own units; the largest
        entry of each column is positive.
    support_ : ndarray of bool, shape (n_features,)
        Selected variables.
    n_directions_ : int
        Dimension.
    penalty_ : float
        rho used, for columns on the common scale.
    eigenvalues_ : ndarray of shape (n_directions_,)
        Share of each direction's variance that y explains.
    gap_ : float
        Certified relative duality gap; NaN for ``protocol="paper"``, which cannot
        compute one.
    validation_ : pandas.DataFrame
        The table behind the choices.
    n_iter_ : int
        Iterations of the solver for the penalty chosen.
    communication_ : fedsdr.estimators.sites.Communication
        Rounds, and bytes of each site, that the protocol took.
    result_ : fedsdr.result.Result
        All of it, frozen, with provenance; `to_json` writes it.
    n_features_in_ : int
        Columns seen in fit.
    feature_names_in_ : ndarray of str
        Their names, if they had any.

    Notes
    -----
    Each site centres its rows and contributes sums only (sigma and kernel); the convex
    problem eq2.10 is then solved once. When it fails: SIR is blind to links that are
    symmetric about the mean of the reduced variables, and needs the conditional mean of
    x to be near linear in them. Of duplicated columns either or both may be selected,
    constant columns never are.

    ``protocol="paper"`` is there to be compared with. Its coordinator learns every
    site's covariance and most of every site's kernel; its fixed point is not a solution
    of eq2.10; what it selects is the union of what noise selects at each site; it takes
    thousands of rounds. It knows ``n_directions`` as a number or by votes ("auto" means
    "votes"), ``penalty`` as a number, "holdout" or "universal" (the formula alone), and
    does not refit. The paper's whole recipe is
    ``FedSSIR("votes", penalty="holdout", kernel="slices", standardize=False,
    protocol="paper")``. See ``docs/methods.md``.

    Examples
    --------
    >>> from fedsdr import FedSSIR
    >>> from fedsdr.simulate import make_setting
    >>> data = make_setting(1, n_features=30, random_state=0)
    >>> model = FedSSIR().fit(data.X, data.y, sites=data.sites)
    >>> model.n_directions_, model.support_.nonzero()[0]
    (1, array([0, 1, 2]))
    """

    def __init__(
        self,
        n_directions: Any = "auto",
        *,
        penalty: Any = "universal",
        kernel: Any = "smooth",
        slice_size: int = 20,
        refit: Any = True,
        standardize: bool = True,
        max_directions: int = 5,
        n_folds: int = 5,
        validation_fraction: float = 0.3,
        n_penalties: int = 20,
        min_ratio: float = 0.15,
        tol: float = 1e-6,
        protocol: str = "sums",
        max_iter: int = 5000,
        random_state: Any = None,
    ) -> None:
        self.n_directions = n_directions
        self.penalty = penalty
        self.kernel = kernel
        self.slice_size = slice_size
        self.refit = refit
        self.standardize = standardize
        self.max_directions = max_directions
        self.n_folds = n_folds
        self.validation_fraction = validation_fraction
        self.n_penalties = n_penalties
        self.min_ratio = min_ratio
        self.tol = tol
        self.protocol = protocol
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sites: Any = None) -> Self:
        """Find the central subspace shared by all sites.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows of all sites.
        y : array-like of shape (n_rows,)
            Numbers, or classes.
        sites : array-like of shape (n_rows,), optional
            Label of each row's site; one site if not given.

        Returns
        -------
        FedSSIR
            Itself, fitted.
        """
        return self._fit(X, y, sites)

    def _fit(self, X: Any, y: Any, sites: Any) -> Self:
        choices = check_choices(self)
        rows, responses = self._validate(X, y)
        generator = random_generator(self.random_state)
        parts = split_sites(rows, responses, sites, generator)
        terms = self._terms(choices, responses, strict=len(parts) == 1)
        paper = self.protocol == "paper"
        run = self._fit_as_in_paper if paper else self._fit_by_sums
        with single_threaded_blas():
            self.result_, self.communication_ = run(parts, terms, choices, generator)
        found = self.result_
        self.directions_ = np.array(found.directions)
        self.support_ = np.array(found.support)
        self.eigenvalues_ = np.array(found.eigenvalues)
        self.n_directions_ = self.directions_.shape[1]
        self.penalty_ = found.penalty
        self.gap_ = np.nan if found.gap is None else found.gap
        self.validation_ = pd.DataFrame(list(found.validation))
        return self

    def _terms(
        self, choices: Choices, responses: NDArray[Any], *, strict: bool
    ) -> Terms:
        votes = choices.n_directions == "votes"
        folds = choices.penalty == "moments"
        holdout = choices.penalty == "holdout"
        return Terms(
            n_features=self.n_features_in_,
            kernel=self.kernel,
            slice_size=self.slice_size,
            discrete=is_discrete(responses),
            max_votes=choices.max_directions if votes else 0,
            n_folds=self.n_folds if folds else 0,
            validation_fraction=float(self.validation_fraction) if holdout else 0.0,
            max_candidates=int(self.n_penalties),
            strict=strict,
        )

    def _settings(self) -> dict[str, Any]:
        return {"estimator": type(self).__name__, **self.get_params()}

    def _fit_by_sums(
        self,
        parts: dict[str, MemoryRows],
        terms: Terms,
        choices: Choices,
        generator: np.random.Generator,
    ) -> tuple[Result, Communication]:
        join = join_in_the_open if self.protocol == "sums" else join_under_masks
        add, transport = join(parts, terms, self._feature_names())
        evidence = SumsCoordinator(add, terms).evidence()
        found = estimate(evidence, choices, generator)
        self.n_iter_ = max(found.solution.n_iter, 1)
        total = evidence.total
        result = make_result(
            found,
            self._feature_names(),
            n_rows=total.n_rows,
            n_sites=total.n_sites,
            settings=self._settings(),
        )
        return result, cost(transport, list(parts))

    def _fit_as_in_paper(
        self,
        parts: dict[str, MemoryRows],
        terms: Terms,
        choices: Choices,
        generator: np.random.Generator,
    ) -> tuple[Result, Communication]:
        from fedsdr.peers.paper.paper_run import PaperRun, literal_result

        run = PaperRun(terms, choices, self.max_iter)
        found, communication = run.fit(parts, generator)
        self.n_iter_ = found["validation"][-1]["n_iter"]
        result = literal_result(found, self._feature_names(), self._settings())
        return result, communication
