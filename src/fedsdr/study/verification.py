"""Verify what a site has kept of a study: its ledger and its result."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fedsdr.disclosure import LedgerError
from fedsdr.exceptions import InputError
from fedsdr.normal_scores import same_scores
from fedsdr.result import Result
from fedsdr.secure_sum import Identity
from fedsdr.study.site_file import read_site
from fedsdr.study.stewardship import open_ledger


@dataclass(frozen=True, slots=True)
class SiteRecord:
    """Ledger and result of a site, as far as they could be verified.

    Parameters
    ----------
    n_entries : int
        Number of entries in the site's ledger.
    head : str
        Hash of the last entry, empty if the ledger is broken.
    same_result : bool
        Whether the site's result equals the coordinator's.
    problem : str, default=""
        Description of the problem, empty if there is none.
    """

    n_entries: int
    head: str
    same_result: bool
    problem: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether there is no problem."""
        return not self.problem


def verify_site(site_file: str | Path, result: Result) -> SiteRecord:
    """Verify the ledger of a site, and compare its result with the coordinator's.

    Parameters
    ----------
    site_file : str or Path
        The site's ``site.toml``.
    result : Result
        The coordinator's result.

    Returns
    -------
    SiteRecord
        Record, with a problem if the chain of hashes is broken, if nothing was
        recorded, or if the results differ.
    """
    site = read_site(site_file)
    path = site.at(site.result)
    try:
        same = path.exists() and are_equal(Result.from_json(path), result)
    except InputError:
        same = False
    try:
        identity = Identity.load(site.at(site.identity))
        status = open_ledger(site, identity).verify()
    except InputError as error:
        return SiteRecord(0, "", same, str(error))
    except LedgerError as error:
        return SiteRecord(0, "", same, f"the ledger is broken: {error}")
    problem = ""
    if not status.n_entries:
        problem = "the ledger is empty"
    elif not same:
        problem = "the result is not the coordinator's"
    return SiteRecord(status.n_entries, status.head, same, problem)


def are_equal(one: Result, other: Result) -> bool:
    """Compare two results.

    Parameters
    ----------
    one, other : Result
        Results, in any order.

    Returns
    -------
    bool
        Whether names, variables, stand-ins, directions, scores and certificate are the
        same, to the last digit.
    """
    return (
        one.feature_names == other.feature_names
        and np.array_equal(one.support, other.support)
        and np.array_equal(one.directions, other.directions)
        and np.array_equal(one.eigenvalues, other.eigenvalues)
        and same_scores(one.scores, other.scores)
        and (one.objective, one.gap) == (other.objective, other.gap)
        and (one.n_rows, one.n_sites) == (other.n_rows, other.n_sites)
        and one.weak == other.weak
        and one.stand_ins == other.stand_ins
    )
