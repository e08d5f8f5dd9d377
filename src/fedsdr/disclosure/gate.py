"""The one way out of a site: rules first, then the ledger, then the answer."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fedsdr.disclosure.chain import Entry, Stage
from fedsdr.disclosure.differencing import changed_rows, other_sites, related_entries
from fedsdr.disclosure.facts import Facts, observe
from fedsdr.disclosure.ledger import Ledger
from fedsdr.disclosure.policy import Policy
from fedsdr.disclosure.requests import ReleaseRequest
from fedsdr.disclosure.rules import (
    Violation,
    few_rows,
    foreign_columns,
    foreign_study,
    many_studies,
    rare_levels,
    small_slices,
    wide_rows,
)
from fedsdr.exceptions import Refusal


@dataclass(frozen=True, slots=True)
class Gate:
    """What a site asks before anything leaves, and where it writes down what did.

    Parameters
    ----------
    policy : Policy, default=Policy()
        Of the site.
    ledger : Ledger, default=Ledger()
        Of the site; in memory if not given.

    Notes
    -----
    For each statistic a site calls `observe` and `check` before it computes, and
    `record` before it answers. In a secure sum it records twice: as "offered" with the
    masked numbers, when only a coordinator and peers decide over which sites the sum
    will be opened, and as "released" before it signs that set.
    """

    policy: Policy = field(default_factory=Policy)
    ledger: Ledger = field(default_factory=Ledger)

    def observe(
        self,
        X: NDArray[np.float64],
        y: NDArray[Any],
        columns: Sequence[str],
        **terms: Any,
    ) -> Facts:
        """Count what the rules need, with fingerprints under the ledger's key.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
            The site's rows.
        y : ndarray of shape (n_rows,)
            Its responses.
        columns : sequence of str
            Names of the columns of X.
        **terms : object
            See `fedsdr.disclosure.observe`.

        Returns
        -------
        Facts
            Counts, names and fingerprints.
        """
        return observe(X, y, columns, fingerprint=self.ledger.fingerprint, **terms)

    def check(self, facts: Facts, request: ReleaseRequest, round_name: str) -> None:
        """Refuse a release that breaks a rule, before anything is computed for it.

        Parameters
        ----------
        facts : Facts
            About the site's rows.
        request : ReleaseRequest
            What would be released.
        round_name : str
            Round of the study.
        """
        check_release(facts, request, self.policy, self.ledger, round_name=round_name)

    def record(
        self,
        facts: Facts,
        request: ReleaseRequest,
        round_name: str,
        values: ArrayLike,
        *,
        stage: Stage = "released",
    ) -> Entry:
        """Check once more, now with the numbers, and write the release down.

        Parameters
        ----------
        facts : Facts
            About the site's rows.
        request : ReleaseRequest
            What will be released.
        round_name : str
            Round of the study.
        values : array-like of shape (request.n_values,)
            What the site contributes, before any mask.
        stage : {"released", "offered"}, default="released"
            See `fedsdr.disclosure.Entry`.

        Returns
        -------
        Entry
            On the disk. No other process can have released anything between the check
            and this.
        """
        if np.size(values) != request.n_values:
            raise ValueError("the contribution has another length than was asked for")
        fingerprint = self.ledger.fingerprint(values)
        with self.ledger.locked():
            check_release(
                facts,
                request,
                self.policy,
                self.ledger,
                round_name=round_name,
                fingerprint=fingerprint,
            )
            return self.ledger.append(
                request,
                round_name,
                fingerprint,
                stage=stage,
                columns=facts.prints or dict.fromkeys(facts.columns, ""),
                target=facts.target,
            )


def check_release(
    facts: Facts,
    request: ReleaseRequest,
    policy: Policy,
    ledger: Ledger,
    *,
    round_name: str = "",
    fingerprint: str | None = None,
) -> None:
    """Refuse a release that breaks any rule.

    Parameters
    ----------
    facts : Facts
        About the site's rows.
    request : ReleaseRequest
        What would be released.
    policy : Policy
        Of the site.
    ledger : Ledger
        What it has released before.
    round_name : str, default=""
        Round of the study, in which an offer may already have been recorded.
    fingerprint : str, optional
        Of the contribution, once it is computed.

    Raises
    ------
    Refusal
        "DISCLOSURE", with an explanation that lists every rule broken.
    """
    found = review(
        facts,
        request,
        policy,
        ledger,
        round_name=round_name,
        fingerprint=fingerprint,
    )
    if found:
        lines = [f"{one.rule}: {one.explanation}" for one in found]
        raise Refusal("DISCLOSURE", "\n".join(lines))


def review(
    facts: Facts,
    request: ReleaseRequest,
    policy: Policy,
    ledger: Ledger,
    *,
    round_name: str = "",
    fingerprint: str | None = None,
) -> list[Violation]:
    """List every rule that a release would break.

    Parameters
    ----------
    facts : Facts
        About the site's rows.
    request : ReleaseRequest
        What would be released.
    policy : Policy
        Of the site.
    ledger : Ledger
        What it has released before.
    round_name : str, default=""
        Round of the study, in which an offer may already have been recorded.
    fingerprint : str, optional
        Of the contribution, once it is computed.

    Returns
    -------
    list of Violation
        Empty if the release may be made.

    Notes
    -----
    ==========  ==============================================================
    code        the rule
    ==========  ==============================================================
    ROWS        no sums of few rows, also in a fold
    SLICES      no slice or class of few rows, also in a fold
    LEVELS      no column that is constant but for a few rows
    WIDTH       not too many columns for the rows
    COLUMNS     only columns that the site allows
    STUDY       only studies that the site allows
    STUDIES     not more studies than the site allows
    SITES       differencing over sites: a statistic goes into sums over one
                set of sites, in this and every other study
    CHANGED     differencing over time: a statistic is told again only as it
                was
    ==========  ==============================================================

    The sum over sites {1, ..., m} minus that over {1, ..., m - 1} is site m, and what
    a site tells today minus what it told yesterday is the row that came in between.
    The last two rules compare a release with every earlier one of the same kind that
    has a single column in common with it, see `differencing.related_entries`.

    Not covered: how much many different questions tell together about the same rows of
    the same sites. Whoever runs a protocol bounds the number of questions in a study,
    and `Policy.max_studies` the number of studies.
    """
    entries = ledger.entries()
    related = related_entries(entries, facts, request)
    answers = (
        few_rows(facts, policy),
        small_slices(facts, policy),
        rare_levels(facts, policy),
        wide_rows(facts, policy),
        foreign_columns(facts, policy),
        foreign_study(request, policy),
        many_studies(request, policy, entries),
        other_sites(request, policy, related, round_name),
        changed_rows(facts, request, policy, related, fingerprint),
    )
    return [answer for answer in answers if answer is not None]
