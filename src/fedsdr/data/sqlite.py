"""SQLite databases as a source.

Read with Python's own driver. SQLite lets every entry of a column have a type of its
own; drivers that take the type from the first rows fail at the first row that differs.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from fedsdr.data.databases import quote_name, select
from fedsdr.data.names import enumerate_names
from fedsdr.data.source import BATCH_ROWS, check_request
from fedsdr.exceptions import InputError

# Of the aggregate query that looks at types: SQLite allows 2000 columns in a result.
COLUMNS_A_QUERY = 500


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
    _types: dict[str, pa.DataType] = field(default_factory=dict, init=False)

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
    ) -> Iterator[pa.RecordBatch]:
        """Read some of the columns, see `Source`.

        Parameters
        ----------
        columns : sequence of str
            Names, each once.
        size : int, default=65536
            Rows in a batch.

        Yields
        ------
        RecordBatch
            Numbers as float64, anything else as text.
        """
        check_request(self.columns, columns, size)
        with self._connect() as connection:
            # One transaction, so that types and rows are of the same moment.
            connection.execute("BEGIN")
            schema = pa.schema(self._learn_types(connection, columns))
            cursor = connection.execute(select(self.query, columns))
            while rows := cursor.fetchmany(size):
                yield pa.RecordBatch.from_arrays(
                    [
                        _as_array(values, kind)
                        for values, kind in zip(
                            zip(*rows, strict=True), schema.types, strict=True
                        )
                    ],
                    schema=schema,
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

    def _learn_types(
        self, connection: sqlite3.Connection, columns: Sequence[str]
    ) -> list[tuple[str, pa.DataType]]:
        """Ask the database which columns are numbers, in every one of their entries."""
        types: dict[str, pa.DataType] = {}
        blobs: list[str] = []
        for start in range(0, len(columns), COLUMNS_A_QUERY):
            names = columns[start : start + COLUMNS_A_QUERY]
            sums = ", ".join(
                f"total(typeof({quoted}) = 'text'), total(typeof({quoted}) = 'blob')"
                for quoted in map(quote_name, names)
            )
            query = f"SELECT {sums} FROM (\n{self.query}\n) AS site_rows"
            counts = connection.execute(query).fetchone()
            for place, name in enumerate(names):
                texts, raw = counts[2 * place : 2 * place + 2]
                types[name] = pa.string() if texts else pa.float64()
                blobs += [name] if raw else []
        if blobs:
            raise InputError(
                f"neither numbers nor text: {enumerate_names(blobs)}. Leave them out"
            )
        for name in columns:
            if self._types.setdefault(name, types[name]) != types[name]:
                raise InputError(
                    f"the database was changed while it was read: '{name}' has become "
                    "another type"
                )
        return list(types.items())


def _as_array(values: tuple[object, ...], kind: pa.DataType) -> pa.Array:
    if kind == pa.string():
        texts = [None if value is None else str(value) for value in values]
        return pa.array(texts, kind)
    numbers = [None if value is None else float(value) for value in values]  # type: ignore[arg-type]
    return pa.array(numbers, kind)


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
