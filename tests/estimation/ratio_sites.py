"""Sites with a strong direction and a weak one, whose covariances may differ."""

import numpy as np

from fedsdr.simulate.covariates import draw_autoregressive

#: Variables 0 to 2 make the first direction, 3 and 4 the weaker second one.
N_SITES = 10


def draw_ratio_sites(
    seed: int, n_per_site: int, n_features: int, *, apart: bool
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Draw x and y of ten sites: y = u / (0.5 + (w + 1.5)^2) + 0.5 e.

    Columns go with their neighbours; `apart` lets correlations and scales differ.
    """
    rng, found = np.random.default_rng(seed), []
    for _ in range(N_SITES):
        gamma = float(rng.uniform(-0.6, 0.9)) if apart else 0.5
        x = draw_autoregressive(rng, n_per_site, n_features, gamma)
        if apart:
            x *= np.exp(0.5 * rng.standard_normal(n_features))
        u, w = x[:, :3].sum(axis=1), x[:, 3:5].sum(axis=1)
        y = u / (0.5 + (w + 1.5) ** 2) + 0.5 * rng.standard_normal(n_per_site)
        found.append((x + rng.standard_normal(n_features), y))
    return found
