"""A gate that is open, for sites that belong to one analyst."""

from collections.abc import Mapping

from numpy.typing import ArrayLike

from fedsdr.disclosure.chain import GENESIS
from fedsdr.disclosure.release_gate import Observe
from fedsdr.disclosure.releases import Release, ReleaseStage


class OpenGate:
    """Permits everything and records nothing: for sites that belong to one analyst."""

    #: Sites of one analyst count.
    joins_counts = True

    def head(self) -> tuple[int, bytes]:
        """Say that there is no ledger.

        Returns
        -------
        n_entries : int
            Zero.
        head : bytes of length 32
            Zeros.
        """
        return 0, bytes.fromhex(GENESIS)

    def meet(self, release: Release, heads: Mapping[str, tuple[int, str]]) -> None:
        """Compare nothing.

        Parameters
        ----------
        release : Release
            With the keys of all sites of the study.
        heads : mapping of str to (int, str)
            What partners say about their ledgers.
        """

    def inspect(self, release: Release, observe: Observe) -> None:
        """Inspect nothing.

        Parameters
        ----------
        release : Release
            First sum of the study.
        observe : callable
            Not called.
        """

    def permit(self, release: Release) -> None:
        """Permit a release.

        Parameters
        ----------
        release : Release
            With the sites that share secrets.
        """

    def record(self, release: Release, values: ArrayLike, stage: ReleaseStage) -> None:
        """Record nothing.

        Parameters
        ----------
        release : Release
            With the sites in the sum.
        values : array-like of shape (release.n_values,)
            Numbers that the site contributes.
        stage : {"offered", "released"}
            How far the release is.
        """

    def note_failure(self, release: Release) -> None:
        """Record nothing.

        Parameters
        ----------
        release : Release
            With the sites that share secrets.
        """

    def pin(
        self, release: Release, values: ArrayLike, fills: Mapping[str, float]
    ) -> None:
        """Record nothing.

        Parameters
        ----------
        release : Release
            With the sites in the sum.
        values : array-like of shape (release.n_values,)
            The opened sum.
        fills : mapping of str to float
            Values for the gaps of columns.
        """

    def released_to(self, study: str, statistic: str) -> tuple[str, ...]:
        """Look nothing up.

        Parameters
        ----------
        study : str
            Digest of the study.
        statistic : str
            Kind of statistic.

        Returns
        -------
        tuple of str
            Empty.
        """
        del study, statistic
        return ()
