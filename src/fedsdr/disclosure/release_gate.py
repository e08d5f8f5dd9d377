"""The gate of a site: rules first, then the ledger, then the answer."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from fedsdr.disclosure.anchors import find_anchor
from fedsdr.disclosure.chain import write_head
from fedsdr.disclosure.column_origin import Fingerprint
from fedsdr.disclosure.differencing import other_fills, review_history
from fedsdr.disclosure.facts import Facts
from fedsdr.disclosure.joining import seen_alone
from fedsdr.disclosure.ledger import Ledger
from fedsdr.disclosure.level_rules import Violation
from fedsdr.disclosure.peer_book import PeerBook, strangers
from fedsdr.disclosure.policy import Policy
from fedsdr.disclosure.privacy_budget import beyond_budget, second_answer
from fedsdr.disclosure.release_rules import review_alone
from fedsdr.disclosure.releases import Release, ReleaseStage
from fedsdr.disclosure.voiding import counted_pins
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
    peers : PeerBook or None, default=None
        Partners that the steward has accepted; None where all of them are in one
        process.
    site : str, default=""
        Name of the site itself.

    Notes
    -----
    A site calls `inspect` once per study; `meet` when its partners have shown their
    keys; `permit` before it computes anything for a sum; and `record` twice before it
    answers: as "offered" with the masked numbers, when coordinator and other sites
    decide over which sites the sum will be opened, and as "released" before it signs
    that set of sites. What is refused is entered too, and so is what fails
    (`note_failure`).

    The rules are listed in `fedsdr.disclosure.RULES`. They do not limit how much many
    different questions show together about the same rows of the same sites: a protocol
    bounds the number of questions in a study, and `Policy.max_studies` the number of
    studies.
    """

    policy: Policy = field(default_factory=Policy)
    ledger: Ledger = field(default_factory=Ledger)
    peers: PeerBook | None = None
    site: str = ""
    _heads: dict[str, str] = field(default_factory=dict, init=False, repr=False)
    _facts: dict[str, Facts] = field(default_factory=dict, init=False, repr=False)

    @property
    def joins_counts(self) -> bool:
        """Whether the site adds to counts of sites that do not agree with a result."""
        return self.policy.join_counts

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
        alone = review_alone(release, facts, self.policy, entries)
        _refuse([*self._review_sites(release), *alone])
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
            *self._review_sites(release),
        ]

    def head(self) -> tuple[int, bytes]:
        """Say how long the ledger is, for the partners.

        Returns
        -------
        n_entries : int
            Number of entries.
        head : bytes of length 32
            Hash of the last one.
        """
        status = self.ledger.verify()
        return status.n_entries, bytes.fromhex(status.head)

    def meet(self, release: Release, heads: Mapping[str, tuple[int, str]]) -> None:
        """Compare what partners say about their ledgers with what they said before.

        Parameters
        ----------
        release : Release
            With the keys of all sites of the study.
        heads : mapping of str to (int, str)
            Number of entries and hash of the last one, signed by each partner.

        Raises
        ------
        Refusal
            "ROLLBACK" if a ledger has become shorter, or another one: that site has
            lost a part of its past, and cannot tell any more which sums would show a
            partner by subtraction.
        """
        entries = self.ledger.entries()
        for site, (n_entries, head) in sorted(heads.items()):
            key = release.keys.get(site, "")
            peer = None if self.peers is None else self.peers.peers.get((site, key))
            known = find_anchor(entries, site, key, 0 if peer is None else peer.after)
            if site == self.site or known is None or known.allows(n_entries, head):
                continue
            raise Refusal(
                "ROLLBACK",
                f"the ledger of '{site}' has {n_entries} entries, and at least "
                f"{known.least} are known to this site, or it is another ledger: ask "
                "its steward to restore it. If it is lost for good, and you accept "
                f"that: 'fedsdr site peers accept SITE.toml {site}'",
            )
        self._heads = {
            site: write_head(*said) for site, said in heads.items() if site != self.site
        }

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
            pinned = {(one.study, one.subject) for one in counted_pins(entries)}
            if (release.study, release.subject) not in pinned:
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
            heads=self._heads if stage == "offered" else {},
            rows=facts.n_read,
        )

    def _review_sites(self, release: Release) -> list[Violation]:
        found = [seen_alone(release, self.policy, self.site)]
        if self.peers is not None:
            found.append(strangers(release, self.policy, self.peers, self.site))
        return [one for one in found if one is not None]

    def _known(self, release: Release) -> Facts:
        if release.study not in self._facts:
            raise Refusal("ORDER", "the study has not been inspected")
        return self._facts[release.study]


def _refuse(violations: Iterable[Violation]) -> None:
    lines = [f"{one.rule}: {one.explanation}" for one in violations]
    if lines:
        raise Refusal("DISCLOSURE", "\n".join(lines))
