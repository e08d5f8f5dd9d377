"""Summaries as vectors, so that one sum adds everything."""

import numpy as np

from fedsdr.arrays import Vector
from fedsdr.summaries import Summary
from fedsdr.terms import Terms


def pack(summary: Summary) -> Vector:
    """Write a summary as a vector.

    Parameters
    ----------
    summary : Summary
        Of d columns.

    Returns
    -------
    ndarray of shape (4 + d (d + 1),)
        Counts, degrees of freedom, and the upper triangles of both matrices.
    """
    upper = np.triu_indices(summary.n_features)
    counts = (
        summary.n_rows,
        summary.n_sites,
        summary.freedom,
        summary.freedom_squared,
    )
    return np.concatenate([counts, summary.scatter[upper], summary.between[upper]])


def unpack(vector: Vector, n_features: int) -> Summary:
    """Read a summary from a vector.

    Parameters
    ----------
    vector : ndarray of shape (4 + d (d + 1),)
        Written by `pack`, or a sum of such vectors.
    n_features : int
        Number of columns d.

    Returns
    -------
    Summary
        Matrices are symmetric.
    """
    size = n_features * (n_features + 1) // 2
    counts, scatter, between = np.split(vector, [4, 4 + size])
    return Summary(
        n_rows=round(counts[0]),
        scatter=_symmetric(scatter, n_features),
        between=_symmetric(between, n_features),
        n_sites=round(counts[1]),
        freedom=float(counts[2]),
        freedom_squared=float(counts[3]),
    )


def unpack_parts(
    vector: Vector, terms: Terms
) -> tuple[dict[str, Summary], tuple[int, ...]]:
    """Read everything that the sites told.

    Parameters
    ----------
    vector : ndarray of shape (terms.n_values,)
        Sum over the sites.
    terms : Terms
        That they agreed on.

    Returns
    -------
    summaries : dict of str to Summary
        By the name of the part.
    votes : tuple of int
        Choices of K, ascending; how often, not whose.
    """
    length = 4 + terms.n_features * (terms.n_features + 1)
    parts = {
        name: unpack(vector[i * length : (i + 1) * length], terms.n_features)
        for i, name in enumerate(terms.parts)
    }
    counts = np.rint(vector[len(parts) * length :]).astype(int)
    return parts, tuple(np.repeat(np.arange(1, counts.size + 1), counts).tolist())


def _symmetric(triangle: Vector, n_features: int) -> Vector:
    matrix = np.zeros((n_features, n_features))
    matrix[np.triu_indices(n_features)] = triangle
    return matrix + np.triu(matrix, 1).T
