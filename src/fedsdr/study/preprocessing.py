"""Prepare the columns of a site for the sums, as the study declares.

This is done batch by batch: columns are recoded, converted and derived as the study's
plans say (`fedsdr.preparation`), values are compared with declared ranges and levels,
rows with gaps are dropped where the study declares "drop", and categories become
indicators. Columns are not standardised here: the coordinator divides the pooled
sums by the pooled within-site standard deviations (see `fedsdr.run.gather`), which
gives the same result as scaling the rows and needs no further round.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fedsdr.arrays import Mask, Matrix
from fedsdr.preparation.column_steps import to_block
from fedsdr.preparation.prepared_table import apply_plans
from fedsdr.study.checked_files import CheckError
from fedsdr.study.study_columns import Target
from fedsdr.study.study_file import StudyFile

#: Problems for which a site refuses a study, with their correction.
PROBLEMS = {
    "unreadable": "{n} value(s) that are not numbers: correct them",
    "text": "{n} number(s) stored as text: store them as numbers",
    "infinite": "{n} infinite value(s), or undefined ones: correct them",
    "nonpositive": "{n} value(s) without a logarithm, zero or negative: correct them, "
    "or agree on missing_codes",
    "gaps": "{n} missing value(s), which the study refuses: fill them in, leave these "
    "rows out, or agree on missing = 'drop'",
    "outside": "{n} value(s) outside the agreed range: correct them (is the unit the "
    "agreed one?), or agree on another range",
    "undeclared": "{n} value(s) that are not an agreed level: correct them, or agree "
    "on more levels",
}

#: Steps of a preparation that are counted, see `fedsdr.preparation.column_steps`.
STEPS = ("found missing", "coded", "recoded", "to missing level")


@dataclass(slots=True)
class ColumnProfile:
    """Counts of rows and problems in the columns of a site, without any value.

    Parameters
    ----------
    n_rows : int, default=0
        Number of rows read.
    n_dropped : int, default=0
        Number of rows left out because of a gap.
    counts : dict of str to dict
        For each column of the study, the counts of "missing" after its preparation and
        of each of `STEPS` in all rows, and of each of `PROBLEMS` in the rows kept.
    """

    n_rows: int = 0
    n_dropped: int = 0
    counts: dict[str, dict[str, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, names: Iterable[str]) -> Self:
        """Return a profile with all counts zero.

        Parameters
        ----------
        names : iterable of str
            Columns of the study, including the target.

        Returns
        -------
        ColumnProfile
            Profile of no rows.
        """
        kinds = ("missing", *STEPS, *PROBLEMS)
        return cls(counts={name: dict.fromkeys(kinds, 0) for name in names})

    @property
    def n_kept(self) -> int:
        """Number of rows that enter the sums."""
        return self.n_rows - self.n_dropped

    def add(self, other: "ColumnProfile") -> None:
        """Add the counts of another batch.

        Parameters
        ----------
        other : ColumnProfile
            Profile of the same columns.
        """
        self.n_rows += other.n_rows
        self.n_dropped += other.n_dropped
        for name, found in other.counts.items():
            for kind, count in found.items():
                self.counts[name][kind] += count

    def problems(self) -> list[str]:
        """List the problems for which the site refuses the study.

        Returns
        -------
        list of str
            One line per problem, with column and count; empty if there is none.
        """
        lines = [
            f"column '{name}': {words.format(n=found[kind])}"
            for name, found in self.counts.items()
            for kind, words in PROBLEMS.items()
            if found[kind] and not (kind == "text" and found["unreadable"])
        ]
        if not self.n_kept:
            lines.append("no rows are left to sum")
        return lines

    def check(self, where: str) -> None:
        """Refuse data that do not fit the study.

        Parameters
        ----------
        where : str
            Name of the data in error messages.

        Raises
        ------
        CheckError
            If there is a problem; the error lists all of them.
        """
        problems = self.problems()
        if problems:
            raise CheckError(where, problems)


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """Rows in the form in which they are summed.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        Numbers and indicators; NaN where a mean is to be filled in, and where a value
        is counted as a problem.
    y : ndarray of shape (n_rows,)
        Numbers as float64, classes as text.
    profile : ColumnProfile
        Counts of rows and problems.
    kept : ndarray of bool
        Which rows of the batch were kept.
    """

    X: Matrix
    y: NDArray[Any]
    profile: ColumnProfile
    kept: Mask


@dataclass(frozen=True, slots=True)
class Preprocessor:
    """Preparation of the rows of a site for a study.

    Parameters
    ----------
    study : StudyFile
        Study file, which declares the columns.
    names : mapping of str to str, default={}
        Name in the data of each column of the study whose name differs there.
    left_out : frozenset of str, default=frozenset()
        Columns declared "mean or drop" of which this site leaves rows with gaps out,
        see `fedsdr.study.rare_gaps`.
    """

    study: StudyFile
    names: Mapping[str, str] = field(default_factory=dict)
    left_out: frozenset[str] = frozenset()

    @property
    def sources(self) -> dict[str, str]:
        """For each column that the study reads, its name in the data."""
        reads = self.study.reads
        return {name: self.names.get(name, source) for name, source in reads.items()}

    def prepare(self, batch: pd.DataFrame) -> Prepared:
        """Prepare one batch of rows.

        Parameters
        ----------
        batch : pandas.DataFrame
            Batch with the columns in `sources`.

        Returns
        -------
        Prepared
            Rows, without those that have gaps in columns declared "drop" or in
            `left_out`. Problems are counted, not raised: see `ColumnProfile.check`.
        """
        study = self.study
        read = apply_plans(batch, study.plans, self.sources)
        kept = np.ones(len(batch), dtype=bool)
        for name, column in read.items():
            if study.missing_in(name) == "drop" or name in self.left_out:
                kept &= ~column.missing
        profile = ColumnProfile.of(read)
        profile.n_rows, profile.n_dropped = len(batch), int((~kept).sum())
        for name, column in read.items():
            counts = profile.counts[name]
            counts["missing"] = int(column.missing.sum())
            if study.missing_in(name) == "refuse":
                counts["gaps"] = int((column.missing & kept).sum())
            counts.update(column.steps)
            for kind, bad in column.bad.items():
                # With privacy they are moved to the end of the range.
                if kind != "outside" or study.privacy is None:
                    counts[kind] = int((bad & kept).sum())
        blocks = [
            to_block(read[plan.name].values[kept], plan)
            for plan in study.plans
            if plan.used and plan.name in study.columns
        ]
        y = _response(read[study.target.name].values[kept], study.target)
        return Prepared(np.column_stack(blocks), y, profile, kept)


def _response(values: NDArray[Any], target: Target) -> NDArray[Any]:
    if target.type == "number":
        return np.asarray(values, dtype=np.float64)
    return np.array(target.classes)[np.nan_to_num(np.maximum(values, 0)).astype(int)]
