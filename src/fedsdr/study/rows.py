"""From a site's source to rows of the study."""

from collections.abc import Sequence
from difflib import get_close_matches

import numpy as np

from fedsdr.data import open_source
from fedsdr.exceptions import InputError
from fedsdr.protocols import SiteRows
from fedsdr.study.files import CheckError
from fedsdr.study.preprocessing import Prepared, Preprocessor, join_batches
from fedsdr.study.site_file import SiteFile
from fedsdr.study.study_file import StudyFile


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
    try:
        source = open_source(site.data, folder=site.folder)
    except InputError as error:
        raise CheckError(str(site.file), [f"data: {error}"]) from error
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
