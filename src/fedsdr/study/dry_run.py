"""Check a site before a study: its data, and the rules that its sums would break."""

import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from fedsdr.disclosure import RULES as ALL_RULES
from fedsdr.disclosure import Entry, LedgerError, PeerBook, ReleaseGate, Violation
from fedsdr.disclosure.increments import describe_increments
from fedsdr.exceptions import InputError
from fedsdr.protocols.secure import AgreedStudy
from fedsdr.protocols.secure.exact_sums import (
    check_diagonals,
    check_range,
    check_shapes,
    needs_powers,
)
from fedsdr.protocols.secure.secure_site import fill_with_own_means
from fedsdr.questions import ColumnShapes, DiagonalsOf, MomentsOf, RowSettings
from fedsdr.rows import Rows
from fedsdr.secure_sum import Identity
from fedsdr.study.accepted_studies import with_study
from fedsdr.study.level_counts import LevelCounts
from fedsdr.study.preprocessing import ColumnProfile
from fedsdr.study.site_data import SiteData
from fedsdr.study.site_file import SiteFile, read_site
from fedsdr.study.stewardship import Partner, list_partners, open_ledger
from fedsdr.study.study_file import StudyFile
from fedsdr.study.study_site import check_identity, seed_of_halves
from fedsdr.study.value_summary import ValueSummary

#: Rules that a dry run can judge; the others depend on what will be asked, and on the
#: values of other sites.
RULES = {
    code: words
    for code, words in ALL_RULES.items()
    if code not in ("QUESTIONS", "FILLS")
}


@dataclass(frozen=True, slots=True)
class DryRun:
    """Findings of a dry run at a site; nothing has left it.

    Parameters
    ----------
    site : SiteFile
        The site.
    study : StudyFile
        The site's copy of the study.
    profile : ColumnProfile
        Counts of values in the site's columns.
    problems : tuple of str
        Problems of the data with the study, one line each.
    violations : tuple of Violation or None
        Rules that the sums would break; None if the data do not fit the study, so that
        there are no sums.
    summaries : dict of str to ValueSummary
        Values of the columns of numbers, for the steward's eyes only.
    levels : dict of str to LevelCounts
        Rows by level before and after the preparation, for the same eyes.
    partners : tuple of Partner
        Partners in the study, and what the steward has decided about each.
    differences : tuple of str
        What the difference of sums and earlier ones shows, one line each.
    """

    site: SiteFile
    study: StudyFile
    profile: ColumnProfile
    problems: tuple[str, ...]
    violations: tuple[Violation, ...] | None
    summaries: dict[str, ValueSummary] = field(default_factory=dict, repr=False)
    levels: dict[str, LevelCounts] = field(default_factory=dict, repr=False)
    partners: tuple[Partner, ...] = ()
    differences: tuple[str, ...] = ()

    @property
    def ready(self) -> bool:
        """Whether the site could take part, once its new partners are accepted."""
        return not self.problems and not self.violations

    @property
    def undecided(self) -> tuple[str, ...]:
        """Partners that the steward has never decided about."""
        return tuple(one.name for one in self.partners if one.standing == "new")


def dry_run(site_file: str | Path, study_file: str | Path | None = None) -> DryRun:
    """Check a site as the study would, without sending anything.

    Parameters
    ----------
    site_file : str or Path
        The site's ``site.toml``.
    study_file : str, Path or None, default=None
        Study to check the site for; the one that the site file names if None.

    Returns
    -------
    DryRun
        Findings. An `InputError` is raised if a file cannot be read.

    Notes
    -----
    Rules are checked for sums over all sites of the study. The ledger is read; none is
    created.
    """
    site = read_site(site_file)
    if study_file is not None:
        site = with_study(site, Path(study_file))
    study = site.read_study()
    identity = Identity.load(site.at(site.identity))
    check_identity(site, study, identity)
    data = SiteData(site, study, _known_entries(site, identity))
    profile = data.profile()
    problems = profile.problems()
    partners = tuple(list_partners(site, study))
    shown = data.summaries(), data.level_counts(), partners
    if problems:
        return DryRun(site, study, profile, tuple(problems), None, *shown)
    # Only counts of the folds matter here, not which rows they hold.
    rows = data.rows(np.random.default_rng(0))
    agreed = study.to_study()
    path = site.at(site.ledger)
    fill_with_own_means(agreed, rows)
    violations: list[Violation] = []
    differences: list[str] = []
    try:
        ledger = open_ledger(site, identity)
        rows.keep_halves(seed_of_halves(ledger))
        facts = agreed.observe(rows, ledger.fingerprint)
        differences = describe_increments(facts.increments, ledger.entries())
        peers = PeerBook.read(site.at(site.peers))
        gate = ReleaseGate(site.read_policy(), ledger, peers, site.name)
        violations = gate.review(agreed.first_release(), facts)
        if {one.standing for one in partners} <= {"accepted", "new"}:
            # They are the steward's to accept, who looks before that.
            violations = [one for one in violations if one.rule != "PARTNERS"]
        # Bounded rows can always be added.
        if not violations and study.privacy is None:
            _try_sums(agreed, rows, rescales=study.model.method.standardize)
    except LedgerError as error:
        problems.append(f"ledger: {path} is broken: {error}")
    except InputError as error:
        problems.append(str(error))
    found = tuple(problems), tuple(violations), *shown
    return DryRun(site, study, profile, *found, tuple(differences))


def _known_entries(site: SiteFile, identity: Identity) -> tuple[Entry, ...]:
    """Read the ledger; what is wrong with it is said later."""
    try:
        return open_ledger(site, identity).entries()
    except (LedgerError, InputError):
        return ()


def _try_sums(agreed: AgreedStudy, rows: Rows, *, rescales: bool) -> None:
    """Compute the sums, to see whether they can be added exactly."""
    # The sites would agree on powers of two near those of this site.
    wide = rescales and needs_powers(rows, len(agreed.sites), agreed.ring)
    powers = rows.measured.powers if wide else None
    many = agreed.terms.max_columns > 0
    kind: Any = DiagonalsOf if many else MomentsOf
    question = kind(agreed.terms, RowSettings(powers))
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        values = question.pack(question.compute(rows))
    size = len(agreed.columns), len(agreed.sites), agreed.ring
    if not agreed.terms.scored:
        (check_diagonals if many else check_range)(values, *size)
        return
    # Scores, which moments are computed of, are of the same size in all units.
    shapes = ColumnShapes(agreed.terms, powers)
    check_shapes(shapes.pack(shapes.compute(rows)), *size)
