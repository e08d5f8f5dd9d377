"""The published heart-disease files, in the places where four hospitals keep them.

This is set-up, not work of a steward: hospitals have their rows before any study.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import pandas as pd
import pyarrow as pa
import pytest
from tests.e2e.databases import PASSWORD
from tests.postgres import Server, running_server
from tests.study.consortia import toml

from fedsdr.datasets.heart import COLUMNS, HOSPITALS

NAMES = (*COLUMNS, "num")

#: The sites, with names that people use, and the published file of each.
FILES = dict(
    zip(("Cleveland", "Budapest", "Zürich", "V.A. Long Beach"), HOSPITALS, strict=True)
)

#: Column that identifies a patient in a database, which keeps no order.
KEY = "patient"


@dataclass
class HospitalRows:
    """For each hospital the lines that its steward writes into ``site.toml``."""

    lines: dict[str, str] = field(default_factory=dict)
    without: str = ""

    def say(self, name: str, key: str = "", **data: object) -> None:
        """Note where the rows of a hospital are."""
        table = "".join(f"{word} = {toml(value)}\n" for word, value in data.items())
        self.lines[name] = f'key = "{key}"\n' * bool(key) + f"\n[data]\n{table}"


@contextmanager
def rows_of_hospitals(root: Path) -> Iterator[HospitalRows]:
    """Put the four files into PostgreSQL, Parquet, SQLite and CSV."""
    found = HospitalRows()
    folder = Path(os.environ["FEDSDR_DATA"]) / "heart_disease"
    published = {
        site: folder / f"processed.{name}.data" for site, name in FILES.items()
    }
    cleveland, hungarian, switzerland, va = FILES

    # Numbers only: what was not measured has the code -9, as in the full data base.
    rows = pd.read_csv(published[hungarian], names=NAMES, na_values="?").fillna(-9)
    rows.to_parquet(root / hungarian / "rows.parquet", index=False)
    found.say(hungarian, kind="parquet", path="rows.parquet")

    # SQLite keeps a question mark in a column of numbers.
    _into_sqlite(published[switzerland], root / switzerland / "clinic.db")
    found.say(switzerland, KEY, kind="sql", url="sqlite:///clinic.db", table="patients")

    (root / va / "rows.csv").write_bytes(published[va].read_bytes())
    found.say(va, kind="csv", path="rows.csv", names=list(NAMES))

    with ExitStack() as stack:
        try:
            server = stack.enter_context(running_server())
        except pytest.skip.Exception as skip:
            found.without = str(skip.msg)
            _into_sqlite(published[cleveland], root / cleveland / "clinic.db")
            place = {"url": "sqlite:///clinic.db", "table": "patients"}
        else:
            patch = stack.enter_context(pytest.MonkeyPatch.context())
            patch.setenv(PASSWORD, server.password)
            _into_postgresql(published[cleveland], server)
            place = {"url": server.url(), "table": "patients", "password_env": PASSWORD}
        found.say(cleveland, KEY, kind="sql", **place)
        yield found


def _into_sqlite(file: Path, target: Path) -> None:
    columns = ", ".join(f"{name} NUMERIC" for name in NAMES)
    places = ", ".join("?" for _ in NAMES)
    rows = [line.split(",") for line in file.read_text().splitlines() if line]
    with closing(sqlite3.connect(target)) as connection:
        connection.execute(
            f"CREATE TABLE patients ({KEY} INTEGER PRIMARY KEY, {columns})"
        )
        connection.executemany(
            f"INSERT INTO patients ({', '.join(NAMES)}) VALUES ({places})", rows
        )
        connection.commit()


def _into_postgresql(file: Path, server: Server) -> None:
    import adbc_driver_postgresql.dbapi as adbc

    rows = pd.read_csv(file, names=NAMES, na_values="?")
    rows.insert(0, KEY, range(len(rows)))
    table = pa.Table.from_pandas(rows, preserve_index=False)
    url = server.url().replace("@", f":{quote(server.password, safe='')}@")
    with adbc.connect(url) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("patients", table, mode="create")
        connection.commit()
