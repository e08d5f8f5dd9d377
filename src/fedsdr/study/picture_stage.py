"""The last stage of a study with pictures: how the response follows each direction."""

from dataclasses import replace

import numpy as np

from fedsdr.questions import Asking, PicturesOf
from fedsdr.result import Result
from fedsdr.run import Afterwards, Gathered
from fedsdr.summaries.picture_sums import MOST_PICTURED, read_pictures
from fedsdr.terms import Terms

#: Where a result has the bins, as that of ``fedsdr fit`` has.
FIELD = "curves"


def pictures_afterwards(terms: Terms) -> Afterwards | None:
    """Return the stage, if a study has pictures.

    Parameters
    ----------
    terms : Terms
        Terms that all parties agreed on.

    Returns
    -------
    callable or None
        Stage for `fedsdr.run.run`.
    """
    if not terms.picture_rows:
        return None

    def stage(gathered: Gathered, result: Result) -> Asking[Result]:
        if result.found_nothing:
            return result
        question, spreads = ask_for_pictures(terms, gathered, result)
        sums = yield question
        bins = read_pictures(sums, spreads, terms.classes, terms.picture_rows)
        tables = [one.table() for one in bins]
        return replace(result, settings={**result.settings, FIELD: tables})

    return stage


def ask_for_pictures(
    terms: Terms, gathered: Gathered, result: Result
) -> tuple[PicturesOf, np.ndarray]:
    """Ask for sums in bins of the axes that a result shows.

    Parameters
    ----------
    terms : Terms
        Terms that all parties agreed on.
    gathered : Gathered
        Sums over all sites.
    result : Result
        Result with directions.

    Returns
    -------
    question : PicturesOf
        Directions of standard deviation 1 over all sites.
    spreads : ndarray of shape (K,)
        By which they were divided.
    """
    frame = gathered.frame
    columns = np.flatnonzero(result.support)
    places = np.searchsorted(np.flatnonzero(frame.usable), columns)
    sigma = gathered.evidence.total.sigma[np.ix_(places, places)]
    loadings = result.loadings[columns, :MOST_PICTURED]
    spreads = np.sqrt(np.einsum("jk,jl,lk->k", loadings, sigma, loadings))
    spreads = np.where(spreads > 0.0, spreads, 1.0)
    question = PicturesOf(
        terms, columns, frame.scale[columns], loadings / spreads, frame.settings
    )
    return question, spreads
