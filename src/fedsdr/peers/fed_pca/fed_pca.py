"""Federated principal component analysis."""

from collections.abc import Hashable
from typing import Any, ClassVar, Self

import numpy as np

from fedsdr.estimators.reducer import random_generator
from fedsdr.exceptions import InputError, SiteWarning, describe_site, warn_user
from fedsdr.peers.components import Components
from fedsdr.peers.fed_pca.stream_settings import check_stream
from fedsdr.peers.fed_pca.subspace import Subspace


class FedPCA(Components):
    r"""Federated, streaming principal component analysis (Grammenos et al. 2020).

    Every site reads its rows once, in blocks, and keeps a few directions and their
    sizes; these are merged two by two along a tree. Unsupervised: y is not looked at.

    Parameters
    ----------
    n_components : int or None, default=None
        Directions reported. None reports all that are kept, and keeps all unless
        `working_rank` says otherwise, which makes the result exact: that of
        `sklearn.decomposition.PCA` on the pooled rows. With `adapt_rank`, how many to
        start with; None starts with one.
    working_rank : int or None, default=None
        Directions kept at every site and in every merge, at least `n_components`: the
        more, the closer the result is to the exact one. None for as many as are
        reported, as in the paper.
    block_size : int or None, default=None
        Rows that a site reads at a time; None for all that `fit` or `partial_fit` is
        given. The last block may be smaller.
    center : {"global", "site", False}, default="global"
        Where rows are measured from. "global": the mean of all rows, as in PCA; shifts
        between sites count as variation. "site": the mean of the row's own site, for
        sites that are shifted against each other. False: the origin, as in the paper.
    adapt_rank : bool, default=False
        Let each site's number of directions follow its data after every block, see
        `fedsdr.peers.fed_pca.RankAdaption`; merges keep the largest.
    rank_bounds : tuple of two floats, default=(1.0, 10.0)
        For `adapt_rank`, in percent: one direction less when the last holds a smaller
        share of the sum of singular values than the first bound, one more when it holds
        a larger one than the second.
    forgetting : float, default=1.0
        Factor in (0, 1] on a site's singular values before each of its blocks: older
        rows count less. 1 forgets nothing.
    tree : {"balanced", "chain"} or callable, default="balanced"
        Order of merges. A callable takes the list of site labels and returns nested
        pairs of them, such as ``(("a", "b"), "c")``.
    epsilon : float or None, default=None
        Private mode: privacy loss, see Notes. None adds no noise.
    delta : float, default=1e-6
        Private mode: choose it far below one over the number of rows.
    max_norm : float, default=1.0
        Private mode: longer rows are scaled down to this norm.
    noise : {"mod-sulq", "gaussian"}, default="mod-sulq"
        Private mode: the paper's amount of noise, or the smallest with the same
        guarantee, see `fedsdr.peers.fed_pca.UpdatePrivacy`.
    random_state : int, RandomState instance, Generator or None, default=None
        Draws the noise of the private mode; nothing else is random.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        Orthonormal directions as rows, the strongest first; the largest entry of each
        is positive.
    directions_ : ndarray of shape (n_features, n_components_)
        The same as columns, as in the other reducers.
    n_components_ : int
        Directions found: fewer than asked for where the rows span fewer.
    singular_values_ : ndarray of shape (n_components_,)
        Sizes of the directions.
    explained_variance_ : ndarray of shape (n_components_,)
        Variances along the directions: squared singular values over the degrees of
        freedom (n - 1, for "site" n minus the number of sites, for False n).
    explained_variance_ratio_ : ndarray of shape (n_components_,)
        Their shares of the total variance, which is exact however few directions are
        kept. Not set in private mode.
    sine_bound_ : float
        Bound on the sine of the largest angle between the directions and those of
        the exact analysis; 0 if nothing was cut on the way, 1 says nothing. Not set
        in private mode.
    mean_ : ndarray of shape (n_features,)
        Mean of all rows, whichever mean they were centred on; zeros for
        ``center=False``.
    n_samples_seen_ : int
        Rows read since the last `fit`.
    n_features_in_ : int
        Columns seen in fit.
    feature_names_in_ : ndarray of str
        Their names, if they had any.

    Notes
    -----
    A block B (rows as columns) is added to the directions U and singular values s
    through the QR decomposition of :math:`B - U U^\top B`; two sites are merged by the
    singular value decomposition of :math:`[U_1 S_1, U_2 S_2]`. A mean that moves adds
    one more column, so centring is exact in a stream too. While nothing is cut, the
    answer depends neither on blocks nor on sites nor on the tree. Cut to
    `working_rank`, it does, and variances come out too small, never too large; the
    error is bounded by `sine_bound_` and is small where the spectrum decays fast
    beyond the cut. The authors' code drops rows after the last full block; here they
    are read.

    `transform` subtracts `mean_` from all rows, new ones and those of any site.

    Private mode. A site shows every block only through its second moment with normal
    noise on each entry, after scaling rows down to `max_norm`; how many were too long
    is not reported, since that is not private. For sites and blocks fixed beforehand
    the attributes are (epsilon, delta)-differentially private for the replacement of
    one row, because each row enters one block. This does not cover: the numbers of rows
    and the labels of sites, which count as public; scores from `transform` of the
    rows themselves; fitting the same rows again, where losses add up; a seed that
    others know, with which the noise can be taken out; attacks on floating-point
    noise; parameters chosen by looking at the rows. Means would leak, so centring must
    be off: subtract a centre known from elsewhere. The norm of the paper's
    noise is some :math:`35\, d^{3/2} / (\varepsilon n)` in a block of n rows, that of
    the moment at most 1: fewer rows than that drown. ``noise="gaussian"`` is some 4 d
    times smaller for epsilon up to 1.

    When it fails: principal components follow the units of the columns and the variance
    of x, and say nothing about y.

    References
    ----------
    Grammenos, Mendoza-Smith, Crowcroft and Mascolo (2020). Federated principal
    component analysis. Advances in Neural Information Processing Systems 33.

    Examples
    --------
    >>> import numpy as np
    >>> from fedsdr import FedPCA
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(90, 4)) * [3.0, 2.0, 1.0, 1.0]
    >>> model = FedPCA(2, block_size=10).fit(X, sites=np.repeat(["a", "b", "c"], 30))
    >>> model.transform(X).shape
    (90, 2)
    """

    __metadata_request__partial_fit: ClassVar = {"sites": True}

    _states: dict[Hashable, Subspace]
    _generator: np.random.Generator

    def __init__(
        self,
        n_components: int | None = None,
        *,
        working_rank: int | None = None,
        block_size: int | None = None,
        center: Any = "global",
        adapt_rank: bool = False,
        rank_bounds: tuple[float, float] = (1.0, 10.0),
        forgetting: float = 1.0,
        tree: Any = "balanced",
        epsilon: float | None = None,
        delta: float = 1e-6,
        max_norm: float = 1.0,
        noise: Any = "mod-sulq",
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.working_rank = working_rank
        self.block_size = block_size
        self.center = center
        self.adapt_rank = adapt_rank
        self.rank_bounds = rank_bounds
        self.forgetting = forgetting
        self.tree = tree
        self.epsilon = epsilon
        self.delta = delta
        self.max_norm = max_norm
        self.noise = noise
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sites: Any = None) -> Self:  # noqa: ARG002
        """Find the directions, forgetting what was learnt before.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows of all sites.
        y : None
            Not looked at.
        sites : array-like of shape (n_rows,), optional
            Label of each row's site; one site if not given.

        Returns
        -------
        FedPCA
            Itself, fitted.
        """
        stream = check_stream(self)
        least = 1 if self.center is False else 2
        rows = self._rows(X, reset=True, least=least)
        self._begin()
        states, merged = stream.read({}, rows, sites, self._generator)
        if not len(merged.values):
            raise InputError(_nothing_found(self))
        if self.center == "site":
            for label, state in states.items():
                if state.n_rows == 1:
                    outcome = "it is its own mean and contributes nothing"
                    text = describe_site(label, "has one row", outcome)
                    warn_user(text, SiteWarning)
        self._report(states, merged)
        if not self.adapt_rank:
            self._warn_if_fewer(self.n_components or 1)
        return self

    def partial_fit(self, X: Any, y: Any = None, sites: Any = None) -> Self:  # noqa: ARG002
        """Read more rows, at sites known or new.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            New rows; one is enough.
        y : None
            Not looked at.
        sites : array-like of shape (n_rows,), optional
            Label of each row's site. Give it always or never.

        Returns
        -------
        FedPCA
            Itself, with the directions of all rows read; fewer than asked for, without
            a warning, while those rows span fewer.
        """
        stream = check_stream(self)
        first = not hasattr(self, "_states")
        rows = self._rows(X, reset=first)
        if first:
            self._begin()
        elif (None in self._states) != (sites is None):
            raise InputError(
                "earlier rows came "
                f"{'without' if None in self._states else 'with'} site labels: give "
                "labels with every call or with none"
            )
        known = getattr(self, "_states", {})
        self._report(*stream.read(known, rows, sites, self._generator))
        return self

    def _begin(self) -> None:
        for name in ("explained_variance_ratio_", "sine_bound_"):
            if hasattr(self, name):
                delattr(self, name)
        # One stream for all blocks to come: noise must never repeat.
        self._generator = random_generator(self.random_state)

    def _report(self, states: dict[Hashable, Subspace], merged: Subspace) -> None:
        self._states = states
        self._set_directions(merged.basis)
        self.singular_values_ = merged.values
        self.mean_ = merged.mean
        self.n_samples_seen_ = merged.n_rows
        squares = merged.values**2
        freedom = merged.weight
        if self.center == "global":
            freedom = merged.freedom
        elif self.center == "site":
            freedom = sum(state.freedom for state in states.values())
        self.explained_variance_ = squares / freedom
        if self.epsilon is None:
            self.explained_variance_ratio_ = squares / merged.total
            self.sine_bound_ = merged.sine_bound()


def _nothing_found(model: FedPCA) -> str:
    if model.epsilon is not None:
        return "only noise is left of the rows: use more rows or a larger epsilon"
    if model.center == "site":
        return "every column of X is constant within every site"
    return f"every column of X is {'constant' if model.center else 'zero'}"
