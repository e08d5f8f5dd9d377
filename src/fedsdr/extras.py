"""The package's extras: what each brings, and what to say where it is missing."""

from importlib.util import find_spec

from fedsdr.exceptions import InputError

_SECURE = ("cryptography", "msgpack", "pydantic")
_ARROW = ("pyarrow",)

#: Modules that must be there for each extra of ``pyproject.toml``.
EXTRAS: dict[str, tuple[str, ...]] = {
    "arrow": _ARROW,
    "secure": _SECURE,
    "federation": (*_SECURE, *_ARROW, "nvflare", "psutil"),
    "dask": ("dask", "distributed"),
    "evidence": (*_SECURE, "rocrate"),
    "excel": ("openpyxl",),
    "plots": ("matplotlib",),
    "privacy": ("dp_accounting",),
    # Matplotlib belongs to it as well, but experiments run without pictures.
    "reproduction": (*_SECURE, *_ARROW),
    "sql": (*_ARROW, "adbc_driver_postgresql"),
}


def require(extra: str, purpose: str) -> None:
    """Refuse what cannot be done without an extra.

    Nothing is imported, so asking costs next to nothing.

    Parameters
    ----------
    extra : str
        Name of the extra, a key of `EXTRAS`.
    purpose : str
        What needs it, as the subject of a sentence: "reading Parquet files".

    Raises
    ------
    InputError
        With the command that installs the extra, where one of its modules is missing.
    """
    if not has(extra):
        raise InputError(
            f"{purpose} needs the extra '{extra}': pip install 'fedsdr[{extra}]'"
        )


def has(extra: str) -> bool:
    """Tell whether an extra is installed.

    Parameters
    ----------
    extra : str
        Name of the extra, a key of `EXTRAS`.

    Returns
    -------
    bool
        Whether all of its modules are there.
    """
    return all(map(_is_installed, EXTRAS[extra]))


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        # Somebody forbids its import.
        return False
