"""Every system of the paper: its estimator, and the form of its rows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from fedsdr import SIR, SSIRCV, FedPCA, FedSSIR, FedSVD, LassoSIR, PaperFedSSIR
from fedsdr.simulate import Simulation


@dataclass(frozen=True)
class System:
    """An estimator, and the form of the rows it is fitted to.

    Parameters
    ----------
    make : callable
        Function of the true number of directions, which most systems ignore, that
        returns an estimator.
    rows : {"sites", "pooled", "centred"}
        Form of the rows: with their site; all rows as one data set; or the same,
        centred on the mean of their site.
    """

    make: Callable[[int], Any]
    rows: Literal["sites", "pooled", "centred"]

    def fit(self, data: Simulation) -> Any:
        """Fit the system to simulated rows."""
        estimator = self.make(data.n_directions)
        if self.rows == "sites":
            return estimator.fit(data.X, data.y, sites=data.sites)
        X = data.X.copy()
        for site in np.unique(data.sites) if self.rows == "centred" else ():
            X[data.sites == site] -= X[data.sites == site].mean(axis=0)
        return estimator.fit(X, data.y)


def literal(_: int) -> PaperFedSSIR:
    """Return the paper's protocol: votes, slices, no refit, the universal penalty."""
    return PaperFedSSIR(penalty="universal", standardize=True, tol=1e-4, random_state=0)


SYSTEMS = {
    "FedSSIR": System(lambda _: FedSSIR(), "sites"),
    "FedSSIR, paper's protocol": System(literal, "sites"),
    "SSIR as shipped, pooled": System(
        lambda _: SSIRCV(as_shipped=True, random_state=0), "pooled"
    ),
    "SSIR, pooled": System(lambda _: SSIRCV(random_state=0), "pooled"),
    "SSIR, site-centred": System(lambda _: SSIRCV(random_state=0), "sites"),
    "LassoSIR, pooled": System(lambda _: LassoSIR(random_state=0), "pooled"),
    "LassoSIR, site-centred": System(lambda _: LassoSIR(random_state=0), "centred"),
    "SIR, site-centred, K given": System(lambda k: SIR(k), "centred"),
    "FedPCA, K given": System(lambda k: FedPCA(k), "sites"),
    "FedSVD, K given": System(lambda k: FedSVD(k, random_state=0), "sites"),
}
