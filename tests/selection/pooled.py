"""Sums over the sites of the paper's settings."""

import numpy as np

from fedsdr.simulate import make_setting
from fedsdr.summaries import Kernel, Smooth, Summary, summarize

SMOOTH = Smooth()


def site_summaries(
    setting: int, seed: int, kernel: Kernel = SMOOTH, n_per_site: int = 100
) -> list[Summary]:
    """Summarise each of ten sites with 60 variables."""
    data = make_setting(
        setting, n_per_site=n_per_site, n_features=60, random_state=seed
    )
    masks = [data.sites == i for i in range(10)]
    return [summarize(data.X[m], data.y[m], kernel=kernel) for m in masks]


def pooled(
    setting: int, seed: int, kernel: Kernel = SMOOTH, n_per_site: int = 100
) -> Summary:
    """Return the pooled summary on a common scale."""
    total = sum(site_summaries(setting, seed, kernel, n_per_site))
    return total.scaled(np.sqrt(np.diag(total.sigma)))
