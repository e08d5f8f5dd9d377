"""Read the rows of a site batch by batch, in the form that the study declares."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fedsdr.arrays import Matrix
from fedsdr.data import Source, open_source
from fedsdr.data.keyed_source import KeyedSource
from fedsdr.disclosure import ColumnOrigin, Entry
from fedsdr.disclosure.increments import known_lengths
from fedsdr.exceptions import InputError
from fedsdr.rows import MemoryRows, Rows, StreamedRows
from fedsdr.rows.streamed_rows import batch_rows
from fedsdr.study.checked_files import CheckError
from fedsdr.study.level_counts import LevelCounts, count_levels
from fedsdr.study.origin_reader import OriginReader
from fedsdr.study.plain_numbers import plain_reader
from fedsdr.study.preprocessing import ColumnProfile, Prepared, Preprocessor
from fedsdr.study.rare_gaps import leave_rare_gaps
from fedsdr.study.site_file import SiteFile
from fedsdr.study.study_file import StudyFile
from fedsdr.study.value_summary import ValueSummary, summarize_values

MEBIBYTE = 2**20

#: What is said of a file that changes while its rows are checked.
WRITTEN = "the file was written to while it was read: read a copy that nobody writes to"


class SiteData:
    """The rows of a site, in the form that its study declares.

    Parameters
    ----------
    site : SiteFile
        Site file, which names the source of the rows.
    study : StudyFile
        Study file, which declares the columns.
    entries : iterable of Entry, default=()
        The site's ledger: rows of earlier releases are recognised among those of now.
    """

    def __init__(
        self, site: SiteFile, study: StudyFile, entries: Iterable[Entry] = ()
    ) -> None:
        self._where = f"data of site '{site.name}'"
        self._site = site
        self._study = study
        self._preprocessor = Preprocessor(study, site.columns)
        try:
            self._source: Source = open_source(site.data, folder=site.folder)
            if site.key:
                memory = site.memory * MEBIBYTE
                self._source = KeyedSource(self._source, site.key, memory)
        except InputError as error:
            raise CheckError(str(site.file), [f"data: {error}"]) from error
        _check_columns(self._where, self._source.columns, self._preprocessor.sources)
        names = self._preprocessor.sources.values()
        self._lengths = known_lengths(entries, set(names))
        fewest = site.read_policy().min_level_rows
        self._preprocessor = leave_rare_gaps(self._preprocessor, self.batches, fewest)

    def profile(self) -> ColumnProfile:
        """Read all rows and count their values, gaps and problems.

        Returns
        -------
        ColumnProfile
            Counts; problems are counted, not raised.
        """
        return self._scan(0)[0]

    def summaries(self) -> dict[str, ValueSummary]:
        """Summarize values for the site's own steward; see `value_summary`.

        Returns
        -------
        dict of str to ValueSummary
            Columns of numbers, of as many rows as fit into the site's memory.
        """
        most = batch_rows(len(self._study.features), self._site.memory * MEBIBYTE)
        rows = ((prepared.X, prepared.y) for _, prepared in self._prepared())
        return summarize_values(self._study, rows, most)

    def level_counts(self) -> dict[str, LevelCounts]:
        """Count rows by level for the site's own steward; see `level_counts`.

        Returns
        -------
        dict of str to LevelCounts
            Before and after the agreed preparation.
        """
        return count_levels(self._preprocessor, self._prepared())

    def rows(self, generator: np.random.Generator) -> Rows:
        """Open the rows for the sums of a study.

        Parameters
        ----------
        generator : numpy.random.Generator
            Generator that draws the folds.

        Returns
        -------
        Rows
            Rows in memory if they fit into the memory that the site file allows,
            otherwise rows that are read again for every sum. If values do not fit the
            study, or if the file is written to meanwhile, a `CheckError` says so.
        """
        memory = self._site.memory * MEBIBYTE
        version = getattr(self._source, "version", lambda: None)
        before = version()
        profile, origin, batches = self._scan(memory)
        profile.check(self._where)
        name, features = self._site.name, self._study.features
        if batches is None:
            size = batch_rows(len(features), memory)
            plain = plain_reader(self._source, self._preprocessor, profile, size)
            read = self.read if plain is None else plain
            rows = StreamedRows(read, generator, name, features, memory, origin)
            if version() != before:
                raise CheckError(self._where, [WRITTEN])
            return rows
        X = np.concatenate([X for X, _ in batches])
        y = np.concatenate([y for _, y in batches])
        return MemoryRows(X, y, generator, name, features, origin)

    def read(self) -> Iterator[tuple[Matrix, NDArray[Any]]]:
        """Read all rows, starting with the first one.

        Yields
        ------
        X : ndarray of shape (n_batch, n_features)
            Numbers and indicators; NaN where a mean is to be filled in.
        y : ndarray of shape (n_batch,)
            Responses.
        """
        for _, prepared in self._prepared():
            if prepared.profile.n_kept:
                # The source may have changed since the rows were first checked.
                prepared.profile.check(self._where)
                yield prepared.X, prepared.y

    def _scan(
        self, memory: int
    ) -> tuple[ColumnProfile, ColumnOrigin, list[tuple[Matrix, NDArray[Any]]] | None]:
        """Read all rows once: count problems, and recognise columns and rows.

        The rows themselves are returned if they take at most `memory` bytes, so that a
        file is not read twice.
        """
        used = [plan.name for plan in self._study.plans if plan.used]
        profile = ColumnProfile.of(used)
        reader = OriginReader(self._preprocessor, self._lengths)
        batches: list[tuple[Matrix, NDArray[Any]]] = []
        held = 0
        for batch, prepared in self._prepared():
            profile.add(prepared.profile)
            reader.add(batch, prepared.kept)
            held += prepared.X.nbytes
            if held > memory:
                batches.clear()
            elif prepared.profile.n_kept:
                batches.append((prepared.X, prepared.y))
        return profile, reader.origin(), None if held > memory else batches

    def batches(self) -> Iterator[pd.DataFrame]:
        """Read the columns of the study as they are in the source.

        Yields
        ------
        pandas.DataFrame
            Batches, in the order of the rows.
        """
        names = list(dict.fromkeys(self._preprocessor.sources.values()))
        width = max(len(names), len(self._study.features))
        size = batch_rows(width, self._site.memory * MEBIBYTE)
        yield from self._source.batches(names, size)

    def _prepared(self) -> Iterator[tuple[pd.DataFrame, Prepared]]:
        for batch in self.batches():
            yield batch, self._preprocessor.prepare(batch)


def _check_columns(where: str, known: Sequence[str], wanted: dict[str, str]) -> None:
    problems, counts = [], Counter(known)
    for name, source in wanted.items():
        if counts[source] == 1:
            continue
        if source in counts:
            problems.append(f"two columns are called '{source}': rename one of them")
            continue
        # A column that the study reads under its own name is not meant here too.
        free = [one for one in known if one and one not in wanted.values()]
        lower = {one.lower(): one for one in free}
        close = get_close_matches(source.lower(), lower, n=1)
        hint = f"if it is '{lower[close[0]]}'" if close else "if it has another name"
        problems.append(
            f"column '{source}' is not in the data; {hint}, write that name under "
            f'[columns] in the site file: {name} = "..."'
        )
    if problems:
        raise CheckError(where, problems)
