"""Schema files: how files are written and what columns are taken for, in TOML."""

import json
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from fedsdr.data.text_format import USUAL, TextFormat
from fedsdr.exceptions import InputError
from fedsdr.preparation.column_plan import GAPS, ColumnPlan
from fedsdr.spoken import as_toml_key, as_toml_text

_KEYS = ("missing", "site_column", "file", "target", "columns")


@dataclass(frozen=True, slots=True)
class TableSchema:
    """What is made of a table.

    Parameters
    ----------
    columns : tuple of ColumnPlan
        Plans of the covariates, and of columns that only expressions read.
    target : ColumnPlan or None, default=None
        Plan of the response.
    missing : {"mean", "drop", "refuse"}, default="mean"
        What is done about missing values in columns without a rule of their own.
    site_column : str or None, default=None
        Column that names the site of each row.
    form : TextFormat, default=TextFormat()
        How a text file is written.
    """

    columns: tuple[ColumnPlan, ...]
    target: ColumnPlan | None = None
    missing: str = "mean"
    site_column: str | None = None
    form: TextFormat = USUAL

    def table(self) -> dict[str, Any]:
        """Return the content of a schema file.

        Returns
        -------
        dict
            Plain values that JSON and TOML can hold.
        """
        found: dict[str, Any] = {"missing": self.missing}
        if self.site_column is not None:
            found["site_column"] = self.site_column
        found["file"] = self.form.table()
        if self.target is not None:
            found["target"] = {"name": self.target.name, **self.target.table()}
        found["columns"] = {plan.name: plan.table() for plan in self.columns}
        return found

    @classmethod
    def from_table(cls, table: dict[str, Any]) -> Self:
        """Read the content of a schema file.

        Parameters
        ----------
        table : dict
            Content; keys of study files that say nothing about columns are refused.

        Returns
        -------
        TableSchema
            An `InputError` names a wrong key.
        """
        strange = [key for key in table if key not in _KEYS]
        if strange:
            raise InputError(f"'{strange[0]}' is no key of a schema: use {_KEYS}")
        if table.get("missing", "mean") not in GAPS:
            raise InputError(f"missing must be one of {', '.join(GAPS)}")
        for key in ("file", "target", "columns"):
            if not isinstance(table.get(key, {}), dict):
                raise InputError(f"[{key}] must be a table")
        target = dict(table.get("target", {}))
        name = target.pop("name", None)
        if target and not isinstance(name, str):
            raise InputError("[target] needs a name")
        columns = table.get("columns", {})
        for column, keys in columns.items():
            if not isinstance(keys, dict):
                raise InputError(f"column '{column}' must be a table with a type")
        return cls(
            tuple(ColumnPlan.from_table(one, keys) for one, keys in columns.items()),
            ColumnPlan.from_table(name, target) if isinstance(name, str) else None,
            table.get("missing", "mean"),
            table.get("site_column"),
            TextFormat.from_table(table.get("file", {})),
        )


def read_schema(path: str | Path) -> TableSchema:
    """Read a schema file.

    Parameters
    ----------
    path : str or Path
        TOML file, as ``fedsdr schema`` writes it.

    Returns
    -------
    TableSchema
        Checked content. An `InputError` names file and key.
    """
    try:
        table = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        return TableSchema.from_table(table)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text: save it as UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path} is not valid TOML: {error}") from None
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def write_schema(
    schema: TableSchema, reasons: dict[str, str], origin: Sequence[str]
) -> str:
    """Write a schema as a file that people can edit.

    Parameters
    ----------
    schema : TableSchema
        Schema.
    reasons : dict of str to str
        Why each column was taken for what it is, as a comment.
    origin : sequence of str
        Files that it was made from.

    Returns
    -------
    str
        TOML.
    """
    files = " ".join(Path(one).name for one in origin)
    lines = [
        f"# What `fedsdr schema` took the columns of {files} for. Edit it, and use it:",
        "#     fedsdr fit FILE --schema THIS_FILE",
        "# [columns] and [target] have the keys of a study file.",
        "",
        f'missing = "{schema.missing}"  # or "drop" these rows, or "refuse"',
    ]
    if schema.site_column is not None:
        lines.append(f"site_column = {as_toml(schema.site_column)}")
    lines += ["", "[file]"]
    lines += [f"{key} = {as_toml(one)}" for key, one in schema.form.table().items()]
    if schema.target is not None:
        table = {"name": schema.target.name, **schema.target.table()}
        lines += ["", "[target]"]
        lines += [f"{key} = {as_toml(one)}" for key, one in table.items()]
    lines += ["", "[columns]"]
    for plan in schema.columns:
        reason = reasons.get(plan.name)
        note = f"  # {' '.join(reason.split())}" if reason else ""
        lines.append(f"{as_toml(plan.name)} = {as_toml(plan.table())}{note}")
    return "\n".join(lines) + "\n"


def as_toml(value: Any) -> str:
    """Write a value in TOML, tables inline.

    Parameters
    ----------
    value : object
        Text, number, truth value, list or table.

    Returns
    -------
    str
        In one line.
    """
    if isinstance(value, dict):
        inner = ", ".join(f"{as_toml_key(k)} = {as_toml(v)}" for k, v in value.items())
        return f"{{ {inner} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(as_toml, value))}]"
    if isinstance(value, float):
        return repr(value)
    return as_toml_text(value) if isinstance(value, str) else json.dumps(value)
