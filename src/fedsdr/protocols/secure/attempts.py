"""What a coordinator remembers of a sum that it could not finish.

Once masked numbers have left, sites count the sum as released over the sites that were
asked, and refuse a sum over others. A new attempt over fewer sites would not only fail:
sites that had offered nothing before would record the smaller set, and from then on all
sites could agree on no set. So the coordinator asks the same sites, or nobody.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from fedsdr.exceptions import CODES
from fedsdr.protocols.exchange import Failures, IncompleteError, Payload
from fedsdr.protocols.secure.saved_sums import SumStore

#: Codes of sites that have neither sent masked numbers nor recorded that they would.
NOTHING_LEFT = frozenset(
    {"DISCLOSURE", "MALFORMED", "ORDER", "PEERS", "TAMPERED", "TERMS"}
)


class BrokenRoundError(IncompleteError):
    """A sum needs the sites of an earlier one, which are not all there.

    Parameters
    ----------
    name : str
        Name of the sum.
    failures : dict of str to str
        Fixed code of each site.
    sites : tuple of str
        Sites of the first attempt, or of the earlier sum of the same statistic.
    rounds : tuple of str, default=()
        Rounds of the attempts, which stewards can void.
    """

    def __init__(
        self,
        name: str,
        failures: Failures,
        sites: tuple[str, ...],
        rounds: tuple[str, ...] = (),
    ) -> None:
        super().__init__(name, failures)
        self.args = (name, failures, sites, rounds)
        self.sites = sites
        self.rounds = rounds

    def __str__(self) -> str:
        missing = ", ".join(
            f"{site} ({CODES.get(code, code)})"
            for site, code in sorted(self.failures.items())
            if site in self.sites
        )
        void = (
            ". If one is gone for good, every steward can void what was begun, with "
            "'fedsdr site void', and then you with 'fedsdr study void': "
            f"{', '.join(self.rounds)}"
        )
        return (
            f"masked numbers for {self.name}, or for another sum of its kind, have "
            f"left before, and their sites ({', '.join(self.sites)}) refuse a sum over "
            f"others. Missing now: {missing}. Bring all of them back, and resume"
            f"{void if self.rounds else ''}"
        )


@dataclass(slots=True)
class Attempt:
    """One attempt at a sum, bound to the sites of an earlier attempt.

    Parameters
    ----------
    state : SumStore
        Where finished sums are kept.
    name : str
        Name of the sum.
    statistic : str
        Statistic that is added.
    stamp : dict
        Study and question, saved with the sites.
    round : str, default=""
        Name of the round of this attempt.
    sites : tuple of str, default=()
        Sites of an earlier attempt; empty if there was none.
    rounds : tuple of str, default=()
        Rounds of earlier attempts in which masked numbers may have left.
    """

    state: SumStore
    name: str
    statistic: str
    stamp: Payload
    round: str = ""
    sites: tuple[str, ...] = ()
    rounds: tuple[str, ...] = ()

    def bind(self, sites: Iterable[str], failures: Failures) -> None:
        """Save with which sites the sum goes on, or refuse to go on with them.

        Parameters
        ----------
        sites : iterable of str
            Sites that have answered.
        failures : dict of str to str
            Fixed code of each lost site.
        """
        now = tuple(sorted(sites))
        if self.sites and now != self.sites:
            lost = {
                site: failures.get(site, "TIMEOUT")
                for site in self.sites
                if site not in now
            }
            raise BrokenRoundError(self.name, lost, self.sites, self.rounds)
        self._save(now, (*self.rounds, self.round))

    def forget(self) -> None:
        """Forget the sites of an attempt in which no site has sent masked numbers."""
        if self.rounds:
            self._save(self.sites, self.rounds)
        else:
            self.state.forget(self.name)

    def _save(self, sites: tuple[str, ...], rounds: tuple[str, ...]) -> None:
        begun = {"sites": list(sites), "rounds": list(rounds)}
        self.state.save(self.name, {**self.stamp, **begun})
