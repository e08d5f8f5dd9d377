"""Rows in the order of a key, whatever order a file or database has them in."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pandas as pd

from fedsdr.data.names import enumerate_names
from fedsdr.data.source import BATCH_ROWS, Source, check_unique, join_frames, rebatch
from fedsdr.exceptions import InputError


@dataclass(frozen=True, slots=True, eq=False)
class KeyedSource:
    """A source whose rows are identified by a key, and come in its order.

    Parameters
    ----------
    source : Source
        Where the rows are, in any order.
    key : tuple of str
        Columns that together have another value in every row.
    memory : int
        Bytes that rows may take in memory. Larger data must come in the order of the
        key, which is checked.

    Notes
    -----
    Databases give rows in the order that suits them, which an unrelated update may
    change. Sums differ then in their last digits, folds have other rows, and the ledger
    takes the rows for changed ones. With a key, none of this depends on the order.
    """

    source: Source
    key: tuple[str, ...]
    memory: int

    def __post_init__(self) -> None:
        absent = [name for name in self.key if name not in self.source.columns]
        if absent or not self.key:
            known = enumerate_names(name for name in self.source.columns if name)
            raise InputError(
                f"key: the data have no column {enumerate_names(absent)}; they have "
                f"{known}"
            )
        check_unique(self.source.columns, self.key)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of all columns, as they are."""
        return self.source.columns

    @property
    def n_rows(self) -> int | None:
        """Number of rows, None where all of them would have to be read."""
        return self.source.n_rows

    def batches(
        self, columns: Sequence[str], size: int = BATCH_ROWS
    ) -> Iterator[pd.DataFrame]:
        """Read some of the columns, see `Source`.

        Parameters
        ----------
        columns : sequence of str
            Names, each once.
        size : int, default=65536
            Rows in a batch.

        Yields
        ------
        DataFrame
            These columns, in the order of the key. An `InputError` if the key has gaps
            or identifies two rows, or if rows that do not fit into memory come in
            another order.
        """
        wanted = list(columns)
        names = [*wanted, *(name for name in self.key if name not in wanted)]
        most = self.memory // (8 * len(names))
        held: list[pd.DataFrame] = []
        n_held = 0
        for batch in self.source.batches(names, size):
            self._check_gaps(batch)
            held.append(batch)
            n_held += len(batch)
            if n_held > most:
                break
        else:
            if held:
                yield from rebatch([self._sort(join_frames(held))[wanted]], size)
            return
        del held
        yield from (batch[wanted] for batch in self._in_order(names, size))

    def _in_order(self, names: list[str], size: int) -> Iterator[pd.DataFrame]:
        """Read rows that are too many to be sorted, and check their order."""
        last: pd.DataFrame | None = None
        for batch in self.source.batches(names, size):
            self._check_gaps(batch)
            seam = batch if last is None else join_frames([last, batch])
            if not self._sort(seam)[list(self.key)].equals(seam[list(self.key)]):
                raise InputError(
                    "rows do not come in the order of the key, and are too many to be "
                    "sorted in memory: sort the file, write ORDER BY into the query "
                    '(for text in PostgreSQL with COLLATE "C"), or raise memory in the '
                    "site file"
                )
            last = batch.iloc[-1:]
            yield batch

    def _sort(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Sort rows, and check that the key identifies them."""
        by = pd.DataFrame({name: _comparable(frame[name]) for name in self.key})
        try:
            order = by.sort_values(list(self.key), kind="stable").index
        except TypeError:
            raise InputError(
                f"key: {enumerate_names(self.key)} has values that cannot be compared: "
                "use numbers or text"
            ) from None
        twice = int(by.duplicated().sum())
        if twice:
            raise InputError(
                f"key: {twice} row(s) have the same {enumerate_names(self.key)} as "
                "another one: leave out rows that came twice, or name more columns, "
                'such as key = ["patient", "visit"]'
            )
        return frame.loc[order].reset_index(drop=True)

    def _check_gaps(self, batch: pd.DataFrame) -> None:
        gaps = int(batch[list(self.key)].isna().any(axis=1).sum())
        if gaps:
            raise InputError(
                f"key: {enumerate_names(self.key)} is missing in {gaps} row(s) or "
                "more: a key identifies every row"
            )


def _comparable(column: pd.Series) -> pd.Series:
    """Compare categories as text, since files list them in orders of their own."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return column.astype(str)
    return column
