"""From a site's source to rows of the study."""

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa

from fedsdr.data.files import read_frame
from fedsdr.protocols import SiteRows
from fedsdr.study.files import CheckError
from fedsdr.study.preprocessing import Prepared, Preprocessor, join_batches
from fedsdr.study.site_file import SiteFile
from fedsdr.study.study_file import StudyFile


class Source(Protocol):
    """Where rows come from."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of all columns."""

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Read some columns from the first row on.

        Parameters
        ----------
        columns : sequence of str
            Names.

        Yields
        ------
        RecordBatch
            Of these columns, in this order.
        """


class _FileSource:
    """A CSV or Parquet file, read at once."""

    def __init__(self, path: Path) -> None:
        self._frame = read_frame(path)

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(map(str, self._frame.columns))

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        yield pa.RecordBatch.from_pandas(
            self._frame[list(columns)], preserve_index=False
        )


def open_data(site: SiteFile) -> Source:
    """Open a site's data.

    Parameters
    ----------
    site : SiteFile
        Says where they are.

    Returns
    -------
    Source
        A `CheckError` if there is no such thing.
    """
    path = site.data.get("path")
    if site.data.get("kind") not in ("csv", "parquet") or not isinstance(path, str):
        raise CheckError(f"site '{site.name}'", ["data: needs kind and path"])
    return _FileSource(site.at(path))


def prepare_rows(site: SiteFile, study: StudyFile) -> Prepared:
    """Read and prepare all rows of a site.

    Parameters
    ----------
    site : SiteFile
        Says where the rows are.
    study : StudyFile
        Says what they have to be.

    Returns
    -------
    Prepared
        With problems counted, and not raised.
    """
    where = f"data of site '{site.name}'"
    preprocessor = Preprocessor(study, site.columns)
    source = open_data(site)
    _check_columns(where, source.columns, preprocessor.sources)
    batches = source.batches(list(dict.fromkeys(preprocessor.sources.values())))
    prepared = [preprocessor.prepare(batch) for batch in batches]
    if not prepared:
        raise CheckError(where, ["there are no rows"])
    return join_batches(prepared)


def read_rows(
    site: SiteFile, study: StudyFile, generator: np.random.Generator
) -> SiteRows:
    """Read a site's rows, as the study wants them.

    Parameters
    ----------
    site : SiteFile
        Says where the rows are.
    study : StudyFile
        Says what they have to be.
    generator : numpy.random.Generator
        Draws folds.

    Returns
    -------
    SiteRows
        A `CheckError` names columns and counts of all that does not fit.
    """
    prepared = prepare_rows(site, study)
    prepared.profile.check(f"data of site '{site.name}'")
    return SiteRows(prepared.X, prepared.y, generator, site.name, study.features)


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
