"""Gates: what may leave a site, decided by its own rules and written down."""

from dataclasses import dataclass
from typing import Protocol

from fedsdr import disclosure
from fedsdr.arrays import Vector
from fedsdr.disclosure import Facts, Ledger, Policy, ReleaseRequest, Violation
from fedsdr.disclosure.chain import Stage
from fedsdr.exceptions import InputError, Refusal
from fedsdr.protocols.secure.agreed_study import Study
from fedsdr.questions import MomentsOf
from fedsdr.rows.site_rows import Rows


@dataclass(frozen=True, slots=True)
class Release:
    """What is about to be opened, and to the sum of which sites.

    Parameters
    ----------
    study : str
        Digest of the study.
    round : str
        Name of the round.
    statistic : str
        What is added.
    subject : str
        Digest of the exact question.
    sites : tuple of str
        Sites in the sum, sorted; empty before it is known.
    """

    study: str
    round: str
    statistic: str
    subject: str
    sites: tuple[str, ...] = ()


class Gate(Protocol):
    """Decides what may leave a site, and remembers what did."""

    def inspect(self, study: Study, rows: Rows) -> None:
        """Look at a study before anything is computed for it.

        Parameters
        ----------
        study : Study
            As the site knows it.
        rows : Rows
            Its rows.
        """

    def permit(self, release: Release, values: Vector) -> None:
        """Allow a sum over these sites, or raise a `Refusal`.

        Parameters
        ----------
        release : Release
            With the sites that share secrets.
        values : ndarray of shape (n_values,)
            This site's part.
        """

    def record(self, release: Release, values: Vector, stage: Stage) -> None:
        """Check again and write down durably, before the answer leaves.

        Parameters
        ----------
        release : Release
            With the sites in the sum.
        values : ndarray of shape (n_values,)
            This site's part.
        stage : {"offered", "released"}
            Masked numbers are about to leave, and the sum may be opened over these
            sites or some of them; or it will be opened over exactly these.
        """


class OpenGate:
    """Lets everything pass: for sites that belong to one analyst."""

    def inspect(self, study: Study, rows: Rows) -> None:
        """Look at nothing.

        Parameters
        ----------
        study : Study
            As the site knows it.
        rows : Rows
            Its rows.
        """

    def permit(self, release: Release, values: Vector) -> None:
        """Allow.

        Parameters
        ----------
        release : Release
            With the sites that share secrets.
        values : ndarray of shape (n_values,)
            This site's part.
        """

    def record(self, release: Release, values: Vector, stage: Stage) -> None:
        """Remember nothing.

        Parameters
        ----------
        release : Release
            With the sites in the sum.
        values : ndarray of shape (n_values,)
            This site's part.
        stage : {"offered", "released"}
            How far the sum is.
        """


class RuleGate:
    """Asks the site's policy and keeps its ledger.

    Parameters
    ----------
    policy : Policy, optional
        Of the site; the defaults if not given.
    ledger : Ledger, optional
        Of the site; in memory, and so forgetful, if not given.

    Notes
    -----
    Beside the rules of `fedsdr.disclosure.review`, a study gets one answer to each kind
    of question: a coordinator who may ask for errors of ever new directions can find
    out more than a validation needs.
    """

    def __init__(
        self, policy: Policy | None = None, ledger: Ledger | None = None
    ) -> None:
        self._gate = disclosure.Gate(policy or Policy(), ledger or Ledger())
        self._facts: dict[str, Facts] = {}

    def inspect(self, study: Study, rows: Rows) -> None:
        """Refuse a study whose sums would break a rule.

        Parameters
        ----------
        study : Study
            As the site knows it.
        rows : Rows
            Its rows.
        """
        facts, found = self.review(study, rows)
        # Whether earlier sums stand in the way depends on the sites of the next one:
        # a study that goes on after an interruption may have no sum left to ask for.
        broken = [one for one in found if one.rule not in ("SITES", "CHANGED")]
        if broken:
            lines = [f"{one.rule}: {one.explanation}" for one in broken]
            raise Refusal("DISCLOSURE", "\n".join(lines))
        self._facts[study.digest] = facts

    def review(self, study: Study, rows: Rows) -> tuple[Facts, list[Violation]]:
        """List every rule that the sums of a study over all its sites would break.

        Parameters
        ----------
        study : Study
            As the site knows it.
        rows : Rows
            Its rows.

        Returns
        -------
        facts : Facts
            What the rules know about the rows.
        violations : list of Violation
            Empty if nothing stands in the way.
        """
        if not rows.columns:
            raise InputError(
                "rules need the names of the columns: give them with the rows"
            )
        terms = study.terms
        facts = rows.observe(
            self._gate.observe,
            study.columns,
            discrete=terms.discrete,
            kernel=terms.kernel,
            n_folds=terms.n_folds,
            validation_fraction=terms.validation_fraction,
            target=study.target,
        )
        subject = study.subject("moments", b"")
        request = ReleaseRequest(
            study.digest, "moments", subject, study.sites, MomentsOf(terms).n_values
        )
        found = disclosure.review(facts, request, self._gate.policy, self._gate.ledger)
        return facts, found

    def permit(self, release: Release, values: Vector) -> None:
        """Refuse a sum that breaks a rule.

        Parameters
        ----------
        release : Release
            With the sites that share secrets.
        values : ndarray of shape (n_values,)
            This site's part.
        """
        self._check_questions(release)
        request = _request(release, values)
        self._gate.check(self._known(release), request, release.round)

    def record(self, release: Release, values: Vector, stage: Stage) -> None:
        """Write an offer or a release into the ledger, or refuse.

        Parameters
        ----------
        release : Release
            With the sites in the sum.
        values : ndarray of shape (n_values,)
            This site's part.
        stage : {"offered", "released"}
            How far the sum is.
        """
        request, facts = _request(release, values), self._known(release)
        with self._gate.ledger.locked():
            self._check_questions(release)
            self._gate.record(facts, request, release.round, values, stage=stage)

    def _known(self, release: Release) -> Facts:
        if release.study not in self._facts:
            raise Refusal("ORDER", "the study has not been looked at")
        return self._facts[release.study]

    def _check_questions(self, release: Release) -> None:
        for entry in self._gate.ledger.entries():
            if (
                (entry.study, entry.statistic) == (release.study, release.statistic)
            ) and entry.subject != release.subject:
                raise Refusal(
                    "DISCLOSURE",
                    f"QUESTIONS: this study has had its answer about "
                    f"{release.statistic} (entry {entry.index})",
                )


def _request(release: Release, values: Vector) -> ReleaseRequest:
    return ReleaseRequest(
        release.study, release.statistic, release.subject, release.sites, values.size
    )
