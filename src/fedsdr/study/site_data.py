"""From a site's source to rows of the study, batch by batch."""

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedsdr.arrays import Matrix
from fedsdr.data import Source, open_source
from fedsdr.exceptions import InputError
from fedsdr.rows import MemoryRows, Rows, StreamedRows
from fedsdr.rows.streamed_rows import batch_rows
from fedsdr.study.checked_files import CheckError
from fedsdr.study.preprocessing import Prepared, Preprocessor, Profile
from fedsdr.study.site_file import SiteFile
from fedsdr.study.study_file import StudyFile

MEBIBYTE = 2**20


class SiteData:
    """The rows of a site, as its study wants them.

    Parameters
    ----------
    site : SiteFile
        Says where the rows are.
    study : StudyFile
        Says what they have to be.
    """

    def __init__(self, site: SiteFile, study: StudyFile) -> None:
        self._where = f"data of site '{site.name}'"
        self._site = site
        self._study = study
        self._preprocessor = Preprocessor(study, site.columns)
        try:
            self._source: Source = open_source(site.data, folder=site.folder)
        except InputError as error:
            raise CheckError(str(site.file), [f"data: {error}"]) from error
        _check_columns(self._where, self._source.columns, self._preprocessor.sources)

    def profile(self) -> Profile:
        """Go through all rows and count what is in them.

        Returns
        -------
        Profile
            With problems counted, and not raised.
        """
        names = [*self._study.columns, self._study.target.name]
        profile = Profile.of(names)
        for prepared in self._prepared():
            profile.add(prepared.profile)
        return profile

    def rows(self, generator: np.random.Generator) -> Rows:
        """Open the rows for the sums of a study.

        Parameters
        ----------
        generator : numpy.random.Generator
            Draws folds.

        Returns
        -------
        Rows
            In memory where they fit into what the site's file allows, otherwise read
            anew for every sum. A `CheckError` names columns and counts of all that
            does not fit the study.
        """
        profile = self.profile()
        profile.check(self._where)
        name, features = self._site.name, self._study.features
        memory = self._site.memory * MEBIBYTE
        if 8 * profile.n_kept * len(features) > memory:
            return StreamedRows(self.read, generator, name, features, memory)
        batches = list(self.read())
        X = np.concatenate([X for X, _ in batches])
        y = np.concatenate([y for _, y in batches])
        return MemoryRows(X, y, generator, name, features)

    def read(self) -> Iterator[tuple[Matrix, NDArray[Any]]]:
        """Read all rows from the first on.

        Yields
        ------
        X : ndarray of shape (n_batch, n_features)
            Numbers and indicators; NaN where a mean is to be filled in.
        y : ndarray of shape (n_batch,)
            Responses.
        """
        for prepared in self._prepared():
            if prepared.profile.n_kept:
                # They fitted when they were first looked at; they may have changed.
                prepared.profile.check(self._where)
                yield prepared.X, prepared.y

    def _prepared(self) -> Iterator[Prepared]:
        names = list(dict.fromkeys(self._preprocessor.sources.values()))
        width = max(len(names), len(self._study.features))
        size = batch_rows(width, self._site.memory * MEBIBYTE)
        for batch in self._source.batches(names, size):
            yield self._preprocessor.prepare(batch)


def _check_columns(where: str, known: Sequence[str], wanted: dict[str, str]) -> None:
    problems = []
    for name, source in wanted.items():
        if list(known).count(source) == 1:
            continue
        if source in known:
            problems.append(f"two columns are called '{source}': rename one of them")
            continue
        lower = {one.lower(): one for one in known if one}
        close = get_close_matches(source.lower(), lower, n=1)
        hint = f"if it is '{lower[close[0]]}'" if close else "if it has another name"
        problems.append(
            f"column '{source}' is not there; {hint}, say so under [columns] in the "
            f'site\'s file: {name} = "..."'
        )
    if problems:
        raise CheckError(where, problems)
