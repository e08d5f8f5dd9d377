"""Sheets of Excel workbooks, as plain values."""

import warnings
from datetime import datetime
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import openpyxl
from openpyxl.utils.exceptions import InvalidFileException

from fedsdr.data.names import enumerate_names
from fedsdr.exceptions import InputError


def read_sheet(path: Path, sheet: str | None = None) -> list[list[Any]]:
    """Read the values of one sheet.

    Parameters
    ----------
    path : Path
        Workbook whose name ends in .xlsx or .xlsm.
    sheet : str or None, default=None
        Name of the sheet; may be left out if only one sheet has rows.

    Returns
    -------
    list of list
        Rows without empty ones: numbers, truth values, dates and text, None for empty
        cells. Formulas are read as the values that were stored with them.
    """
    try:
        with warnings.catch_warnings():
            # Styles and validations that the library does not know are of no interest.
            warnings.simplefilter("ignore", UserWarning)
            book = openpyxl.load_workbook(path, read_only=True, data_only=True)
            tables = {one.title: _rows(one) for one in book.worksheets}
            book.close()
    except (InvalidFileException, BadZipFile, KeyError, OSError):
        raise InputError(f"{path} is not an Excel workbook, or is damaged") from None
    filled = [name for name, rows in tables.items() if rows]
    if sheet is not None and sheet not in tables:
        raise InputError(
            f"{path} has no sheet '{sheet}'; it has {enumerate_names(tables)}"
        )
    if sheet is None and len(filled) > 1:
        raise InputError(
            f"{path} has several sheets, {enumerate_names(filled)}: choose one with "
            "--sheet"
        )
    if not filled:
        raise InputError(f"{path} is empty")
    return tables[sheet or filled[0]]


def _rows(sheet: Any) -> list[list[Any]]:
    rows = [[_plain(cell) for cell in row] for row in sheet.iter_rows(values_only=True)]
    return [row for row in rows if any(cell is not None for cell in row)]


def _plain(cell: Any) -> Any:
    if isinstance(cell, str):
        return cell.strip() or None
    # Excel stores a day as a moment of it.
    is_day = isinstance(cell, datetime) and cell.time() == datetime.min.time()
    return cell.date() if is_day else cell
