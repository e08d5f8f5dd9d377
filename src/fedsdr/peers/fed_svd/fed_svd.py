"""Principal components from a singular value decomposition under masks."""

from collections.abc import Callable
from numbers import Integral
from typing import Any, Self

import numpy as np

from fedsdr.arrays import Matrix
from fedsdr.estimators.checks import check_choice, check_flag, check_number
from fedsdr.estimators.reducer import random_generator
from fedsdr.exceptions import InputError, SiteWarning, describe_site, warn_user
from fedsdr.extras import require
from fedsdr.peers.components import Components
from fedsdr.peers.fed_svd.row_holder import Factors
from fedsdr.peers.fed_svd.svd_run import masked_svd, random_seed
from fedsdr.peers.fed_svd.svd_terms import SvdTerms
from fedsdr.rows.own_sites import Communication, group_by_site
from fedsdr.solver import single_threaded_blas
from fedsdr.transports import Transcript


class FedSVD(Components):
    r"""Federated principal component analysis by masked SVD (Chai et al. 2022).

    The exact decomposition of all sites' rows: an authority hands out random rotations,
    the sites show a server the sum of their rotated rows, and the server factorises
    what it cannot read. Unsupervised: y is not looked at.

    Parameters
    ----------
    n_components : int or None, default=None
        Directions that the sites learn; None for all that the rows span.
    center : {"global", "site", False}, default="global"
        Where rows are measured from. "global": the mean of all rows, as in PCA; shifts
        between sites count as variation. "site": the mean of the row's own site, for
        sites that are shifted against each other. False: the origin.
    recover_rows : bool, default=False
        Let each site learn the right singular vectors of its own rows. This shows the
        server the singular values of every single site, see Notes.
    block_size : int or None, default=None
        Largest block of the rotations, 1000 if None: up to that many columns, and that
        many rows in all, are mixed as one. Smaller blocks save time and hide less.
    random_state : int, RandomState instance, Generator or None, default=None
        Draws the masks. Leave it at None, which asks the operating system: masks
        from a known number hide nothing. For tests; it moves results by rounding only.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        Orthonormal directions as rows, the strongest first; the largest entry of each
        is positive.
    directions_ : ndarray of shape (n_features, n_components_)
        The same as columns: left singular vectors of the rows as columns.
    n_components_ : int
        Directions found: fewer than asked for where the rows span fewer.
    singular_values_ : ndarray of shape (n_components_,)
        Sizes of the directions.
    explained_variance_ : ndarray of shape (n_components_,)
        Variances along the directions: squared singular values over the degrees of
        freedom (n - 1, for "site" n minus the number of sites, for False n).
    explained_variance_ratio_ : ndarray of shape (n_components_,)
        Their shares of the total variance.
    row_vectors_ : dict or None
        For each site's label, the right singular vectors of its rows in their order,
        an ndarray of shape (n_i, n_components_); None without `recover_rows`.
    mean_ : ndarray of shape (n_features,)
        Mean of all rows, whichever mean they were centred on; zeros for
        ``center=False``.
    n_samples_seen_ : int
        Rows of all sites.
    communication_ : fedsdr.rows.Communication
        Rounds, with the authority and with the server, and bytes of each site.
    n_features_in_ : int
        Columns seen in fit.
    feature_names_in_ : ndarray of str
        Their names, if they had any.

    Notes
    -----
    With all rows as columns of X, rotations P and Q, and site i's rows
    :math:`X_i` and :math:`Q_i`,

    .. math:: \sum_i P X_i Q_i = P X Q = U' S V'^\top , \qquad
              U = P^\top U' , \qquad V_i = Q_i V' .

    The sum is added in fixed point under pairwise masks, so that the server cannot
    read its terms; one message per site carries 16 bytes for every column of x and
    every row of *all* sites. No approximation is made. Rounding is relative to the
    largest column, since rotations mix all: bring columns to similar units if small
    ones matter. `transform` subtracts `mean_` from all rows, those of any site.

    Who learns what. The server: the singular values of X (of every block of at most
    `block_size` rows and columns, if there are several), and the length of the mean
    and its angles with U. Every site: the mean, U and S, hence the scatter of all
    rows; of two sites each can compute the other's by subtraction. The authority:
    every site's number of rows. Authority and server together could read every row.
    A site alone has nobody to hide among: the server sees its rotated rows.

    With `recover_rows` the server learns more than Chai et al. intend: from the
    :math:`Q_i^\top R_i` that they send it follows :math:`P X_i Q_i`, hence the number
    of rows and the singular values of every single site, see
    `fedsdr.peers.fed_svd.Holder`.

    When it fails: principal components follow the units of the columns and the variance
    of x, and say nothing about y. Every site has to answer to the end.

    References
    ----------
    Chai, Wang, Zhang, Yang, Cai, Xu and Yang (2022). Practical lossless federated
    singular vector decomposition over billion-scale data. Proceedings of the 28th ACM
    SIGKDD Conference on Knowledge Discovery and Data Mining.

    Examples
    --------
    >>> import numpy as np
    >>> from fedsdr import FedSVD
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(90, 4)) * [3.0, 2.0, 1.0, 1.0]
    >>> model = FedSVD(2).fit(X, sites=np.repeat(["a", "b", "c"], 30))
    >>> model.transform(X).shape, model.communication_.rounds
    ((90, 2), 8)
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        center: Any = "global",
        recover_rows: bool = False,
        block_size: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.center = center
        self.recover_rows = recover_rows
        self.block_size = block_size
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sites: Any = None) -> Self:  # noqa: ARG002
        """Find the directions.

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
        FedSVD
            Itself, fitted.
        """
        require("secure", "FedSVD")
        _check_parameters(self)
        least = 1 if self.center is False else 2
        rows = self._rows(X, reset=True, least=least)
        if self.n_components is not None and self.n_components > rows.shape[1]:
            raise InputError(
                f"n_components must be at most the number of columns, {rows.shape[1]}, "
                f"got {self.n_components}"
            )
        parts = {label: rows[own] for label, own in group_by_site(sites, len(rows))}
        _warn_about_sites(parts, self.center)
        # A label could be that of another role.
        names = {label: f"site {index}" for index, label in enumerate(parts)}
        transcript = Transcript(keep=False)
        with single_threaded_blas():
            found = masked_svd(
                {names[label]: own for label, own in parts.items()},
                SvdTerms(self.center, self.n_components, bool(self.recover_rows)),
                block_size=self.block_size,
                draw_seed=_seeds(self.random_state),
                transcript=transcript,
            )
        self._report({label: found[name] for label, name in names.items()})
        self.communication_ = Communication(
            transcript.rounds,
            {
                "only" if label is None else str(label): transcript.bytes_of(name)
                for label, name in names.items()
            },
        )
        self._warn_if_fewer(self.n_components or 1)
        return self

    def _report(self, found: dict[Any, Factors]) -> None:
        """Show what all sites know alike, and their own rows."""
        common = next(iter(found.values()))
        if not len(common.values):
            what = "constant" if self.center else "zero"
            within = " within every site" if self.center == "site" else ""
            raise InputError(
                f"every column of X is {what}{within}, or varies too little to be "
                "added in fixed point: use smaller units"
            )
        signs = self._set_directions(common.left)
        self.singular_values_ = np.array(common.values)
        squares = self.singular_values_**2
        lost = {"global": 1, "site": len(found), False: 0}[self.center]
        self.explained_variance_ = squares / (common.n_rows - lost)
        self.explained_variance_ratio_ = squares / common.total
        self.mean_ = common.mean
        self.n_samples_seen_ = common.n_rows
        self.row_vectors_ = None
        if self.recover_rows:
            rows = {label: own.right for label, own in found.items()}
            self.row_vectors_ = {
                label: own * signs for label, own in rows.items() if own is not None
            }


def _seeds(random_state: Any) -> Callable[[], bytes]:
    if random_state is None:
        return random_seed
    generator = random_generator(random_state)
    return lambda: generator.bytes(32)


def _warn_about_sites(parts: dict[Any, Matrix], center: Any) -> None:
    messages = []
    for label, own in parts.items():
        if len(parts) == 1 and label is not None:
            outcome = "the server sees its rotated rows, which no sum hides"
            messages.append(describe_site(label, "is alone", outcome))
        if center == "site" and len(own) == 1:
            outcome = "it is its own mean and contributes nothing"
            messages.append(describe_site(label, "has one row", outcome))
    for message in messages:
        warn_user(message, SiteWarning)


def _check_parameters(model: FedSVD) -> None:
    for name in ("n_components", "block_size"):
        check_number(name, getattr(model, name), Integral, low=1, optional=True)
    check_choice("center", model.center, ("global", "site", False))
    check_flag("recover_rows", model.recover_rows)
