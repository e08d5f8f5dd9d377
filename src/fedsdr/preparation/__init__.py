"""From the columns that people have to the numbers that are summed.

One list of plans serves an analyst's file and the sites of a study: what each column is
taken for, which entries mean "missing", what is recoded, converted and derived.
"""

from typing import TYPE_CHECKING

from fedsdr.lazy_names import import_lazily

if TYPE_CHECKING:
    from fedsdr.preparation.column_plan import ColumnPlan
    from fedsdr.preparation.expressions import Expression, parse_expression
    from fedsdr.preparation.schema_file import TableSchema, read_schema
    from fedsdr.preparation.transformer import Preparation

__all__ = [
    "ColumnPlan",
    "Expression",
    "Preparation",
    "TableSchema",
    "parse_expression",
    "read_schema",
]

__getattr__ = import_lazily(
    __name__,
    {
        "ColumnPlan": "fedsdr.preparation.column_plan",
        "Expression": "fedsdr.preparation.expressions",
        "Preparation": "fedsdr.preparation.transformer",
        "TableSchema": "fedsdr.preparation.schema_file",
        "parse_expression": "fedsdr.preparation.expressions",
        "read_schema": "fedsdr.preparation.schema_file",
    },
)
