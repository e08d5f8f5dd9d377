"""Rows from a real PostgreSQL server."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tests.postgres import Server, running_server

from fedsdr.data import open_source, read_rows
from fedsdr.data.keyed_source import KeyedSource
from fedsdr.exceptions import InputError

adbc = pytest.importorskip("adbc_driver_postgresql.dbapi")


@pytest.fixture(name="server", scope="module")
def postgresql_server() -> Iterator[Server]:
    with running_server() as server:
        yield server


@pytest.fixture(name="site")
def site_table(server, monkeypatch, tmp_path):
    """Return functions that make and read the table of site.toml."""
    monkeypatch.setenv("FEDSDR_TEST_PASSWORD", server.password)

    def site(**changes: str):
        table = {
            "kind": "sql",
            "url": server.url(),
            "password_env": "FEDSDR_TEST_PASSWORD",
            **changes,
        }
        given = {key: value for key, value in table.items() if value}
        return open_source(given, folder=tmp_path)

    return site


def run(server: Server, *statements: str, rows: pa.Table | None = None) -> None:
    url = server.url().replace("@", f":{'pass%20word%40%25%2F%3A'}@")
    with adbc.connect(url) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
        if rows is not None:
            cursor.adbc_ingest("patients", rows, mode="replace")
        connection.commit()


@pytest.fixture(name="frame", scope="module")
def patients(server) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.normal(size=(5000, 3)), columns=["age", "Dose", 'a"b'])
    frame["number"] = np.arange(5000)
    frame["ward"] = np.where(frame["age"] > 0, "nörd", "south")
    run(server, rows=pa.Table.from_pandas(frame, preserve_index=False))
    return frame


@pytest.mark.parametrize("size", [1000, 1777, 65536])
def test_rows_arrive_in_batches_and_in_order(size, frame, site) -> None:
    source = site(table="public.patients")
    assert source.columns == tuple(frame.columns)
    assert source.n_rows is None
    for _ in range(2):
        parts = list(read_rows(source, ['a"b', "Dose"], "age", size))
        assert [len(y) for _, y in parts[:-1]] == [size] * (len(parts) - 1)
        X, y = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        np.testing.assert_array_equal(X, frame[['a"b', "Dose"]])
        np.testing.assert_array_equal(y, frame["age"])
    _, wards = next(read_rows(source, ["age"], "ward", size))
    assert wards.tolist() == frame["ward"][:size].tolist()


def test_a_query_chooses_and_orders(frame, site) -> None:
    query = "SELECT number FROM patients WHERE number < 9 ORDER BY number DESC -- ;"
    source = site(query=query)
    (batch,) = source.batches(["number"])
    assert batch["number"].tolist() == list(range(9))[::-1]


def test_an_unrelated_update_moves_rows_and_a_key_does_not_mind(
    frame, server, site
) -> None:
    """Ledgers took another order of the same rows for other rows."""
    run(
        server,
        "CREATE TABLE moved AS SELECT age, number, ward FROM patients",
        "UPDATE moved SET ward = 'moved' WHERE number % 7 = 0",
    )
    source = site(table="moved")

    def numbers(source) -> list[int]:
        return [n for batch in source.batches(["number"], 700) for n in batch["number"]]

    order = list(range(len(frame)))
    assert numbers(source) != order
    assert sorted(numbers(source)) == order
    assert numbers(KeyedSource(source, ("number",), 2**20)) == order


def test_types_of_the_database(server, site) -> None:
    run(
        server,
        "CREATE TABLE kinds (n numeric(9, 3), s smallint, r real, b boolean, "
        "d date, u uuid, t text, y double precision)",
        "INSERT INTO kinds VALUES (1.125, 2, 0.5, true, '2024-01-01', NULL, 'a', 1), "
        "(NULL, NULL, NULL, NULL, NULL, gen_random_uuid(), 'b', 'NaN')",
    )
    source = site(table="kinds")
    ((X, y),) = read_rows(source, ["n", "s", "r", "b"], "y")
    np.testing.assert_array_equal(X, [[1.125, 2, 0.5, 1], [np.nan] * 4])
    np.testing.assert_array_equal(y, [1, np.nan])
    with pytest.raises(InputError, match=r"not numbers: d, u, t\. Encode"):
        list(read_rows(source, ["n", "d", "u", "t"], "y"))


def test_a_query_in_flight_can_be_left(frame, site) -> None:
    batches = site(table="patients").batches(["age"], 10)
    assert len(next(batches)) == 10
    batches.close()


def test_the_password_may_stand_in_a_file(frame, server, site, tmp_path) -> None:
    secret = tmp_path / "secret"
    secret.write_text(server.password + "\n")
    secret.chmod(0o600)
    source = site(table="patients", password_env="", password_file="secret")
    assert len(source.columns) == 5
    assert server.password not in repr(source)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"table": "nobody"}, "no such table"),
        ({"query": "SELECT colour FROM patients"}, "no such column"),
        ({"query": "SELEC"}, "not SQL"),
        ({"query": "SELECT age, age FROM patients"}, "same name: age"),
        ({"query": "SELECT ward::int AS age FROM patients"}, "cannot be converted"),
        ({"query": "SELECT 1 / (number - 4999) AS age FROM patients"}, "failed"),
        ({"query": "DELETE FROM patients RETURNING age"}, "SQL|read only"),
        ({"table": "patients", "password_env": ""}, "a password is needed"),
        ({"table": "patients", "url": "postgresql://u@127.0.0.1:1/d"}, "listens there"),
        ({"table": "patients", "url": "postgresql://u@no.invalid/d"}, "not known"),
    ],
)
def test_failures_are_explained_without_values(changes, words, frame, site) -> None:
    with pytest.raises(InputError, match=words) as caught:
        list(site(**changes).batches(["age"]))
    error = caught.value
    assert error.__cause__ is None
    assert error.__suppress_context__ or error.__context__ is None
    assert not any(part in str(error) for part in ("nörd", "south", "%"))


def test_a_wrong_password_is_not_shown(server, site, monkeypatch) -> None:
    monkeypatch.setenv("FEDSDR_TEST_PASSWORD", "wrongsecret")
    with pytest.raises(InputError, match="user or the password is wrong") as caught:
        site(table="patients")
    assert "wrongsecret" not in str(caught.value)
    assert f"127.0.0.1:{server.port}/postgres" in str(caught.value)
