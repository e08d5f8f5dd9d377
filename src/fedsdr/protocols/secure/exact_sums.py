"""Whether a site's numbers can be added exactly in the ring of a secure sum."""

import numpy as np

from fedsdr.arrays import Vector
from fedsdr.exceptions import InputError
from fedsdr.normal_scores import N_FACTS
from fedsdr.questions.many_columns import N_COUNTS
from fedsdr.rows.site_rows import Rows
from fedsdr.secure_sum import FixedPoint

# Relative precision that the sum of squares of a column must keep.
PRECISION = 1e-12


def needs_powers(rows: Rows, n_sites: int, ring: FixedPoint) -> bool:
    """Return whether columns must be rescaled before their squares are added.

    Parameters
    ----------
    rows : Rows
        Rows of the site.
    n_sites : int
        Number of sites in the sum.
    ring : FixedPoint
        Ring in which numbers are added.

    Returns
    -------
    bool
        True if sums of squares would be too large or too small for the ring, or if the
        columns are wide, see `ColumnSpread.is_wide`.
    """
    spread = rows.measured
    if spread.is_wide:
        return True
    powers = spread.powers[spread.varies].astype(np.float64)
    # The power is rounded: a factor of two, with a margin for sums of other numbers.
    squares = rows.n_rows * 4.0**powers
    floor = n_sites * 2.0 ** (-ring.fraction_bits - 1) / PRECISION
    large = 4 * squares >= ring.limit(n_sites)
    return bool((large | (squares < 4 * floor)).any())


def check_range(
    values: Vector, n_features: int, n_sites: int, ring: FixedPoint
) -> None:
    """Check that no column is too large or too small for exact sums.

    Parameters
    ----------
    values : ndarray
        Packed summaries; the first is that of all rows.
    n_features : int
        Number of columns d.
    n_sites : int
        Number of sites in the sum.
    ring : FixedPoint
        Ring in which numbers are added.

    Raises
    ------
    InputError
        Naming the number of columns that need other units.
    """
    _check_limit(values, n_sites, ring)
    size = n_features * (n_features + 1) // 2
    triangle = values[4 : 4 + size]
    starts = np.arange(n_features)
    squares = triangle[starts * n_features - starts * (starts - 1) // 2]
    floor = n_sites * 2.0 ** (-ring.fraction_bits - 1) / PRECISION
    _check_floor(squares, floor)


def check_diagonals(
    values: Vector, n_features: int, n_sites: int, ring: FixedPoint
) -> None:
    """Check that no column is too large or too small for exact sums.

    Parameters
    ----------
    values : ndarray
        Packed diagonals.
    n_features : int
        Number of columns d.
    n_sites : int
        Number of sites in the sum.
    ring : FixedPoint
        Ring in which numbers are added.

    Raises
    ------
    InputError
        Naming the number of columns that need other units.
    """
    _check_limit(values, n_sites, ring)
    squares = values[N_COUNTS : N_COUNTS + n_features]
    _check_floor(squares, n_sites * 2.0 ** (-ring.fraction_bits - 1) / PRECISION)


def check_shapes(
    values: Vector, n_features: int, n_sites: int, ring: FixedPoint
) -> None:
    """Check that no column is too large or too small for sums of shapes.

    Parameters
    ----------
    values : ndarray
        Packed description of the columns.
    n_features : int
        Number of columns d.
    n_sites : int
        Number of sites in the sum.
    ring : FixedPoint
        Ring in which numbers are added.

    Raises
    ------
    InputError
        Naming the number of columns that need other units.
    """
    _check_limit(values, n_sites, ring)
    variances = values.reshape(-1, n_features)[N_FACTS - 1]
    # Cuts are computed from a few digits of the variance.
    _check_floor(variances, n_sites * 2.0 ** (-ring.fraction_bits - 1) / 1e-3)


def _check_limit(values: Vector, n_sites: int, ring: FixedPoint) -> None:
    if np.abs(values).max(initial=0.0) >= ring.limit(n_sites):
        raise InputError(
            "the sums of this site are too large to be added exactly: agree on larger "
            "units for the columns with the largest numbers"
        )


def _check_floor(squares: Vector, floor: float) -> None:
    small = int(((squares > 0.0) & (squares < floor)).sum())
    if small:
        raise InputError(
            f"{small} column(s) vary too little to be added exactly: agree on smaller "
            "units for the columns with the smallest numbers"
        )
