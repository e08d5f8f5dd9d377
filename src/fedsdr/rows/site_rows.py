"""Base class of the rows of a site, whether they are in memory or read in batches."""

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedsdr.arrays import Mask, Matrix, Vector
from fedsdr.data.names import enumerate_names
from fedsdr.disclosure import ColumnOrigin, Facts
from fedsdr.exceptions import InputError, SiteWarning, describe_site, warn_user
from fedsdr.normal_scores import NormalScores
from fedsdr.rows.dealt_rows import DealtRows
from fedsdr.rows.folds import ScoreFold
from fedsdr.summaries import Summary
from fedsdr.summaries.column_spread import (
    ROUNDING,
    ColumnSpread,
    Powers,
    far_apart,
)
from fedsdr.summaries.half_summaries import HalfSums
from fedsdr.summaries.slicing import Smooth, Weights, weigh
from fedsdr.terms import Terms

Functions = Callable[[slice], Matrix]

# Values whose squares can be added; larger ones are rescaled first.
LARGEST = 1e100

# Below it, values can be rescaled.
LARGEST_HELD = 1e305


def no_functions(_: slice) -> Matrix:
    """Return no function of y, for sums of the columns alone.

    Parameters
    ----------
    _ : slice
        Rows.

    Returns
    -------
    ndarray of shape (0, 0)
        Nothing.
    """
    return np.zeros((0, 0))


class Rows(DealtRows):
    """The rows of one site, and the sums that can be computed from them.

    Rows are in memory (`fedsdr.rows.MemoryRows`) or read in batches
    (`fedsdr.rows.StreamedRows`); both compute the same sums.
    """

    __slots__ = ()

    generator: np.random.Generator
    label: object
    columns: tuple[str, ...]
    origin: ColumnOrigin | None
    _folded: "tuple[ScoreFold, Rows] | None"

    @abstractmethod
    def check(
        self,
        terms: Terms,
        columns: tuple[str, ...] = (),
        largest: float = LARGEST_HELD,
    ) -> None:
        """Check that the rows have the columns and values that a study needs.

        Parameters
        ----------
        terms : Terms
            Terms that all parties agreed on.
        columns : tuple of str, default=()
            Names of the columns of the study, in order.
        largest : float, default=1e305
            Values of X must be smaller; those of y smaller than 1e100.

        Raises
        ------
        InputError
            If they do not; the error contains columns and counts, never a value.
        """

    @property
    @abstractmethod
    def measured(self) -> ColumnSpread:
        """Spread of the columns as the site holds them, whatever has been set since."""

    @abstractmethod
    def rescale(self, powers: Powers | None) -> None:
        """Divide columns by powers of two, before gaps are filled and columns scored.

        Parameters
        ----------
        powers : ndarray of int, shape (n_features,), or None
            Powers that all sites agreed on; None for the columns as they are held.
        """

    def warn_if_far(self, powers: Powers | None) -> None:
        """Warn if columns have numbers far from those of other sites.

        Parameters
        ----------
        powers : ndarray of int, shape (n_features,), or None
            Powers that all sites agreed on.
        """
        if powers is None:
            return
        spread = self.measured
        far = np.flatnonzero(far_apart(powers, spread) & spread.varies)
        if far.size:
            problem = (
                f"has numbers of another order than other sites in {self.name(far)}"
            )
            remedy = "check their units; here they count as constant"
            warn_user(describe_site(self.label, problem, remedy), SiteWarning)

    def name(self, places: NDArray[np.intp]) -> str:
        """Name columns.

        Parameters
        ----------
        places : ndarray of int
            Indices of the columns.

        Returns
        -------
        str
            Names, or numbers if the columns have no names.
        """
        if not self.columns:
            return "column(s) number " + enumerate_names([f"{j}" for j in places])
        return enumerate_names([self.columns[j] for j in places])

    @abstractmethod
    def totals(self, columns: Sequence[int]) -> Matrix:
        """Count and add the values that are not missing, in columns with gaps.

        Parameters
        ----------
        columns : sequence of int
            Indices of the columns.

        Returns
        -------
        ndarray of shape (2 * n_columns,)
            Number of values of each column, then their sums.
        """

    @abstractmethod
    def fill(self, columns: Sequence[int], values: Matrix) -> None:
        """Fill gaps; values of an earlier call are replaced.

        Parameters
        ----------
        columns : sequence of int
            Indices of the columns.
        values : ndarray of shape (n_columns,)
            Value for the gaps of each column.
        """

    @abstractmethod
    def score(self, scores: NormalScores | None) -> None:
        """Replace all columns by scores, in place of those of an earlier call.

        Parameters
        ----------
        scores : NormalScores or None
            Map of each column; None for the columns themselves.
        """

    @abstractmethod
    def held(self) -> Iterator[Matrix]:
        """Read the rows once as the site holds them.

        Yields
        ------
        ndarray of shape (n_batch, n_features)
            Rows, rescaled, before gaps are filled and columns are scored; NaN is a gap.
            They must not be overwritten.
        """

    @abstractmethod
    def some(self, kept: Mask) -> "Rows":
        """Return some of the rows, as the site holds them.

        Parameters
        ----------
        kept : ndarray of bool, shape (n_rows,)
            Which ones.

        Returns
        -------
        Rows
            These rows: not rescaled, with their gaps, and not scored.
        """

    def of_fold(self, fold: ScoreFold) -> "Rows":
        """Return the rows that a sum for a fold is over.

        Parameters
        ----------
        fold : ScoreFold
            The fold, or all rows outside it.

        Returns
        -------
        Rows
            These rows, of which the last ones are kept for the next sum.
        """
        if self._folded is None or self._folded[0] != fold:
            # Both kinds of rows have the slot.
            self._folded = fold, self.some(self.in_fold(fold))  # type: ignore[misc]
        return self._folded[1]

    @abstractmethod
    def errors(self, terms: Terms, bases: Sequence[Matrix]) -> Matrix:
        """Compute the validation error of candidate directions (eq2.14).

        Parameters
        ----------
        terms : Terms
            Terms that all parties agreed on.
        bases : sequence of ndarray of shape (n_features, K)
            Candidate bases.

        Returns
        -------
        ndarray of shape (n_candidates,)
            Mean squared errors on the rows held out.
        """

    @abstractmethod
    def batches(
        self,
        columns: NDArray[np.intp],
        scale: Vector,
        functions: Functions = no_functions,
    ) -> Iterator[tuple[Matrix, Matrix]]:
        """Read some columns once, centred on the site's mean and divided by a scale.

        Parameters
        ----------
        columns : ndarray of int
            Indices of the columns.
        scale : ndarray of shape (n_columns,)
            Divisor of each column.
        functions : callable, default=no_functions
            From a slice of rows to the values of the functions of y.

        Yields
        ------
        rows : ndarray of shape (n_batch, n_columns)
            Centred and scaled rows.
        functions : ndarray of shape (n_batch, n_functions)
            Values of the functions in these rows.
        """

    @abstractmethod
    def beside(
        self, columns: NDArray[np.intp], functions: Functions = no_functions
    ) -> Iterator[tuple[slice, Matrix, Matrix, Matrix]]:
        """Read all columns once, a few at a time, beside some of them.

        Parameters
        ----------
        columns : ndarray of int
            Indices of the columns that are wanted in any case.
        functions : callable, default=no_functions
            From a slice of rows to the values of the functions of y.

        Yields
        ------
        place : slice
            Columns that are read.
        rows : ndarray of shape (n_batch, n_read)
            Rows of them, centred on the site's mean.
        wanted : ndarray of shape (n_batch, n_columns)
            The same rows of `columns`.
        functions : ndarray of shape (n_batch, n_functions)
            Values of the functions in these rows.
        """

    def repeated(
        self, columns: NDArray[np.intp], scale: Vector
    ) -> Callable[[], Iterable[Matrix]]:
        """Read some columns several times, see `batches`.

        Parameters
        ----------
        columns : ndarray of int
            Indices of the columns.
        scale : ndarray of shape (n_columns,)
            Divisor of each column.

        Returns
        -------
        callable
            Returns batches of centred and scaled rows, which must not be overwritten.
        """
        return lambda: (own for own, _ in self.batches(columns, scale))

    def column_parts(self) -> Iterator[NDArray[np.intp]]:
        """Divide the columns into parts that are best looked at together.

        Yields
        ------
        ndarray of int
            Columns next to each other; all of them, if every look reads all rows.
        """
        yield np.arange(self.n_features)

    @property
    @abstractmethod
    def n_features(self) -> int:
        """Number of columns."""

    @abstractmethod
    def plain_response(self) -> Vector:
        """Return the response itself, about its mean.

        Returns
        -------
        ndarray of shape (n_rows,)
            See `fedsdr.summaries.rank_functions.plain_response`.
        """

    @abstractmethod
    def weights(self, terms: Terms, *, strict: bool = False) -> Weights:
        """Return the weights of all rows in the kernel.

        Parameters
        ----------
        terms : Terms
            Terms that all parties agreed on.
        strict : bool, default=False
            Whether rows from which no kernel can be computed raise an error, not a
            warning.

        Returns
        -------
        Weights
            Weights; of form "none" if no kernel can be computed.
        """

    def weights_again(self, terms: Terms) -> Weights:
        """Return the weights of all rows, for sums after the moments.

        Parameters
        ----------
        terms : Terms
            Terms that all parties agreed on.

        Returns
        -------
        Weights
            Weights, without the warnings that came with the moments.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SiteWarning)
            return self.weights(terms)

    @abstractmethod
    def variances(self) -> Vector:
        """Compute the variance of every column.

        Returns
        -------
        ndarray of shape (n_features,)
            Variances about the site's means.
        """

    @abstractmethod
    def observe(
        self, look: Callable[..., Facts], columns: tuple[str, ...], **terms: Any
    ) -> Facts:
        """Count what disclosure rules need.

        Parameters
        ----------
        look : callable
            Function that counts, such as `fedsdr.disclosure.observe`.
        columns : tuple of str
            Names of the columns of the study.
        **terms : object
            Further arguments of `look`.

        Returns
        -------
        Facts
            Facts about all rows.
        """

    @abstractmethod
    def summarize_parts(self, terms: Terms) -> Iterator[Summary | HalfSums]:
        """Summarise all rows, and the parts of them that the terms define.

        Parameters
        ----------
        terms : Terms
            Terms that all parties agreed on.

        Yields
        ------
        Summary or HalfSums
            Summaries in the order of `Terms.parts`; last, in place of those of all
            halves, perhaps the sums that they are put together from, which are quicker
            to add to those of other sites. All rows together are checked as strictly
            as the terms demand; a part may be too small for a kernel.
        """

    def tested_responses(self, terms: Terms) -> tuple[NDArray[Any], bool]:
        """Return the responses as tests see them.

        Parameters
        ----------
        terms : Terms
            Terms that all parties agreed on.

        Returns
        -------
        y : ndarray of shape (n_rows,)
            Responses; 0 and 1, in the order of the labels, if there are two classes and
            the kernel is smooth: sites then have their functions of y in common.
        discrete : bool
            Whether these are classes.
        """
        if terms.discrete and isinstance(terms.kernel, Smooth):
            labels, codes = np.unique(self.responses, return_inverse=True)
            if labels.size == 2:
                return np.asarray(codes, dtype=np.float64), False
        return self.responses, terms.discrete

    def tested_weights(self, terms: Terms) -> Weights:
        """Return the weights of all rows in the kernel of tests.

        Parameters
        ----------
        terms : Terms
            Terms that all parties agreed on.

        Returns
        -------
        Weights
            Weights, of the responses as tests see them.
        """
        y, discrete = self.tested_responses(terms)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SiteWarning)
            return weigh(
                y, kernel=terms.kernel, discrete=discrete, on_degenerate="zero"
            )


def without_rounding(variances: Vector, largest: Vector) -> Vector:
    """Set the variances of columns that are constant up to rounding to zero.

    Parameters
    ----------
    variances : ndarray of shape (n_features,)
        Variances.
    largest : ndarray of shape (n_features,)
        Largest absolute value of each column.

    Returns
    -------
    ndarray of shape (n_features,)
        Variances, see `Summary.without_rounding`.
    """
    return np.where(np.sqrt(variances) > ROUNDING * largest, variances, 0.0)


def check_names(
    n_features: int, own: tuple[str, ...], terms: Terms, wanted: tuple[str, ...]
) -> None:
    """Check that a site has the columns of a study.

    Parameters
    ----------
    n_features : int
        Number of columns of the site.
    own : tuple of str
        Names of the columns of the site; empty if they are not known.
    terms : Terms
        Terms that all parties agreed on.
    wanted : tuple of str
        Names of the columns of the study; empty if it has none.
    """
    if n_features != terms.n_features:
        raise InputError(
            f"this site has {n_features} columns and the study {terms.n_features}"
        )
    if wanted and own and wanted != own:
        pairs = zip(own, wanted, strict=True)
        mine, theirs = next(pair for pair in pairs if pair[0] != pair[1])
        raise InputError(
            f"this site has column '{mine}' where the study has '{theirs}': the same "
            "columns are needed, in the same order"
        )
