"""All sites in one process: what each would compute, summed.

Stands in for a federation: everything that crosses from a site to the sums is a
summary, a vote or a sum of errors.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fedsdr.exceptions import InputError, SiteWarning
from fedsdr.selection import Choices, Evidence, bic_dimension
from fedsdr.summaries import Summary, is_discrete, prediction_errors, summarize
from fedsdr.summaries.one_site import Kernel

Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Slicing:
    """How sites summarise their rows.

    Parameters
    ----------
    kernel : {"smooth", "slices", "pairs"}
        Kind of kernel.
    slice_size : int
        Rows in a slice.
    n_slices : int or None
        Number of slices; overrides `slice_size`.
    """

    kernel: Kernel
    slice_size: int = 20
    n_slices: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Site:
    """The rows of one site, which only it may look at.

    Parameters
    ----------
    label : object
        Name, None for the only site.
    X : ndarray of shape (n_rows, n_features)
        Its rows.
    y : ndarray of shape (n_rows,)
        Its responses.
    """

    label: object
    X: Matrix
    y: NDArray[Any]

    def rows(self, kept: NDArray[np.bool_]) -> tuple[Matrix, NDArray[Any]]:
        """Take some of the rows.

        Parameters
        ----------
        kept : ndarray of bool, shape (n_rows,)
            Mask.

        Returns
        -------
        tuple (X, y)
            Those rows.
        """
        return self.X[kept], self.y[kept]


@dataclass(frozen=True, slots=True, eq=False)
class _Summarizer:
    """One way of summarising for all sites."""

    slicing: Slicing
    discrete: bool
    on_degenerate: Literal["raise", "zero"]

    def __call__(self, site: Site, kept: NDArray[np.bool_] | None = None) -> Summary:
        X, y = (site.X, site.y) if kept is None else site.rows(kept)
        return summarize(
            X,
            y,
            slice_size=self.slicing.slice_size,
            n_slices=self.slicing.n_slices,
            kernel=self.slicing.kernel,
            target="classes" if self.discrete else "continuous",
            on_degenerate=self.on_degenerate,
            site=site.label,
        )

    def total(
        self, parts: list[Site], kept: Sequence[NDArray[np.bool_]] | None = None
    ) -> Summary:
        masks = [None] * len(parts) if kept is None else kept
        pairs = zip(parts, masks, strict=True)
        summaries = [self(site, mask) for site, mask in pairs]
        return sum(summaries[1:], summaries[0])


def gather_evidence(
    X: Matrix,
    y: NDArray[Any],
    sites: Any,
    slicing: Slicing,
    choices: Choices,
    *,
    n_folds: int,
    validation_fraction: float,
    generator: np.random.Generator,
) -> Evidence:
    """Let every site compute its part and add up.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        Rows of all sites.
    y : ndarray of shape (n_rows,)
        Responses.
    sites : array-like of shape (n_rows,) or None
        Label of each row's site; None for one site.
    slicing : Slicing
        How to summarise.
    choices : Choices
        What will have to be chosen.
    n_folds : int
        Folds for "moments".
    validation_fraction : float
        Share of every site's rows that "holdout" holds out.
    generator : numpy.random.Generator
        Splits the rows.

    Returns
    -------
    Evidence
        All that the choice of K and of the penalty will need.
    """
    parts = split_sites(X, y, sites)
    discrete = is_discrete(y)
    summary = _Summarizer(slicing, discrete, "raise" if len(parts) == 1 else "zero")
    evidence = Evidence(summary.total(parts))
    # All rows together have just been judged; a fold may well be too small.
    summary = replace(summary, on_degenerate="zero")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SiteWarning)
        if choices.n_directions == "votes":
            own = [summary(site) for site in parts]
            votes = [
                bic_dimension(one.kernel, one.n_rows, choices.max_directions)
                for one in own
                if one.between.any()
            ]
            evidence = replace(evidence, votes=tuple(votes))
        if choices.penalty == "moments":
            masks = [_assign(site, n_folds, generator) for site in parts]
            folds = [
                (
                    summary.total(parts, [mask != fold for mask in masks]),
                    summary.total(parts, [mask == fold for mask in masks]),
                )
                for fold in range(n_folds)
            ]
            evidence = replace(evidence, folds=tuple(folds))
        if choices.penalty == "holdout":
            held = [_hold_out(site, validation_fraction, generator) for site in parts]
            evidence = replace(
                evidence,
                fitting=summary.total(parts, [~mask for mask in held]),
                errors=partial(_errors, parts, held, discrete),
            )
    return evidence


def _errors(
    parts: list[Site],
    held: list[NDArray[np.bool_]],
    discrete: bool,  # noqa: FBT001
    bases: Sequence[Matrix],
) -> Matrix:
    """Sum the sites' mean squared errors, candidate by candidate."""
    errors = np.zeros(len(bases))
    for site, mask in zip(parts, held, strict=True):
        own = prediction_errors(
            site.rows(~mask), site.rows(mask), bases, discrete=discrete
        )
        errors += own / mask.sum()
    return errors


def split_sites(X: Matrix, y: NDArray[Any], sites: Any) -> list[Site]:
    """Group rows by site.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        Rows of all sites.
    y : ndarray of shape (n_rows,)
        Responses.
    sites : array-like of shape (n_rows,) or None
        Labels.

    Returns
    -------
    list
        One part a site, sorted by label.
    """
    if sites is None:
        return [Site(None, X, y)]
    labels = np.asarray(sites)
    if labels.ndim != 1 or len(labels) != len(y):
        raise InputError(
            f"sites must give one label for each of the {len(y)} rows, got shape "
            f"{labels.shape}"
        )
    if pd.isna(labels).any():
        raise InputError(
            f"sites has {int(pd.isna(labels).sum())} missing label(s): every row must "
            "belong to a site"
        )
    try:
        names, codes = np.unique(labels, return_inverse=True)
    except TypeError as error:
        raise InputError(
            "sites mixes labels of different types, such as text and numbers"
        ) from error
    return [
        Site(name, X[codes == code], y[codes == code])
        for code, name in enumerate(names.tolist())
    ]


def _assign(
    site: Site, n_folds: int, generator: np.random.Generator
) -> NDArray[np.intp]:
    if len(site.y) < 2 * n_folds:
        raise InputError(
            f"{n_folds} folds need {2 * n_folds} rows at every site, but one has "
            f"{len(site.y)}: use fewer folds or penalty='universal'"
        )
    return generator.permutation(len(site.y)) % n_folds


def _hold_out(
    site: Site, fraction: float, generator: np.random.Generator
) -> NDArray[np.bool_]:
    count = round(fraction * len(site.y))
    if not 1 <= count < len(site.y):
        raise InputError(
            f"holding out {fraction:.0%} of {len(site.y)} rows leaves nothing to fit "
            "or to validate on: use penalty='universal'"
        )
    return generator.permutation(len(site.y)) < count
