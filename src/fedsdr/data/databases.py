"""What the databases have in common: addresses, passwords, and queries."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, parse_qs, quote, urlsplit, urlunsplit

from fedsdr.exceptions import InputError

POSTGRESQL = ("postgresql", "postgres")
SCHEMES = ("sqlite", *POSTGRESQL)


@dataclass(frozen=True, slots=True)
class Address:
    """Where a database is. A password is looked up when it is needed, and not kept.

    Parameters
    ----------
    url : SplitResult
        Without a password.
    password_env : str or None, default=None
        Variable of the environment that holds the password.
    password_file : Path or None, default=None
        File that holds it.
    """

    url: SplitResult
    password_env: str | None = None
    password_file: Path | None = None

    @property
    def where(self) -> str:
        """Host, port and database, for messages."""
        host = self.url.hostname or parse_qs(self.url.query).get("host", ["local"])[0]
        port = "" if self.url.port is None else f":{self.url.port}"
        return f"{host}{port}{self.url.path}"

    def complete(self) -> str:
        """Put the password into the address.

        Returns
        -------
        str
            To be handed to the driver, and shown to nobody.
        """
        password = self._password()
        if password is None:
            return urlunsplit(self.url)
        user, _, host = self.url.netloc.rpartition("@")
        # The name of the user is as it was written: it is already quoted.
        netloc = f"{user}:{quote(password, safe='')}@{host}"
        return urlunsplit(self.url._replace(netloc=netloc))

    def _password(self) -> str | None:
        if self.password_env is not None:
            value = os.environ.get(self.password_env)
            if not value:
                raise InputError(
                    f"the environment variable {self.password_env} is not set: it "
                    "should hold the password of the database"
                )
            return value
        return None if self.password_file is None else _read_secret(self.password_file)


def read_address(table: Mapping[str, Any], folder: Path) -> Address:
    """Read where a database is, and refuse a password that stands in the open.

    Parameters
    ----------
    table : mapping of str
        With "url", and possibly "password_env" or "password_file".
    folder : Path
        That relative paths start from.

    Returns
    -------
    Address
        Checked as far as possible without asking the database.
    """
    try:
        url = urlsplit(table["url"])
        secret = url.password is not None or "password" in parse_qs(url.query)
        _ = url.port
    except ValueError:
        raise InputError(
            "the url of the database cannot be read: it should look like "
            "postgresql://user@host:5432/database or sqlite:///rows.db"
        ) from None
    if secret:
        raise InputError(
            "the url of the database has a password in it, which whoever sees the file "
            "would see: take it out, put it into an environment variable or a file of "
            "your own, and name that with password_env or password_file"
        )
    if url.scheme not in SCHEMES:
        raise InputError(
            "the url of the database should start with postgresql:// or sqlite://"
        )
    env, file = table.get("password_env"), table.get("password_file")
    if env is not None and file is not None:
        raise InputError("name the password by password_env or password_file, not both")
    if (env is not None or file is not None) and "@" not in url.netloc:
        raise InputError(
            "a password needs a user: put the name into the url of the database, as in "
            "postgresql://user@host/database"
        )
    return Address(url, env, None if file is None else folder / Path(file).expanduser())


def read_query(table: Mapping[str, Any]) -> str:
    """Read which rows are meant.

    Parameters
    ----------
    table : mapping of str
        With either "query" or "table".

    Returns
    -------
    str
        A query without a semicolon at its end.
    """
    query, name = table.get("query"), table.get("table")
    if (query is None) == (name is None):
        raise InputError("name the rows of the database by either table or query")
    if name is not None:
        parts = ".".join(quote_name(part) for part in name.split("."))
        return f"SELECT * FROM {parts}"
    text = str(query).strip().rstrip(";").strip()
    if not text:
        raise InputError("the query is empty")
    return text


def select(query: str, columns: Sequence[str]) -> str:
    """Write a query for some columns of another one.

    Parameters
    ----------
    query : str
        The site's own.
    columns : sequence of str
        Names that it gives its columns.

    Returns
    -------
    str
        In SQL that all databases understand.
    """
    names = ", ".join(quote_name(name) for name in columns)
    # On lines of its own, since the query may end in a comment.
    return f"SELECT {names} FROM (\n{query}\n) AS site_rows"


def quote_name(name: str) -> str:
    """Quote the name of a column or table.

    Parameters
    ----------
    name : str
        As it is.

    Returns
    -------
    str
        As it is written in SQL.
    """
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def _read_secret(path: Path) -> str:
    try:
        mode = path.stat().st_mode
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise InputError(f"the password file {path} cannot be read: {reason}") from None
    if os.name == "posix" and mode & 0o077:
        raise InputError(
            f"others may read the password file {path}: run 'chmod 600' on it"
        )
    secret = text.strip("\r\n")
    if not secret:
        raise InputError(f"the password file {path} is empty")
    return secret
