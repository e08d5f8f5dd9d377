"""Recognise columns and rows of a site's data, whatever a study calls them."""

import hashlib
from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from fedsdr.arrays import Mask
from fedsdr.data.columns import kind_of, to_floats
from fedsdr.disclosure import ColumnOrigin
from fedsdr.disclosure.column_origin import EarlierRows
from fedsdr.preparation.levels import level_text
from fedsdr.study.preprocessing import Preprocessor


class OriginReader:
    """Digests the columns of a site's data batch by batch, and which rows are kept.

    Parameters
    ----------
    preprocessor : Preprocessor
        Preparation of the rows, which knows the columns' names in the data.
    lengths : collection of int, default=()
        Numbers of rows of earlier releases: so many first rows are digested by
        themselves as well.

    Notes
    -----
    A column is digested as it is in the data, all rows of it: not as the indicators,
    filled values or remaining rows that a study makes of it. A column of numbers that
    one study takes for a category has one digest in both.
    """

    def __init__(
        self, preprocessor: Preprocessor, lengths: Collection[int] = ()
    ) -> None:
        self._study = preprocessor.study
        self._names = preprocessor.sources
        self._kept = hashlib.sha256()
        self._values = {source: hashlib.sha256() for source in self._names.values()}
        self._lengths = tuple(lengths)
        self._n_rows = self._n_kept = 0
        self._first: dict[int, EarlierRows] = {}

    def add(self, batch: pd.DataFrame, kept: Mask) -> None:
        """Add a batch.

        Parameters
        ----------
        batch : pandas.DataFrame
            Batch as it was read.
        kept : ndarray of bool, shape (n_batch,)
            Rows that the study keeps.
        """
        for length in self._lengths:
            count = length - self._n_rows
            if 0 < count <= len(batch):
                self._first[length] = self._up_to(batch.iloc[:count], kept[:count])
        self._n_rows += len(batch)
        self._n_kept += int(kept.sum())
        self._kept.update(kept.tobytes())
        for source, digest in self._values.items():
            digest.update(_raw(batch[source]))

    def _up_to(self, batch: pd.DataFrame, kept: Mask) -> EarlierRows:
        """Digest all rows before a batch, and those of its beginning."""
        rows, values = self._kept.copy(), {}
        rows.update(kept.tobytes())
        for source, digest in self._values.items():
            own = digest.copy()
            own.update(_raw(batch[source]))
            values[source] = own.digest()
        # The number of rows that follow is known at the end.
        return EarlierRows(values, rows.digest(), -self._n_kept - int(kept.sum()))

    def origin(self) -> ColumnOrigin:
        """Return the origin of all columns, once all batches were added.

        Returns
        -------
        ColumnOrigin
            Names and digests.
        """
        study = self._study
        sources: dict[str, tuple[str, ...]] = {}
        indicators: set[str] = set()
        for plan in study.plans:
            if not plan.used:
                continue
            read = (plan.name,) if plan.expression is None else plan.reads
            names = [plan.name] if plan.name == study.target.name else plan.features
            sources |= dict.fromkeys(names, tuple(self._names[one] for one in read))
            if plan.type == "category" and plan.name != study.target.name:
                indicators |= set(names)
        values = {name: digest.digest() for name, digest in self._values.items()}
        earlier = {
            length: replace(one, n_new=self._n_kept + one.n_new)
            for length, one in self._first.items()
        }
        return ColumnOrigin(
            sources,
            values,
            self._kept.digest(),
            frozenset(indicators),
            self._n_rows,
            earlier,
        )


def _raw(column: pd.Series) -> bytes:
    """Write values so that numbers are the same bytes, also if they are levels."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = pd.Series(np.asarray(column))
    if kind_of(column) in ("number", "truth"):
        return np.ascontiguousarray(to_floats(column), dtype="<f8").tobytes()
    places, found = pd.factorize(column)
    texts: list[Any] = [level_text(one) or "" for one in found.tolist()]
    # A missing entry has the index -1, which is the last element here.
    table = np.array([*(_encode(text) for text in texts), b""], dtype=object)
    return b"".join(table[places])


def _encode(text: str) -> bytes:
    raw = text.encode()
    return len(raw).to_bytes(4, "little") + raw
