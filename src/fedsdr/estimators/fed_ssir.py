"""Federated sparse sliced inverse regression."""

from dataclasses import fields
from typing import Any, ClassVar, Self

from fedsdr.estimators.former_names import (
    accept_former_names,
    fit_by_former_protocol,
)
from fedsdr.estimators.reducer import (
    REQUESTED_MARKS,
    Reducer,
    aloud,
    random_generator,
)
from fedsdr.extras import require
from fedsdr.method import Method
from fedsdr.rows.row_marks import RowMarks
from fedsdr.run import run
from fedsdr.summaries.dense_blocks import SUMMED_TYPES

PROTOCOLS = ("sums", "secure")


class FedSSIR(Reducer):
    r"""Federated sparse sliced inverse regression.

    Finds the few variables, and their few linear combinations, on which y depends at
    all sites. Neither the distribution of x nor the link need be the same at all sites.

    Parameters
    ----------
    n_directions : int, str, Auto, Bic or Votes, default="auto"
        Dimension K. "auto" adds directions while each is more than noise on the
        selected variables; "bic" is the criterion eq2.14a on the pooled kernel; "votes"
        is the paper's rule, the most frequent choice of the sites' own BIC. To consider
        more than 5 directions: ``Auto(max_directions=8)``, and likewise for the others.
        ``Auto(min_directions=0)``, or ``FedSSIR(min_directions=0)``, gives no direction
        and no variable if even the first direction cannot be distinguished from noise;
        otherwise the first one is kept, with a `WeakSignalWarning`.
    penalty : float, str, Universal, Moments or HoldOut, default="universal"
        Penalty rho, for columns on the common scale. "universal" is
        :math:`\frac12\sqrt{\log d / N}`, raised if the noise in the estimated
        directions needs a larger penalty, and followed by a test for missed variables.
        "moments" cross-validates on held-out moments, "holdout" is the paper's rule:
        kernel regression eq2.14 on rows held out. With parameters:
        ``Moments(folds=8)``, ``HoldOut(fraction=0.3)``.
    kernel : str, Smooth, Slices or Pairs, default="smooth"
        Estimate of the covariance of E[x | y]; see `fedsdr.summaries.summarize`.
        "slices" is the paper's kernel; ``Slices(size=20)`` or ``Slices(number=10)`` set
        the size or the number of the slices. ``Smooth(own=1)`` uses the sites' own
        kernels only; by default a weak signal is also looked for in the means that
        sites have in common.
    refit : bool, "pooled" or float, default=True
        True estimates directions and their number on the selected variables, each site
        with its own covariance, by a few more sums. "pooled" reports plain SIR on these
        variables, with one covariance for all sites (the default of version 0.1), False
        the leading eigenvectors of the penalised solution (as in the paper). A number
        in (0, 1) solves again on the selected variables with the penalty times that
        number.
    standardize : bool, default=True
        Whether to put columns on a common scale first, by the pooled within-site
        variance, since the l1 penalty depends on units. Directions are reported in the
        units of the data.
    tol : float, default=1e-6
        Relative duality gap of the convex problem.
    scores : {"none", "normal"}, default="none"
        "normal": every column is replaced by normal scores first, for skewed, discrete
        and heavy-tailed columns. They come from quantiles that all sites agree on, by
        two more sums. Directions and coefficients are then those of the scores, and
        `transform` computes the scores of new rows.
    response : {"auto", "ordered", "classes"}, default="auto"
        What y is taken for. "ordered": numbers, of which neighbours are alike, such as
        grades and counts. "classes": each value by itself, without an order. "auto":
        classes if y is text, truth values or categories, or if it has only whole
        numbers, at most 10 different ones, and at most half as many as rows; otherwise
        ordered. ``result_.settings["response_type"]`` says which it was.
    privacy : Privacy or None, default=None
        Differential privacy: ``Privacy(epsilon=1.0, delta=1e-6, ranges=(-4, 4),
        response=(-10, 10))``. Rows are shortened to declared ranges, sites add noise to
        one sum, and everything is estimated from it; see ``docs/privacy.md``. It needs
        the extra ``privacy``.
    dense_limit : int, default=300
        Number of columns up to which sums of all pairs of columns are formed. With
        more, variables are selected among the 200 that move most with y, and the
        solution is proved on all variables from a few columns; those that stand in the
        way become candidates. "moments", "holdout", "votes", "pairs", "tested" and
        "fdr" need all pairs, and accept up to 5,000 columns.
    max_seconds : float, default=15
        Time limit of that proof, less what the selection among candidates took. When it
        is reached, a `ConvergenceWarning` has the best bound so far.
    select : {"criteria", "tested", "fdr"}, Criteria, Tested or Fdr, default="criteria"
        "tested": every variable is tested, too, on halves of the rows that have not
        selected it; ``result_.summary()`` shows tests, q-values, selection frequencies
        and intervals. "fdr": variables are selected by these tests so that the false
        discovery rate is at most 10 %, or ``Fdr(level=...)``. Both need
        ``refit=True`` and a kernel other than "pairs".
    protocol : {"sums", "secure"}, default="sums"
        "sums": the sums of all sites are added in this process. "secure": sums are
        added under masks, with all messages of a study between institutions that do not
        trust the coordinator; the result is the same, for at least 3 sites.
    random_state : int, RandomState instance, Generator or None, default=None
        Source of randomness that splits rows for "moments", "holdout", "tested" and
        "fdr" and decides ties between "votes"; the defaults use no randomness.
    verbose : int, default=0
        If not 0, lines on stderr say what is being done, with the seconds since the
        start. `fedsdr.telling.listening` calls a function of yours instead.

    Attributes
    ----------
    directions_ : ndarray of shape (n_features, n_directions_)
        Orthonormal basis of the central subspace, in the units of the data; the entry
        of largest absolute value in each column is positive.
    support_ : ndarray of bool, shape (n_features,)
        Selected variables.
    n_directions_ : int
        Dimension.
    penalty_ : float
        Penalty rho, for columns on the common scale.
    eigenvalues_ : ndarray of shape (n_directions_,)
        Share of each direction's variance that y explains.
    weak_ : bool
        Whether even the first direction cannot be distinguished from noise; the summary
        of `result_` then says that no direction was found, and names no variable.
    stand_ins_ : dict of str to tuple of str
        Selected variables that near-twins could replace as far as the data can tell,
        with these, the most plausible first; names are "x0", "x1", ... if X has none.
    gap_ : float
        Certified relative duality gap.
    validation_ : pandas.DataFrame
        Table of the candidates and tests on which the choices are based.
    n_iter_ : int
        Number of iterations of the solver for the chosen penalty.
    communication_ : fedsdr.rows.Communication
        Number of rounds, and bytes per site, that the protocol needed.
    result_ : fedsdr.result.Result
        All results in one frozen object, with provenance; `to_json` writes it.
    n_features_in_ : int
        Number of columns in fit.
    feature_names_in_ : ndarray of str
        Names of the columns in fit, if X had names.

    Notes
    -----
    Each site centres its rows and contributes two sums, the covariance
    :math:`\hat\Sigma` of x and the covariance :math:`\hat T` of E[x | y]. Those
    variables are selected that have non-zero rows in the solution of the convex problem
    (eq2.10)

    .. math::
        \min_{\Pi \succeq 0}\; -\langle \hat T, \Pi \rangle
        + \rho \sum_{j,k} |\Pi_{jk}|
        \quad\text{subject to}\quad 0 \preceq H \preceq I,\; \mathrm{tr} H \le K,\;
        H = \hat\Sigma^{1/2} \Pi \hat\Sigma^{1/2} ,

    which is solved with a certificate of optimality; K is `n_directions` and
    :math:`\rho` is `penalty`. The directions B are then estimated on these variables:
    they maximise :math:`\sum_i n_i \mathrm{tr}[(B' S_i B)^{-1} B' T_i B]`, where
    :math:`S_i` and :math:`T_i` are those of site i.

    When it fails: SIR cannot find links that are symmetric about the mean of the
    reduced variables, and needs the conditional mean of x to be near linear in them.
    In skewed columns it is curved: ``scores="normal"`` helps where y depends on the
    scale on which such a column is normal, such as its logarithm.
    Of duplicated columns either or both may be selected, and `stand_ins_` names the
    others; constant columns are never selected.

    Parameters of version 0.1 that are now part of `n_directions`, `penalty` and
    `kernel` work with a warning until version 0.3.

    The paper's own algorithm, message by message, is `fedsdr.PaperFedSSIR`.

    Examples
    --------
    >>> from fedsdr import FedSSIR
    >>> from fedsdr.simulate import make_setting
    >>> data = make_setting(1, n_features=30, random_state=0)
    >>> model = FedSSIR().fit(data.X, data.y, sites=data.sites)
    >>> model.n_directions_, model.support_.nonzero()[0]
    (1, array([0, 1, 2]))
    """

    __metadata_request__fit: ClassVar = REQUESTED_MARKS

    _kept_types = SUMMED_TYPES
    _takes_sparse = True
    _takes_dask = True

    @accept_former_names
    def __init__(
        self,
        n_directions: Any = "auto",
        *,
        penalty: Any = "universal",
        kernel: Any = "smooth",
        refit: Any = True,
        standardize: bool = True,
        tol: float = 1e-6,
        scores: str = "none",
        response: str = "auto",
        privacy: Any = None,
        dense_limit: int = 300,
        max_seconds: float = 15.0,
        select: Any = "criteria",
        protocol: str = "sums",
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_directions = n_directions
        self.penalty = penalty
        self.kernel = kernel
        self.refit = refit
        self.standardize = standardize
        self.tol = tol
        self.scores = scores
        self.response = response
        self.privacy = privacy
        self.dense_limit = dense_limit
        self.max_seconds = max_seconds
        self.select = select
        self.protocol = protocol
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any,
        sites: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
    ) -> Self:
        """Find the central subspace shared by all sites.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Rows of all sites: numpy, pandas, polars, Arrow or scipy.sparse. A sparse
            matrix, float32, and whole numbers of one byte (such as genotypes: 0, 1 and
            2) become dense matrices of float64 block by block only; with
            ``scores="normal"``, or numbers far from 1, all at once. The rows of a data
            frame or array of Dask, with `y` and `sites` in the same partitions, are
            summed by the workers.
        y : array-like of shape (n_rows,)
            Response: numbers, or classes.
        sites : array-like of shape (n_rows,), optional
            Label of each row's site; one site if not given.
        sample_weight : array-like of shape (n_rows,), optional
            How many rows each row stands for: whole numbers. A weight of 3 is the row
            three times, 0 leaves it out.
        groups : array-like of shape (n_rows,), optional
            Subject of each row, where subjects have several rows: folds and halves keep
            their rows together, and tests count subjects. Every row is a subject of its
            own if not given.

        Returns
        -------
        FedSSIR
            The fitted estimator.
        """
        with aloud(self):
            method = self._method()
            marks = RowMarks(sites, sample_weight, groups)
            if self.protocol not in PROTOCOLS:
                return fit_by_former_protocol(self, X, y, marks)
            generator = random_generator(self.random_state)
            adder = self._own_sites(
                X, y, marks, generator, method.response, independent=method.tests
            )
            if self.protocol == "secure":
                require("secure", "protocol='secure'")
                from fedsdr.estimators.masked_sites import add_under_masks

                found, self.communication_ = add_under_masks(adder, method, generator)
            else:
                found = run(adder, method, generator)
                self.communication_ = adder.communication
            self._adopt(found, protocol=self.protocol, random_state=self.random_state)
            self.gap_ = found.gap
            return self

    def _method(self) -> Method:
        """Check all parameters of the fit."""
        return Method(**{one.name: getattr(self, one.name) for one in fields(Method)})
