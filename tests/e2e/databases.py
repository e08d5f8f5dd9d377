"""A consortium whose sites keep their rows in different places."""

import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import pandas as pd
import pyarrow as pa
import pytest
from tests.postgres import Server, running_server
from tests.study.consortia import Files

PASSWORD = "FEDSDR_TEST_PASSWORD"


@dataclass
class Sources:
    """Where the rows are, and why one place may be missing."""

    files: Files
    plain: dict[str, Path]
    kinds: dict[str, str]
    missing: str = ""


@contextmanager
def sources_of_all_kinds(files: Files) -> Iterator[Sources]:
    """Give the sites a Parquet file, PostgreSQL, a CSV file and SQLite."""
    kinds = {"east": "parquet", "south": "csv", "north": "parquet", "west": "parquet"}
    plain = {}
    for name in kinds:
        # Parquet keeps all digits of a number.
        (files.root / name / "plain").mkdir()
        rows = _rows(files, name)
        rows.to_parquet(files.root / name / "plain" / "rows.parquet", index=False)
        files.write_site(name, data={"kind": "parquet", "path": "plain/rows.parquet"})
        plain[name] = files.site_file(name).with_name("plain.toml")
        plain[name].write_text(files.site_file(name).read_text())
        for path in (files.root / name).glob("rows.*"):
            path.unlink()
    for name in ("east", "south"):
        files.write_rows(name, kinds[name])
    found = Sources(files, plain, kinds)
    _into_sqlite(found, "west")
    with ExitStack() as stack:
        try:
            server = stack.enter_context(running_server())
        except pytest.skip.Exception as skip:
            found.missing = str(skip.msg)
        else:
            patch = stack.enter_context(pytest.MonkeyPatch.context())
            patch.setenv(PASSWORD, server.password)
            _into_postgresql(found, "north", server)
        yield found


def _rows(files: Files, name: str) -> pd.DataFrame:
    return files.rows[files.rows["site"] == name].drop(columns="site")


def _into_sqlite(sources: Sources, name: str) -> None:
    path = sources.files.root / name / "clinic.db"
    with closing(sqlite3.connect(path)) as connection:
        _rows(sources.files, name).to_sql("patients", connection, index=False)
    table = {"kind": "sql", "url": f"sqlite:///{path}", "table": "patients"}
    sources.files.write_site(name, data=table)
    sources.kinds[name] = "sqlite"


def _into_postgresql(sources: Sources, name: str, server: Server) -> None:
    import adbc_driver_postgresql.dbapi as adbc

    secret = quote(server.password, safe="")
    url = server.url().replace("@", f":{secret}@")
    rows = pa.Table.from_pandas(_rows(sources.files, name), preserve_index=False)
    with adbc.connect(url) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("patients", rows, mode="create")
        connection.commit()
    table = {"kind": "sql", "url": server.url(), "table": "patients"}
    sources.files.write_site(name, data={**table, "password_env": PASSWORD})
    sources.kinds[name] = "postgresql"
