"""Prepare new rows as those of a fit were prepared."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from fedsdr.arrays import Mask
from fedsdr.data.names import enumerate_names, require_column
from fedsdr.exceptions import InputError
from fedsdr.preparation.column_plan import GAPS
from fedsdr.preparation.prepared_table import prepare_table
from fedsdr.preparation.schema_file import TableSchema
from fedsdr.result import Result


@dataclass(frozen=True, slots=True, eq=False)
class NewRows:
    """Rows that a result can be applied to.

    Parameters
    ----------
    X : DataFrame of shape (n_kept, n_selected)
        The selected variables, prepared.
    kept : ndarray of bool, shape (n_read,)
        Rows that are not left out.
    """

    X: pd.DataFrame
    kept: Mask


def schema_of(result: Result) -> TableSchema | None:
    """Read what a fit took the columns of its files for.

    Parameters
    ----------
    result : Result
        Result of a fit.

    Returns
    -------
    TableSchema or None
        None if the fit was of a matrix of numbers.
    """
    problem = "the preparation of columns in the result is damaged"
    try:
        table = result.settings.get("preparation")
        if table is None:
            table = _agreed_table(result.settings.get("preprocessing"))
        if table is None:
            return None
        if not isinstance(table, dict):
            raise InputError("fit again")
        return TableSchema.from_table(table)
    except InputError as error:
        raise InputError(f"{problem}: {error}") from None
    except (TypeError, AttributeError, KeyError, ValueError):
        raise InputError(f"{problem}: fit again") from None


def _agreed_table(agreed: Any) -> dict[str, Any] | None:
    """Write what a study agreed on about its columns as a schema file has it."""
    columns = agreed.get("columns") if isinstance(agreed, dict) else None
    if not isinstance(columns, dict):
        return None
    found = {}
    for name, keys in columns.items():
        own = dict(keys)
        if own.get("missing") not in GAPS:
            # Which rows a site has left out is no matter of new rows.
            own["missing"] = "mean"
        if own.get("range") is not None:
            own["range"] = [float(end) for end in own["range"]]
        if "recode" in own:
            own["recode"] = dict(own["recode"])
        found[name] = {key: one for key, one in own.items() if one is not None}
    return {"missing": "refuse", "columns": found}


def prepare_new_rows(result: Result, frame: pd.DataFrame) -> NewRows:
    """Make the selected variables of the columns of new rows.

    Parameters
    ----------
    result : Result
        Result of a fit, which knows how columns were prepared.
    frame : DataFrame
        Columns as they were read, found by their names; others are not used.

    Returns
    -------
    NewRows
        Prepared rows. Gaps are filled with the values that filled those of the fit; an
        `InputError` names columns that are missing or cannot be used.
    """
    schema, names = schema_of(result), list(map(str, frame.columns))
    if schema is None:
        for name in result.selected:
            require_column(name, "variable", names)
        kept = np.ones(len(frame), dtype=bool)
        return NewRows(frame[list(result.selected)], kept)
    wanted = set(result.selected)
    used = [plan for plan in schema.columns if plan.used and wanted & {*plan.features}]
    made = {feature for plan in used for feature in plan.features}
    if not wanted <= made:
        raise InputError(
            f"the result does not say how {enumerate_names(sorted(wanted - made))} is "
            "made: fit again"
        )
    read = {name for plan in used for name in plan.reads}
    # Expressions read columns without their missing codes, recoded and converted.
    beside = [plan for plan in schema.columns if plan.name in read and plan not in used]
    prepared = prepare_table(frame, [*used, *beside], schema.missing)
    X = prepared.X[list(result.selected)]
    return NewRows(_filled(X, result), prepared.kept)


def _filled(X: pd.DataFrame, result: Result) -> pd.DataFrame:
    agreed = result.settings.get("preprocessing", {})
    means = result.settings.get("filled_with", agreed.get("filled_with", {}))
    gaps = {name: int(count) for name, count in X.isna().sum().items() if count}
    known = means if isinstance(means, dict) else {}
    unknown = [
        f"{name} ({count})"
        for name, count in gaps.items()
        if not isinstance(known.get(name), int | float)
    ]
    if unknown:
        raise InputError(
            f"missing values in {enumerate_names(unknown)}, of which the rows of the "
            "fit had none: fill them in, or leave these rows out"
        )
    return X.fillna({name: known[name] for name in gaps}) if gaps else X
