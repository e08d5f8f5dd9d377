"""The paper's estimator, fitted by the paper's protocol."""

from numbers import Integral
from typing import Any, Self

from fedsdr.choices import Auto, Bic, Moments
from fedsdr.estimators.checks import check_number
from fedsdr.estimators.reducer import Reducer, aloud, random_generator
from fedsdr.exceptions import InputError
from fedsdr.extras import require
from fedsdr.method import Method
from fedsdr.peers.paper.paper_run import PaperRun, literal_result
from fedsdr.rows import MemoryRows
from fedsdr.rows.row_marks import RowMarks
from fedsdr.rows.site_rows import LARGEST
from fedsdr.solver import single_threaded_blas


class PaperFedSSIR(Reducer):
    r"""Federated sparse SIR by Algorithms 1 and 2 of the paper, message by message.

    It is here to be compared with `FedSSIR`, which solves the same problem from sums
    that every site sends once. The sign of the H update is corrected.

    Parameters
    ----------
    n_directions : int, "votes" or Votes, default="votes"
        Dimension K, or the most frequent choice of the sites' own BIC (eq2.14a).
    penalty : float, str, HoldOut or Universal, default="holdout"
        Penalty rho. "holdout" is kernel regression (eq2.14) on 30 % of every site's
        rows, for 20 penalties; ``HoldOut(fraction=0.5, penalties=10)`` changes that.
        "universal" is :math:`\frac12\sqrt{\log d / N}`.
    kernel : str, Slices, Smooth or Pairs, default="slices"
        How the movement of x with y is measured; see `fedsdr.summaries.summarize`.
        "slices" is the paper's, with 20 rows per slice; ``Slices(size=10)`` or
        ``Slices(number=5)`` change that.
    response : {"auto", "ordered", "classes"}, default="auto"
        What y is taken for, as in `FedSSIR`.
    standardize : bool, default=False
        Whether columns are put on a common scale first, by the pooled within-site
        variance. Directions are reported in the data's own units.
    tol : float, default=1e-6
        Change of Pi, in Frobenius norm, at which the iteration stops.
    max_iter : int, default=5000
        Largest number of iterations for one penalty.
    random_state : int, RandomState instance, Generator or None, default=None
        Draws rotations and the rows held out, and decides ties between votes.
    verbose : int, default=0
        With 1 or more, what is being done is written to stderr.

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
        rho used, for columns on the common scale if there is one.
    eigenvalues_ : ndarray of shape (n_directions_,)
        Share of each direction's variance that y explains.
    validation_ : pandas.DataFrame
        The table behind the choices; its last row is the final run.
    n_iter_ : int
        Iterations of the final run.
    communication_ : fedsdr.rows.Communication
        Rounds of messages, and bytes per site.
    result_ : fedsdr.result.Result
        Everything above, frozen, with provenance; `to_json` writes it.
    n_features_in_ : int
        Columns seen in fit.
    feature_names_in_ : ndarray of str
        Their names, if they had any.

    Notes
    -----
    In every iteration each site thresholds its own matrix and the coordinator averages
    them,

    .. math:: \Pi_i = \mathrm{ST}[\Pi + (\hat T_i - \nu M) / \alpha_i, \rho / \alpha_i],
              \qquad \Pi = \sum_i \frac{n_i}{N} \Pi_i .

    When it fails. The coordinator learns every site's covariance and most of every
    site's kernel. The fixed point is not a solution of eq2.10, and no duality gap can
    be computed. The average has the union of the sites' supports, so that nearly every
    variable is selected. It takes hundreds to thousands of rounds. There is no refit,
    and K and the penalty cannot be chosen by rules that need the pooled kernel. See
    ``docs/methods.md``.

    Examples
    --------
    >>> from fedsdr import PaperFedSSIR
    >>> from fedsdr.simulate import make_setting
    >>> data = make_setting(1, n_sites=3, n_features=10, random_state=0)
    >>> model = PaperFedSSIR(penalty=0.05, tol=1e-3, random_state=0)
    >>> model = model.fit(data.X, data.y, sites=data.sites)
    >>> model.n_directions_, model.communication_.rounds > 100
    (1, True)
    """

    def __init__(
        self,
        n_directions: Any = "votes",
        *,
        penalty: Any = "holdout",
        kernel: Any = "slices",
        response: str = "auto",
        standardize: bool = False,
        tol: float = 1e-6,
        max_iter: int = 5000,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_directions = n_directions
        self.penalty = penalty
        self.kernel = kernel
        self.response = response
        self.standardize = standardize
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

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
        PaperFedSSIR
            Itself, fitted.
        """
        with aloud(self):
            require("secure", "PaperFedSSIR")
            method = self._method()
            generator = random_generator(self.random_state)
            own = self._own_sites(X, y, RowMarks(sites), generator, method.response)
            held = {
                name: rows
                for name, rows in own.rows.items()
                if isinstance(rows, MemoryRows)
            }
            for rows in held.values():
                # The protocol has no step in which sites agree on units.
                rows.check_values(LARGEST)
            run = PaperRun(method.terms(own.variables), method, int(self.max_iter))
            with single_threaded_blas():
                found, self.communication_ = run.fit(held, generator)
            result = literal_result(found, self._feature_names(), method.settings())
            self._adopt(result, max_iter=self.max_iter, random_state=self.random_state)
            return self

    def _method(self) -> Method:
        """Check the parameters; the coordinator never has the pooled kernel."""
        method = Method(
            n_directions=self.n_directions,
            penalty=self.penalty,
            kernel=self.kernel,
            response=self.response,
            refit=False,
            standardize=self.standardize,
            tol=self.tol,
        )
        check_number("max_iter", self.max_iter, Integral, low=1)
        unknown = {
            "n_directions": (Auto, Bic, "a whole number or 'votes'"),
            "penalty": (Moments, Moments, "a number, 'holdout' or 'universal'"),
        }
        for name, (*kinds, allowed) in unknown.items():
            if isinstance(getattr(method, name), tuple(kinds)):
                raise InputError(
                    f"{name} must be {allowed} in the paper's protocol, whose "
                    f"coordinator never has the pooled kernel, got "
                    f"{getattr(self, name)!r}: use FedSSIR"
                )
        return method
