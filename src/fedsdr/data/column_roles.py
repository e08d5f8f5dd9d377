"""Which columns of a file are covariates, response and sites."""

from collections.abc import Sequence

from fedsdr.data.names import require_column
from fedsdr.data.source import check_unique
from fedsdr.exceptions import InputError


def choose_features(
    names: Sequence[str],
    target: str,
    site_column: str | None,
    columns: Sequence[str] | None,
    drop: Sequence[str],
) -> list[str]:
    """Decide which columns are covariates.

    Parameters
    ----------
    names : sequence of str
        Columns of the file; "" for one without a name.
    target : str
        Column of the response.
    site_column : str or None
        Column of the sites' labels, None when all rows are one site's.
    columns : sequence of str or None
        Covariates asked for, None for every column with a name.
    drop : sequence of str
        Columns to leave out.

    Returns
    -------
    list of str
        The covariates, in the order of `columns`, or else of the file.

    Raises
    ------
    InputError
        When a name is unknown, has two roles or comes twice, or nothing is left.
    """
    roles = {"target": target}
    if site_column is not None:
        roles["site column"] = site_column
    if target == site_column:
        raise InputError(f"'{target}' cannot be both the target and the site column")
    for role, name in roles.items():
        require_column(name, role, names)
        if name in (columns or ()):
            raise InputError(f"'{name}' is the {role} and cannot be a covariate too")
        if name in drop:
            raise InputError(f"'{name}' is the {role} and cannot be left out")
    there = set(names)
    for name in [*(columns or ()), *drop]:
        if not name or name not in there:
            require_column(name, "column", names)
    taken = {"", target, site_column, *drop}
    kept = dict.fromkeys(names if columns is None else columns)
    features = [name for name in kept if name not in taken]
    if not features:
        raise InputError("no covariates are left: every column is taken or left out")
    check_unique(names, [*roles.values(), *features])
    return features
