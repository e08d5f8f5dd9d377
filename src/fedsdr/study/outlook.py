"""List what a study computes and what leaves each site, from the message schema."""

from dataclasses import dataclass

import numpy as np

from fedsdr.normal_scores import N_CUTS
from fedsdr.protocols.schema import FieldSpec
from fedsdr.protocols.secure.secure_schema import SECURE
from fedsdr.questions import (
    AgreementOf,
    BlockOf,
    ColumnShapes,
    ColumnsOf,
    DiagonalsOf,
    MomentsOf,
    PicturesOf,
    PrivateMoments,
    ProfileOf,
    RemainderOf,
    ScoreSteps,
    SplitTestsOf,
    SpreadOf,
    SpreadWithTests,
)
from fedsdr.rows.half_samples import smallest_sets
from fedsdr.study.model_outlook import (
    describe_model,
    fold_sums,
    model_sums,
    times_asked,
)
from fedsdr.study.privacy_cost import describe_privacy
from fedsdr.study.study_file import StudyFile
from fedsdr.summaries.picture_sums import MOST_PICTURED, N_PICTURE_BINS
from fedsdr.terms import MOST_BLOCKS, N_CANDIDATES, Terms

#: Number of selected variables for which the size of a profile is told.
USUAL_SELECTED = 10

_TAKES_PART = "which sites take part, and a fixed code for each that does not"

#: Messages of one secure sum.
STAGES = ("keys", "shares", "verify", "masked", "confirm", "unmask")


@dataclass(frozen=True, slots=True)
class Leaving:
    """One field of a message that leaves a site.

    Parameters
    ----------
    statistic : str
        Name of the sum that the field belongs to.
    message : str
        Name of the message.
    field : str
        Name of the field.
    kind : str
        Type and shape of the field.
    n_bytes : int
        Size in bytes.
    formula : str
        Formula or description of the content.
    seen_by : str
        Parties that can read the field.
    times : int, default=1
        How often it is sent at most, where that was agreed on: once for every Newton
        step. Profiles are counted once.
    """

    statistic: str
    message: str
    field: str
    kind: str
    n_bytes: int
    formula: str
    seen_by: str
    times: int = 1


def statistics(study: StudyFile) -> dict[str, int]:
    """List the sums of a study.

    Parameters
    ----------
    study : StudyFile
        The study.

    Returns
    -------
    dict of str to int
        Number of values in each sum, in the order in which sums are requested; of a
        profile, and of tests in each half, for 10 selected variables and 2 directions,
        or as many as there are, of pictures and models for 2 directions, and of columns
        for 10 of them. "moments/fold" is asked for without each fold of the rows.
    """
    terms = study.to_study().terms
    if terms.privacy is not None:
        return {PrivateMoments.name: PrivateMoments(terms).n_values}
    again = _sums(study, terms.outside_folds) if terms.score_folds else {}
    return {**_sums(study, terms), **fold_sums(again, terms)}


def _sums(study: StudyFile, terms: Terms) -> dict[str, int]:
    """List the sums over all rows, or those without one fold."""
    if terms.max_columns:
        found = {
            DiagonalsOf.name: DiagonalsOf(terms).n_values,
            BlockOf.name: BlockOf.length(min(N_CANDIDATES, terms.n_features)),
            ColumnsOf.name: ColumnsOf.length(terms.n_features, USUAL_SELECTED),
        }
    else:
        found = {MomentsOf.name: MomentsOf(terms).n_values}
    if terms.scored:
        cuts = np.zeros((terms.n_features, N_CUTS))
        earlier = ColumnShapes(terms), ScoreSteps(terms, cuts)
        found = {**{one.name: one.n_values for one in earlier}, **found}
    elif study.imputed:
        found = {"means": 2 * len(study.imputed), **found}
    if terms.validation_fraction:
        found["errors"] = terms.max_candidates
    if terms.max_profiles:
        s, k = min(USUAL_SELECTED, terms.n_features), min(2, terms.n_features)
        spread = SpreadOf.length(terms.n_features)
        if study.method.selects_by_tests:
            found[SplitTestsOf.name] = SplitTestsOf.length(s, k, terms.n_splits)
        elif terms.n_splits:
            spread += SplitTestsOf.length(s, k, terms.n_splits)
        joined = terms.n_splits and not study.method.selects_by_tests
        found[SpreadWithTests.name if joined else SpreadOf.name] = spread
        found["profile"] = ProfileOf.length(s, k)
        found["remainder"] = RemainderOf.length(terms.n_features)
        found["agreement"] = AgreementOf.length(terms.n_features, k)
    if terms.picture_rows:
        k = min(2, terms.n_features)
        found[PicturesOf.name] = PicturesOf.length(k, len(terms.classes))
    if terms.model is not None:
        found |= model_sums(terms)
    return found


def count_rounds(study: StudyFile) -> int:
    """Count the messages that every site has to answer.

    Parameters
    ----------
    study : StudyFile
        The study.

    Returns
    -------
    int
        Number of messages for agreement, sums and result, and for sums that sites open
        themselves, with one profile; there are
        as many as it takes until the directions no longer change, mostly 2 to 10. The
        sum of remainders is only asked for where covariances differ. Of a model all
        Newton steps that were agreed on are counted.
    """
    agreed = study.to_study()
    return 2 + sum(
        times_asked(agreed.terms, one)
        * (len(STAGES) + agreed.is_shown(one.partition("/")[0]))
        for one in statistics(study)
    )


def leaves_site(study: StudyFile) -> list[Leaving]:
    """List what leaves each site, provided that no site drops out.

    Parameters
    ----------
    study : StudyFile
        The study.

    Returns
    -------
    list of Leaving
        All fields, in the order in which they are sent.
    """
    agreed = study.to_study()
    n_sites = len(agreed.sites)
    # One sealed box and one share for every site; no complaints, if all are honest.
    items = {"boxes": n_sites, "shares": n_sites, "complaints": 0, "unsigned": 0}
    found = []
    for statistic, n_values in statistics(study).items():
        sizes = {"n_values": n_values, "words": agreed.ring.words}
        for stage in STAGES:
            name = f"secure.{stage}"
            found += [
                Leaving(
                    statistic,
                    name,
                    one.name,
                    _kind(one, sizes, items),
                    _size(one, sizes, items),
                    one.formula,
                    one.seen_by,
                    times_asked(agreed.terms, statistic),
                )
                for one in SECURE.message(name, "reply").fields
            ]
    return found


def seen_by_coordinator(study: StudyFile) -> list[str]:
    """Describe in words what the coordinator can read.

    Parameters
    ----------
    study : StudyFile
        The study.

    Returns
    -------
    list of str
        Descriptions, one line each.
    """
    agreed = study.to_study()
    d = len(agreed.columns)
    if agreed.terms.privacy is not None:
        return [*describe_privacy(study), *_joining(study), _TAKES_PART]
    most = agreed.terms.max_columns
    pairs = (
        f"variances of {d} columns and what y has to do with each, covariance and "
        f"kernel of at most {most} columns that it chooses, up to {MOST_BLOCKS} times, "
        f"and of at most {most} columns with all others"
        if most
        else f"covariance and kernel of {d} columns"
    )
    pooled = (
        f"sums over the sites that stay, {agreed.agreed_threshold} at least: number of "
        f"rows, {pairs}"
    )
    lines = [pooled, *_joining(study)]
    if agreed.terms.scored:
        lines[0] += ", after columns are replaced by normal scores"
        lines.append(
            "for the scores, over these sites and of every column: averages of the "
            "sites' means, squared means and variances, numbers of values between "
            f"powers of two and between {N_CUTS} cuts, and average steps of the sites' "
            "normal scores at these cuts"
        )
    if study.imputed:
        lines.append(
            f"means and numbers of values, over these sites, of {len(study.imputed)} "
            "column(s) whose gaps are filled"
        )
    if agreed.terms.n_folds:
        lines.append(f"the same sums for {agreed.terms.n_folds} random folds of rows")
    if agreed.terms.n_splits:
        lines.append(
            f"the same sums for both halves of {agreed.terms.n_splits} splits of the "
            "rows, which every site makes by a secret of its own, and so for "
            f"{_part_text(agreed.terms.n_splits)} of all rows"
        )
        lines.append(
            "once, for tests: of every tested variable and half its coefficients for "
            "functions of y, their variances, and sums of fourth powers, over the "
            "other halves"
        )
    if agreed.terms.max_votes:
        lines.append("how many sites vote for which dimension, and not which ones")
    if agreed.terms.validation_fraction:
        lines.append("sums of the sites' errors for candidate directions")
    if agreed.terms.max_profiles:
        lines.append(
            "sums of how well directions explain y at the sites, on the selected "
            f"variables, for at most {agreed.terms.max_profiles} sets of directions"
        )
        lines.append(
            "how far the sites' covariances of these variables are apart, and how many "
            "sites do not agree with the result, or need how many of its directions, "
            "not which; for warnings, sums of "
            "skewness, of how many directions sites use, and of products of y with "
            "squares of columns"
        )
        lines.append(
            "if the covariances differ, once: of each column how much y still has to "
            "do with it beside the directions"
        )
        lines.append(
            f"of each of the {d} columns at how many sites it varies, and the average "
            "over these of its variance's binary logarithm, as a whole number"
        )
        lines.append(
            "if it asks for variables and directions of its own choice: covariances at "
            "single sites, not at which; see SECURITY.md"
        )
    if agreed.terms.picture_rows:
        lines.append(describe_pictures(agreed.terms))
    if agreed.terms.model is not None:
        lines += describe_model(agreed.terms)
    lines.append(
        "which sites have numbers too large or too small to be added as they are; of "
        "every column then how large its numbers are on average over the sites, as a "
        "power of two"
    )
    lines.append(_TAKES_PART)
    return lines


def describe_pictures(terms: Terms) -> str:
    """Describe in words what the sums for pictures show.

    Parameters
    ----------
    terms : Terms
        Terms of a study with pictures.

    Returns
    -------
    str
        One line.
    """
    what = "rows of each class" if terms.classes else "rows and the sum of y"
    return (
        f"for pictures, {what} in {N_PICTURE_BINS} bins of each direction (at most "
        f"{MOST_PICTURED}); of bins in which a site has fewer than "
        f"{terms.picture_rows} rows in a cell, nothing of that site"
    )


def seen_by_sites(study: StudyFile) -> list[str]:
    """Describe in words what a site can read.

    Parameters
    ----------
    study : StudyFile
        The study.

    Returns
    -------
    list of str
        Descriptions, one line each.
    """
    lines = ["which sites take part, and their public keys"]
    if study.imputed:
        lines.append(
            "sums and numbers of values, over all sites, of the columns whose gaps are "
            "filled, from which it computes their means itself"
        )
    if study.model.method.scores == "normal":
        lines.append(
            "the sums for the scores, as the coordinator sees them, from which it "
            f"computes {N_CUTS} cuts of every column and the normal scores itself"
        )
    if study.to_study().terms.validation_fraction:
        lines.append("candidate directions")
    if study.to_study().terms.max_profiles:
        lines.append(
            "the selected variables, their scale and covariance over all sites, "
            "directions on the way to the result, coefficients of y on them and what "
            "they explain, and the usual variance of every column"
        )
    if study.to_study().terms.n_splits:
        lines.append(
            "what each half of all rows selects: variables, directions, coefficients, "
            "and the inverse covariance of the other half"
        )
    if study.to_study().terms.model is not None:
        lines.append(
            "the sums for the model, as the coordinator sees them, from which it "
            "computes every step and the model itself; a site's own intercept, if "
            "there is one, stays there"
        )
    lines.append("the result: directions, variables, eigenvalues, number of rows")
    if study.to_study().terms.n_splits:
        lines[-1] += ", tests of all variables"
    return lines


def _part_text(n_splits: int) -> str:
    """Say how small a set is whose sums follow from those of halves."""
    least = min(map(len, smallest_sets(n_splits)))
    return {1: "an eighth", 2: "a quarter"}.get(least, "a half")


def _kind(one: FieldSpec, sizes: dict[str, int], items: dict[str, int]) -> str:
    if one.kind == "array":
        shape = " x ".join(str(sizes.get(str(n), n)) for n in one.shape)
        return f"{np.dtype(one.dtype).name} ({shape})"
    if one.kind == "mapping" and one.items is not None:
        return f"{items[one.name]} x {one.items.type_text}"
    return one.type_text


def _size(one: FieldSpec, sizes: dict[str, int], items: dict[str, int]) -> int:
    if one.kind in ("mapping", "list") and one.items is not None:
        return items[one.name] * _size(one.items, sizes, items)
    lengths = [n if isinstance(n, int) else sizes[n] for n in one.shape]
    width = np.dtype(one.dtype).itemsize if one.kind == "array" else 1
    return int(np.prod(lengths)) * width


def _joining(study: StudyFile) -> list[str]:
    """Say what the difference of this study and earlier ones shows."""
    names = ", ".join(sorted(study.sites.joining))
    if not names:
        return []
    words = (
        f"if the others have added the same columns before, the part of {names} alone: "
        "the difference of both sums, which each of them has to allow"
    )
    return [words]
