"""SQLite databases as a source.

Read with Python's own driver. SQLite lets every entry of a column have a type of its
own; drivers that take the type from the first rows fail at the first row that differs.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from fedsdr.data.databases import quote_name, select
from fedsdr.data.names import enumerate_names
from fedsdr.data.source import BATCH_ROWS, check_request
from fedsdr.exceptions import InputError

# Of the aggregate query that looks at types: SQLite allows 2000 columns in a result.
COLUMNS_PER_QUERY = 500


@dataclass(slots=True, eq=False)
class SqliteSource:
    """Rows of a query to a file.

    Parameters
    ----------
    path : Path
        The database. It is opened for reading only.
    query : str
        The site's own query.

    Notes
    -----
    A column is numbers if all of its entries are, and text otherwise.
    """

    path: Path
    query: str
    columns: tuple[str, ...] = field(init=False)
    _kinds: dict[str, str] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        if not self.path.is_file():
            raise InputError(f"{self.path} does not exist")
        with self._connect() as connection:
            # Not in a query of our own: that would rename columns that come twice.
            cursor = connection.execute(f"{self.query}\n")
            self.columns = tuple(entry[0] for entry in cursor.description or ())
        if not self.columns:
            raise InputError("the query gives no rows: it should start with SELECT")

    @property
    def n_rows(self) -> int | None:
        """None: the database would have to run the query."""
        return None

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
            Numbers as float64, anything else as text.
        """
        check_request(self.columns, columns, size)
        with self._connect() as connection:
            # One transaction, so that kinds and rows are of the same moment.
            connection.execute("BEGIN")
            kinds = self._learn_kinds(connection, columns)
            cursor = connection.execute(select(self.query, columns))
            while rows := cursor.fetchmany(size):
                entries = zip(columns, zip(*rows, strict=True), strict=True)
                yield pd.DataFrame(
                    {name: _as_column(values, kinds[name]) for name, values in entries}
                )

    @contextmanager
    def _connect(self) -> Iterator[sqlite3.Connection]:
        try:
            uri = f"{self.path.absolute().as_uri()}?mode=ro"
            with closing(sqlite3.connect(uri, uri=True)) as connection:
                connection.isolation_level = None
                yield connection
        except sqlite3.Error as error:
            raise InputError(_explain(self.path, error)) from None

    def _learn_kinds(
        self, connection: sqlite3.Connection, columns: Sequence[str]
    ) -> dict[str, str]:
        """Ask the database which columns are numbers, in every one of their entries."""
        kinds: dict[str, str] = {}
        blobs: list[str] = []
        for start in range(0, len(columns), COLUMNS_PER_QUERY):
            names = columns[start : start + COLUMNS_PER_QUERY]
            sums = ", ".join(
                f"total(typeof({quoted}) = 'text'), total(typeof({quoted}) = 'blob')"
                for quoted in map(quote_name, names)
            )
            query = f"SELECT {sums} FROM (\n{self.query}\n) AS site_rows"
            counts = connection.execute(query).fetchone()
            for place, name in enumerate(names):
                texts, raw = counts[2 * place : 2 * place + 2]
                kinds[name] = "text" if texts else "number"
                blobs += [name] if raw else []
        if blobs:
            raise InputError(
                f"neither numbers nor text: {enumerate_names(blobs)}. Leave them out"
            )
        for name in columns:
            if self._kinds.setdefault(name, kinds[name]) != kinds[name]:
                raise InputError(
                    f"the database was changed while it was read: '{name}' has become "
                    "another type"
                )
        return kinds


def _as_column(values: tuple[object, ...], kind: str) -> pd.Series:
    if kind == "text":
        texts = [None if value is None else str(value) for value in values]
        return pd.Series(texts, dtype=str)
    return pd.Series(np.array(values, dtype=np.float64))


def _explain(path: Path, error: sqlite3.Error) -> str:
    # Names of tables and columns are in the site's own query; anything else that
    # SQLite says could quote data.
    message = str(error)
    for start in ("no such table", "no such column", "ambiguous column name"):
        if message.startswith(start):
            return f"{path}: {message}"
    if "syntax error" in message or "incomplete input" in message:
        return f"{path}: the query is not SQL that SQLite understands"
    if "not a database" in message:
        return f"{path} is not an SQLite database"
    if "readonly" in message:
        return f"{path}: the query would change the database, which is read only here"
    name = getattr(error, "sqlite_errorname", None) or type(error).__name__
    return f"{path} cannot be read: {name}"
