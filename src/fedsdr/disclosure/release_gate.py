"""The gate of a site: rules first, then the ledger, then the answer."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from fedsdr.disclosure.column_origin import Fingerprint
from fedsdr.disclosure.differencing import other_fills, review_history
from fedsdr.disclosure.facts import Facts
from fedsdr.disclosure.ledger import Ledger
from fedsdr.disclosure.level_rules import Violation
from fedsdr.disclosure.policy import Policy
from fedsdr.disclosure.privacy_budget import beyond_budget, second_answer
from fedsdr.disclosure.release_rules import review_alone
from fedsdr.disclosure.releases import Release, ReleaseStage
from fedsdr.exceptions import Refusal

#: Counts what the rules need to know about a site's rows, with fingerprints of its
#: columns, see `fedsdr.disclosure.observe`.
Observe = Callable[[Fingerprint], Facts]


@dataclass(slots=True, eq=False)
class ReleaseGate:
    """Checks every release of a site against its rules, and records it.

    Parameters
    ----------
    policy : Policy, default=Policy()
        Limits of the site.
    ledger : Ledger, default=Ledger()
        Earlier releases of the site; in memory if not given.

    Notes
    -----
    A site calls `inspect` once per study; `permit` before
    it computes anything for a sum; and `record` twice before it answers: as "offered"
    with the masked numbers, when coordinator and other sites decide over which sites
    the sum will be opened, and as "released" before it signs that set of sites. What is
    refused is entered too, and so is what fails (`note_failure`).

    The rules are listed in `fedsdr.disclosure.RULES`. They do not limit how much many
    different questions show together about the same rows of the same sites: a protocol
    bounds the number of questions in a study, and `Policy.max_studies` the number of
    studies.
    """

    policy: Policy = field(default_factory=Policy)
    ledger: Ledger = field(default_factory=Ledger)
    _facts: dict[str, Facts] = field(default_factory=dict, init=False, repr=False)

    def inspect(self, release: Release, observe: Observe) -> None:
        """Refuse a study whose sums would break a rule by themselves.

        Parameters
        ----------
        release : Release
            First sum of the study; subject and sites need not be known.
        observe : callable
            Counts what the rules need to know about the site's rows.

        Notes
        -----
        Earlier releases are not compared here: a study that goes on after an
        interruption may have no sum left to ask for.
        """
        facts = observe(self.ledger.fingerprint)
        entries = self.ledger.entries()
        _refuse(review_alone(release, facts, self.policy, entries))
        self._facts[release.study] = facts

    def review(
        self, release: Release, facts: Facts, fingerprint: str | None = None
    ) -> list[Violation]:
        """List every rule that a release would break.

        Parameters
        ----------
        release : Release
            Release to check; rules that depend on its subject or sites are not checked
            while these are not known.
        facts : Facts
            About the site's rows.
        fingerprint : str, optional
            Fingerprint of the contribution, once it is computed.

        Returns
        -------
        list of Violation
            Empty if the release may be made.
        """
        entries = self.ledger.entries()
        noisy = (
            second_answer(release, entries),
            beyond_budget(release, self.policy, entries),
        )
        return [
            *review_alone(release, facts, self.policy, entries),
            *review_history(release, facts, self.policy, entries, fingerprint),
            *(one for one in noisy if one is not None),
        ]

    def permit(self, release: Release) -> None:
        """Refuse a release that would break a rule.

        Parameters
        ----------
        release : Release
            With the sites that share secrets.
        """
        facts = self._known(release)
        with self.ledger.locked():
            violations = self.review(release, facts)
            # Once there are too many of them, no more are entered.
            if violations and all(one.rule != "ATTEMPTS" for one in violations):
                self._enter(release, facts, "refused")
        _refuse(violations)

    def record(self, release: Release, values: ArrayLike, stage: ReleaseStage) -> None:
        """Check a release again, now with its numbers, and write it to the ledger.

        Parameters
        ----------
        release : Release
            With the sites in the sum.
        values : array-like of shape (release.n_values,)
            Numbers that the site contributes, before any mask.
        stage : {"offered", "released"}
            How far the release is.

        Notes
        -----
        The entry is on the disk when this returns, and no other process can have
        recorded a release between the check and the entry.
        """
        if np.size(values) != release.n_values:
            raise ValueError("the contribution has another length than was asked for")
        facts = self._known(release)
        if release.spends is not None:
            # Noise is new in every answer, so that answers differ for the same rows.
            values = np.zeros(0)
        fingerprint = self.ledger.fingerprint(values)
        with self.ledger.locked():
            _refuse(self.review(release, facts, fingerprint))
            self._enter(release, facts, stage, fingerprint)

    def note_failure(self, release: Release) -> None:
        """Write a request to the ledger that failed because of the rows.

        Parameters
        ----------
        release : Release
            With the sites that share secrets. No number of it has left the site.
        """
        self._enter(release, self._known(release), "failed")

    def pin(
        self, release: Release, values: ArrayLike, fills: Mapping[str, float]
    ) -> None:
        """Write a sum to the ledger that the site has opened and will compute with.

        Parameters
        ----------
        release : Release
            With the sites in the sum.
        values : array-like of shape (release.n_values,)
            The opened sum.
        fills : mapping of str to float
            Values for the gaps of columns, in their units.

        Notes
        -----
        A sum that is opened again, after a restart of the site, is not entered twice;
        another one is refused.
        """
        facts = self._known(release)
        fingerprint = self.ledger.fingerprint(values)
        # Ten digits: sums in other units differ in the last ones.
        prints = {
            facts.sources.get(name, name): self.ledger.fingerprint([f"{value:.9e}"])
            for name, value in fills.items()
        }
        with self.ledger.locked():
            entries = self.ledger.entries()
            found = other_fills(release, self.policy, entries, fingerprint, prints)
            _refuse([] if found is None else [found])
            own = ("opened", release.study, release.subject)
            if own not in {(one.stage, one.study, one.subject) for one in entries}:
                self.ledger.append(release, fingerprint, stage="opened", columns=prints)

    def released_to(self, study: str, statistic: str) -> tuple[str, ...]:
        """Look up the sites in a sum that this site has released.

        Parameters
        ----------
        study : str
            Digest of the study.
        statistic : str
            Kind of statistic.

        Returns
        -------
        tuple of str
            Sites of the last release; empty if there is none.
        """
        for entry in reversed(self.ledger.entries()):
            known = (entry.stage, entry.study, entry.statistic)
            if known == ("released", study, statistic):
                return entry.sites
        return ()

    def _enter(
        self,
        release: Release,
        facts: Facts,
        stage: ReleaseStage,
        fingerprint: str = "",
    ) -> None:
        self.ledger.append(
            release,
            fingerprint,
            stage=stage,
            columns=facts.prints or dict.fromkeys(facts.columns, ""),
            target=facts.target,
        )

    def _known(self, release: Release) -> Facts:
        if release.study not in self._facts:
            raise Refusal("ORDER", "the study has not been inspected")
        return self._facts[release.study]


class OpenGate:
    """Permits everything and records nothing: for sites that belong to one analyst."""

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


def _refuse(violations: Iterable[Violation]) -> None:
    lines = [f"{one.rule}: {one.explanation}" for one in violations]
    if lines:
        raise Refusal("DISCLOSURE", "\n".join(lines))
