"""A look at a site before a study: what its data are like, and what it would refuse."""

import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fedsdr.disclosure import Ledger, LedgerError, Violation
from fedsdr.exceptions import InputError
from fedsdr.protocols.secure import RuleGate
from fedsdr.protocols.secure.secure_site import check_range, fill_with_own_means
from fedsdr.questions import MomentsOf
from fedsdr.rows import Rows
from fedsdr.secure_sum import Identity
from fedsdr.study.preprocessing import Profile
from fedsdr.study.site_data import SiteData
from fedsdr.study.site_file import SiteFile, read_site
from fedsdr.study.study_file import StudyFile
from fedsdr.study.study_site import check_identity

#: The rules of `fedsdr.disclosure.review`, in its order.
RULES = {
    "ROWS": "no sums of few rows, also in a fold",
    "SLICES": "no slice or class of few rows",
    "LEVELS": "no column that is constant but for a few rows",
    "WIDTH": "not too many columns for the rows",
    "COLUMNS": "only columns that the site allows",
    "STUDY": "only studies that the site allows",
    "STUDIES": "not more studies than the site allows",
    "SITES": "the same sites as in earlier sums of these columns",
    "CHANGED": "the same rows as in earlier sums of these columns",
}


@dataclass(frozen=True, slots=True)
class DryRun:
    """What was found at a site; nothing has left it.

    Parameters
    ----------
    site : SiteFile
        The site.
    study : StudyFile
        Its copy of the study.
    profile : Profile
        Counts of what is in its columns.
    problems : tuple of str
        What does not fit the study, one line each.
    violations : tuple of Violation or None
        Rules that the sums would break; None if the data do not fit, so that there
        are no sums.
    """

    site: SiteFile
    study: StudyFile
    profile: Profile
    problems: tuple[str, ...]
    violations: tuple[Violation, ...] | None

    @property
    def ready(self) -> bool:
        """Whether the site could take part."""
        return not self.problems and not self.violations


def dry_run(site_file: str | Path) -> DryRun:
    """Look at a site as the study would, and let nothing out.

    Parameters
    ----------
    site_file : str or Path
        The site's ``site.toml``.

    Returns
    -------
    DryRun
        An `InputError` if a file cannot be read, so that there is nothing to look at.

    Notes
    -----
    Rules are asked about sums over all sites of the study. A ledger that exists is
    read; none is made.
    """
    site = read_site(site_file)
    study = site.read_study()
    check_identity(site, study, Identity.load(site.at(site.identity)))
    data = SiteData(site, study)
    profile = data.profile()
    problems = profile.problems()
    if problems:
        return DryRun(site, study, profile, tuple(problems), None)
    # Only counts of the folds matter here, not which rows they hold.
    rows = data.rows(np.random.default_rng(0))
    agreed = study.to_study()
    path = site.at(site.ledger)
    fill_with_own_means(agreed, rows)
    violations: list[Violation] = []
    try:
        gate = RuleGate(site.read_policy(), Ledger(path if path.exists() else None))
        _, violations = gate.review(agreed, rows)
        if not violations:
            _try_sums(study, rows)
    except LedgerError as error:
        problems.append(f"ledger: {path} is broken: {error}")
    except InputError as error:
        problems.append(str(error))
    return DryRun(site, study, profile, tuple(problems), tuple(violations))


def _try_sums(study: StudyFile, rows: Rows) -> None:
    """Compute what would be masked, to see whether it can be."""
    agreed = study.to_study()
    question = MomentsOf(agreed.terms)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        values = question.pack(question.compute(rows))
    check_range(values, len(agreed.columns), len(agreed.sites), agreed.ring)
