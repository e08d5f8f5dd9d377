"""Gates: what may leave a site, decided by its own rules and written down."""

import numpy as np
from numpy.typing import NDArray

from fedsdr.protocols.secure.site import Release
from fedsdr.protocols.secure.study import Study
from fedsdr.protocols.site_rows import SiteRows

Vector = NDArray[np.float64]


class OpenGate:
    """Lets everything pass: for sites that belong to one analyst."""

    def inspect(self, study: Study, rows: SiteRows) -> None:
        """Look at nothing.

        Parameters
        ----------
        study : Study
            As the site knows it.
        rows : SiteRows
            Its rows.
        """

    def permit(self, release: Release, values: Vector) -> None:
        """Allow.

        Parameters
        ----------
        release : Release
            With the sites in the sum.
        values : ndarray of shape (n_values,)
            This site's part.
        """

    def record(self, release: Release, values: Vector) -> None:
        """Remember nothing.

        Parameters
        ----------
        release : Release
            With the sites in the sum.
        values : ndarray of shape (n_values,)
            This site's part.
        """
