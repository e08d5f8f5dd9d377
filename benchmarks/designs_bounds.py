"""What is asked of the default estimator on hard designs, and whether it is met."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from scipy.stats import binom

from benchmarks.designs_methods import LEFT_OUT, MAY_BE_NOTHING, WEAK
from benchmarks.hard_designs import FAMILIES, Design

COVARIANCES, SMALL, SKEWED, MANY, ODD, NOISE = FAMILIES

#: Warning that should be given where a site is odd.
ODD_WARNING = "DisagreementWarning"

#: A missed bound is within noise if the excess is below so many standard errors, or
#: if a share as bad has this probability where the bound is just met.
ERRORS, PROBABILITY = 2.0, 0.05

Word = Literal["met", "within noise", "not met", "not run"]


@dataclass(frozen=True, slots=True)
class Bound:
    """A bound on the mean of a measurement over all samples of a design.

    Parameters
    ----------
    measure : {"Dist", "K right", "warned", "silent", "nothing"}
        Distance, or the share of fits that have the right K, that warn of an odd site,
        that select variables without a weak-signal warning, or that find nothing.
    limit : float
        Largest distance or share of silent fits, smallest other share.
    method : str, default="fedsdr"
        Method that is judged.
    times : str, default=""
        Method by whose distance the limit is multiplied; none if empty.
    """

    measure: Literal["Dist", "K right", "warned", "silent", "nothing"]
    limit: float
    method: str = "fedsdr"
    times: str = ""

    @property
    def at_most(self) -> bool:
        """Whether small values are good."""
        return self.measure in ("Dist", "silent")


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether a bound is met.

    Parameters
    ----------
    word : str
        "met", "within noise" (missed, by no more than chance explains), "not met" or
        "not run".
    text : str
        What was measured, the bound, and whether it is met.
    """

    word: Word
    text: str


_LIMITS = {
    "100 x 10, SNR 0.15": 0.60,
    "50 x 20, SNR 0.15": 0.65,
    "10 x 50, links flipped": 0.08,
    "20 true of 300": 0.25,
    "40 true of 300": 0.65,
}


def bounds_of(design: Design) -> tuple[Bound, ...]:
    """List the bounds of a design.

    Parameters
    ----------
    design : Design
        The design.

    Returns
    -------
    tuple of Bound
        Its bounds.
    """
    if design.family == COVARIANCES:
        return Bound("Dist", 1.3, times="oracle"), Bound("K right", 0.95)
    if design.family == SKEWED:
        return Bound("Dist", 1.5, times="oracle pooled"), Bound("K right", 0.90)
    if design.family == ODD:
        left_out = Bound("Dist", 1.1, method=LEFT_OUT, times="oracle pooled")
        return Bound("warned", 0.90), left_out
    if design.family == NOISE:
        return Bound("silent", 0.01), Bound("nothing", 0.95, method=MAY_BE_NOTHING)
    if design.name == "twins":
        return (Bound("Dist", 1.0, times="lasso"),)
    if design.name in _LIMITS:
        return (Bound("Dist", _LIMITS[design.name]),)
    return (Bound("K right", 0.60),)


def values_of(
    fits: pd.DataFrame, measure: str, n_directions: int, odd_warning: str = ODD_WARNING
) -> pd.Series:
    """Compute a measurement of each fit.

    Parameters
    ----------
    fits : pandas.DataFrame
        Fits of one method that did not fail.
    measure : str
        As in `Bound`.
    n_directions : int
        True dimension.
    odd_warning : str, default=ODD_WARNING
        Name of the class of the warning that counts for "warned".

    Returns
    -------
    pandas.Series
        Distances, or 1 and 0, by seed.
    """
    warned = fits.warned.str.split()
    found: pd.Series
    if measure == "Dist":
        found = fits.dist
    elif measure == "K right":
        found = fits.k == n_directions
    elif measure == "nothing":
        found = fits.nothing
    elif measure == "warned":
        found = warned.map(lambda names: odd_warning in names)
    else:
        found = (fits.selected > 0) & warned.map(lambda names: WEAK not in names)
    return pd.Series(found.to_numpy(dtype=float), index=fits.seed.to_numpy())


def judge(
    bound: Bound,
    fits: pd.DataFrame,
    n_directions: int,
    odd_warning: str = ODD_WARNING,
) -> Judgement:
    """Say whether a bound is met.

    Parameters
    ----------
    bound : Bound
        The bound.
    fits : pandas.DataFrame
        Fits of all methods to one design, or to some.
    n_directions : int
        True dimension.
    odd_warning : str, default=ODD_WARNING
        Name of the class of the warning that counts for "warned".

    Returns
    -------
    Judgement
        A method with failed fits does not meet a bound.
    """
    own = fits[fits.method == bound.method]
    failed = int((own.failed != "").sum())
    own = own[own.failed == ""]
    values = values_of(own, bound.measure, n_directions, odd_warning)
    if failed:
        text = f"{bound.measure}: {failed} of {failed + len(own)} fits failed"
        return Judgement("not met", f"{text}: **not met**")
    if bound.measure == "Dist":
        return _judge_distance(bound, values, fits)
    return _judge_share(bound, values)


def _judge_distance(bound: Bound, values: pd.Series, fits: pd.DataFrame) -> Judgement:
    limits = pd.Series(bound.limit, index=values.index)
    if bound.times:
        known = fits[(fits.method == bound.times) & (fits.failed == "")]
        # Samples that both have been fitted to.
        limits = bound.limit * pd.Series(known.dist.to_numpy(), index=known.seed)
        values, limits = values.align(limits, join="inner")
    if not len(values):
        return Judgement("not run", f"{bound.measure}: not run")
    excess = (values - limits).to_numpy()
    error = excess.std(ddof=1) / np.sqrt(len(excess)) if len(excess) > 1 else 0.0
    word: Word = "met"
    if excess.mean() > 0.0:
        word = "within noise" if excess.mean() <= ERRORS * error else "not met"
    limit = f"at most {limits.mean():.3f}"
    factor = f" ({bound.limit:g} x {bound.times})" if bound.times else ""
    whose = "" if bound.method == "fedsdr" else f" of {bound.method}"
    return _judgement(word, f"Dist{whose} {values.mean():.3f}, {limit}{factor}")


def _judge_share(bound: Bound, values: pd.Series) -> Judgement:
    n = len(values)
    if not n:
        return Judgement("not run", f"{bound.measure}: not run")
    count = int(values.sum())
    share = count / n
    met = share <= bound.limit if bound.at_most else share >= bound.limit
    chance = (
        binom.sf(count - 1, n, bound.limit)
        if bound.at_most
        else binom.cdf(count, n, bound.limit)
    )
    word: Word = "met"
    if not met:
        word = "within noise" if chance > PROBABILITY else "not met"
    side = "at most" if bound.at_most else "at least"
    name = {"nothing": "nothing found"}.get(bound.measure, bound.measure)
    return _judgement(word, f"{name} {share:.0%}, {side} {bound.limit:.0%}")


def _judgement(word: Word, measured: str) -> Judgement:
    verdict = {
        "met": "met",
        "within noise": "not met, within noise",
        "not met": "**not met**",
    }[word]
    return Judgement(word, f"{measured}: {verdict}")
