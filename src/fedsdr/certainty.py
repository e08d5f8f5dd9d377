"""How sure a result is of its variables, its directions and their number."""

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from scipy.special import ndtri, stdtrit

from fedsdr.arrays import Matrix, Vector
from fedsdr.exceptions import InputError

#: What intervals can come from.
ErrorSource = Literal["curvature", "halves"]

#: Splits from which on intervals come from halves: a t distribution with fewer degrees
#: of freedom makes them much wider than needed.
ENOUGH_SPLITS = 3


@dataclass(frozen=True, slots=True, eq=False)
class Certainty:
    """Tests, selection frequencies and standard errors of a result.

    Parameters
    ----------
    p_values : ndarray of shape (n_features,)
        Test whether y depends on a variable given the others, on rows that have not
        selected it, combined over the splits.
    q_values : ndarray of shape (n_features,)
        The same, adjusted for the false discovery rate among all variables.
    frequencies : ndarray of shape (n_features,)
        Share of the halves of the rows that select the variable.
    dimensions : tuple of (int, float)
        Share of the halves whose pooled sums show each number of directions. Where the
        sites' covariances differ, pooled sums show more than the second stage of a fit.
    loadings : ndarray of shape (n_features, n_directions)
        Coefficients of the directions per standard deviation of a variable, for
        directions of variance 1; without columns if there are none.
    errors : ndarray of shape (n_features, n_directions)
        Their standard errors.
    angles : ndarray of shape (n_directions,)
        Angle in degrees that the true direction may be away, the root of its mean
        square.
    n_halves : int
        Number of halves.
    sites : tuple of (str, int)
        How many sites do not agree with the result, by what they notice: "units",
        "silent" or "outside"; empty if they were not asked.
    half_errors : ndarray of shape (n_features, n_directions)
        Standard errors of the loadings from differences between complementary halves
        (jackknife); without columns if they are not known.
    half_angles : ndarray of shape (n_directions,)
        Angles in degrees from the same differences.
    """

    p_values: Vector
    q_values: Vector
    frequencies: Vector
    dimensions: tuple[tuple[int, float], ...] = ()
    loadings: Matrix = field(default_factory=lambda: np.zeros((0, 0)))
    errors: Matrix = field(default_factory=lambda: np.zeros((0, 0)))
    angles: Vector = field(default_factory=lambda: np.zeros(0))
    n_halves: int = 0
    sites: tuple[tuple[str, int], ...] = ()
    half_errors: Matrix = field(default_factory=lambda: np.zeros((0, 0)))
    half_angles: Vector = field(default_factory=lambda: np.zeros(0))

    def error_source(self, by: Literal["auto", ErrorSource] = "auto") -> ErrorSource:
        """Say what standard errors come from.

        Parameters
        ----------
        by : {"auto", "curvature", "halves"}, default="auto"
            What is asked for. "auto" takes halves if their errors are known and rest on
            at least three splits.

        Returns
        -------
        str
            "curvature" or "halves".
        """
        known = self.half_angles.size > 0
        if by == "auto":
            enough = self.n_halves >= 2 * ENOUGH_SPLITS
            return "halves" if known and enough else "curvature"
        if by not in ("curvature", "halves"):
            raise InputError(
                f"intervals come from 'auto', 'curvature' or 'halves', got {by!r}"
            )
        if by == "halves" and self.angles.size and not known:
            raise InputError(
                "this result has no errors from halves of the rows: fit again with "
                "select='tested', or use 'curvature'"
            )
        return by

    def interval(
        self, level: float = 0.95, by: Literal["auto", ErrorSource] = "auto"
    ) -> tuple[Matrix, Matrix]:
        """Return confidence intervals of the loadings.

        Parameters
        ----------
        level : float, default=0.95
            Probability that an interval covers the loading of the true direction.
        by : {"auto", "curvature", "halves"}, default="auto"
            What errors come from: the curvature of the fit, with a normal law; or
            differences between complementary halves (jackknife), with a t distribution
            that has as many degrees of freedom as there are splits. The latter assume
            less, and respect subjects with several rows; they are wider. "auto" takes
            them where there are at least three splits.

        Returns
        -------
        low : ndarray of shape (n_features, n_directions)
            Lower ends.
        high : ndarray of shape (n_features, n_directions)
            Upper ends.
        """
        if self.error_source(by) == "curvature" or not self.angles.size:
            reach = float(ndtri(0.5 + level / 2)) * self.errors
        else:
            quantile = float(stdtrit(self.n_halves // 2, 0.5 + level / 2))
            reach = quantile * self.half_errors
        return self.loadings - reach, self.loadings + reach

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> "Certainty":
        """Read what was written to JSON.

        Parameters
        ----------
        fields : dict
            Fields as plain values.

        Returns
        -------
        Certainty
            The same values.
        """
        arrays = ("p_values", "q_values", "frequencies", "angles")
        found = {name: np.array(fields[name], dtype=float) for name in arrays}
        n_features = found["p_values"].size
        shape = (n_features, found["angles"].size)
        for name in ("loadings", "errors"):
            found[name] = np.array(fields[name], dtype=float).reshape(shape)
        # Results of earlier versions do not have these.
        if np.size(fields.get("half_angles", ())):
            found["half_errors"] = np.array(fields["half_errors"], dtype=float)
            found["half_angles"] = np.array(fields["half_angles"], dtype=float)
        dimensions = tuple((int(k), float(share)) for k, share in fields["dimensions"])
        return cls(
            **found,
            dimensions=dimensions,
            n_halves=int(fields["n_halves"]),
            sites=tuple((str(code), int(count)) for code, count in fields["sites"]),
        )
