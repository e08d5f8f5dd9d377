"""Whether sites use all directions that they have together, or only some each."""

import numpy as np

from fedsdr.arrays import Matrix, Vector

#: Numbers that a site adds: how many sites are judged, what the last direction adds,
#: what the sites' own last directions add, and the variance of the latter as noise.
N_USE = 4


def direction_use(
    inside: Matrix, before: float, overlap: Matrix, n_rows: int
) -> Vector:
    r"""Compare what the last of K directions adds with a site's own last direction.

    Parameters
    ----------
    inside : ndarray of shape (K, n_functions)
        :math:`(B'S_iB)^{-1/2} B'F_i / \sqrt{n_i}`, whose squared singular values
        :math:`\lambda_1 \ge \dots \ge \lambda_K` are the shares that y explains of the
        site's own best combinations of the directions.
    before : float
        Share that the first K - 1 directions explain at the site.
    overlap : ndarray of shape (n_functions, n_functions)
        Products O of the functions of y.
    n_rows : int
        Number of rows of the site.

    Returns
    -------
    ndarray of shape (4,)
        1, the gain :math:`n_i(\sum_k \lambda_k - \mathrm{before})` by the last
        direction, the site's own :math:`n_i\lambda_K`, each without what noise gives on
        average, and the variance of the last one as noise. Zeros if K = 1, or if y has
        fewer than K functions here.

    Notes
    -----
    Sites that all use K directions gain by the last one what their own
    :math:`\lambda_K` is. Sites that use fewer, but not the same ones, gain as much
    together, and every :math:`\lambda_K` is noise: to first order
    :math:`n_i\lambda_K` is then a quadratic form of normal numbers with the matrix
    :math:`POP`, where P removes the K - 1 leading right singular vectors.
    """
    n_directions, n_functions = inside.shape
    if n_directions < 2 or n_functions < n_directions:
        return np.zeros(N_USE)
    _, sizes, axes = np.linalg.svd(inside, full_matrices=False)
    known = axes[: n_directions - 1]
    project = np.eye(n_functions) - known.T @ known
    rest = project @ overlap @ project
    correction = n_rows / max(n_rows - 1, 1)
    gain = n_rows * (float((sizes**2).sum()) - before)
    own = n_rows * float(sizes[-1]) ** 2
    return np.array(
        [
            1.0,
            gain - correction * float(np.trace(overlap)),
            own - correction * float(np.trace(rest)),
            2.0 * float((rest**2).sum()),
        ]
    )
