"""PostgreSQL as a source: the server sends rows as they are read."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from fedsdr.data.arrow_numbers import to_frame
from fedsdr.data.databases import Address, select
from fedsdr.data.source import BATCH_ROWS, check_request, rebatch
from fedsdr.exceptions import InputError

#: Bytes after which the driver hands rows over.
BATCH_BYTES = 1 << 23

# What a site's steward can do about it, by the class or code of the error. The server's
# own words may quote data or the address, and are not shown.
REASONS = {
    "42P01": "there is no such table: check its name, and its schema",
    "42703": "there is no such column",
    "42702": "a name stands for two columns: rename one of them in the query",
    "42601": "the query is not SQL that PostgreSQL understands",
    "42501": "the user may not read this table: ask for the right to SELECT",
    "25006": "the query would change the database, which is read only here",
    "22": "an entry cannot be converted as the query asks",
}
FAILURES = {
    "password authentication failed": "the user or the password is wrong",
    "no password supplied": "a password is needed: name it by password_env or "
    "password_file",
    "does not exist": "there is no such database or user",
    "refused": "nobody listens there: is the server running?",
    "No such file": "nobody listens there: is the server running?",
    "translate host name": "the host is not known",
    "pg_hba.conf": "the server does not let this user in from here",
    "timeout": "the server does not answer",
    "SSL": "the server and this machine do not agree on encryption",
}


@dataclass(slots=True, eq=False)
class PostgresSource:
    """Rows of a query to a server.

    Parameters
    ----------
    address : Address
        Of the server.
    query : str
        The site's own query.

    Notes
    -----
    Every reading is one read-only transaction and one ``COPY``, which the server sends
    while the rows are used. Rows come in the order of the table unless the query has
    an ``ORDER BY``; the two settings below keep that order the same every time.
    """

    address: Address
    query: str
    columns: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        with self._cursor() as cursor:
            schema = cursor.adbc_execute_schema(self.query)
        self.columns = tuple(schema.names)
        if not self.columns:
            raise InputError("the query gives no rows: it should start with SELECT")

    @property
    def n_rows(self) -> int | None:
        """None: the server would have to run the query."""
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
            With the types of the database; decimals as float64.
        """
        check_request(self.columns, columns, size)
        with self._cursor() as cursor:
            cursor.execute(select(self.query, columns))
            reader = cursor.fetch_record_batch()
            try:
                frames = (to_frame(_plain(batch)) for batch in reader)
                yield from rebatch(frames, size)
            finally:
                reader.close()

    @contextmanager
    def _cursor(self) -> Iterator[Any]:
        from adbc_driver_postgresql import dbapi as driver

        try:
            connection = driver.connect(self.address.complete())
        except driver.Error as error:
            raise InputError(self._explain_failure(str(error))) from None
        try:
            with connection, connection.cursor() as cursor:
                cursor.execute(
                    "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"
                )
                # A large table may otherwise be read from its middle on, or by several
                # workers, and its rows come in another order each time.
                cursor.execute("SET LOCAL synchronize_seqscans = off")
                cursor.execute("SET LOCAL max_parallel_workers_per_gather = 0")
                cursor.adbc_statement.set_options(
                    **{"adbc.postgresql.batch_size_hint_bytes": str(BATCH_BYTES)}
                )
                yield cursor
        except driver.Error as error:
            raise InputError(self._explain(error.sqlstate or "")) from None
        except OSError as error:
            # What goes wrong between two batches arrives as Arrow's error.
            code = "22" if "invalid input syntax" in str(error) else ""
            raise InputError(self._explain(code)) from None

    def _explain(self, code: str) -> str:
        reason = REASONS.get(code, REASONS.get(code[:2]))
        if reason is None:
            reason = f"the query failed{f' with SQLSTATE {code}' if code else ''}"
        return f"the database {self.address.where}: {reason}"

    def _explain_failure(self, message: str) -> str:
        reasons = (reason for words, reason in FAILURES.items() if words in message)
        reason = next(reasons, "it cannot be reached")
        return f"the database {self.address.where}: {reason}"


def _plain(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Turn decimals of any length, which arrive as text, into numbers."""
    arrays = []
    for array in batch.columns:
        if isinstance(array.type, pa.OpaqueType) and array.type.type_name == "numeric":
            arrays.append(pc.cast(array.storage, pa.float64()))
        elif isinstance(array.type, pa.BaseExtensionType):
            arrays.append(array.storage)
        else:
            arrays.append(array)
    return pa.RecordBatch.from_arrays(arrays, names=batch.schema.names)
