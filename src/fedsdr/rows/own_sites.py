"""Sites whose rows are all in the memory of one process, and sums over them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedsdr.exceptions import InputError
from fedsdr.rows.memory_rows import MemoryRows
from fedsdr.rows.row_marks import check_labels, number_subjects
from fedsdr.rows.site_rows import Rows
from fedsdr.summaries.dense_blocks import by_columns, by_rows, rows_at
from fedsdr.telling import tell
from fedsdr.terms import Variables


@dataclass(frozen=True, slots=True)
class Communication:
    """Communication between sites that a fit needed, or would need.

    Parameters
    ----------
    rounds : int
        Number of messages that every site had to answer; for ``protocol="sums"`` the
        number of sums that each site would be asked for.
    n_bytes : dict of str to int
        Bytes that each site sent and received; for ``protocol="sums"``, where no
        message is made, eight bytes for each number that a site adds.
    """

    rounds: int
    n_bytes: dict[str, int]


@dataclass(slots=True, eq=False)
class OwnSites:
    """Sums over sites whose rows are in the memory of one process.

    Parameters
    ----------
    rows : mapping of str to Rows
        Rows of each site, by its name.
    variables : Variables
        Names of the columns and type of the response.

    Attributes
    ----------
    n_sums : int
        Number of sums computed.
    n_values : int
        Number of values that each site contributed to them.
    """

    rows: Mapping[str, Rows]
    variables: Variables
    n_sums: int = field(default=0, init=False)
    n_values: int = field(default=0, init=False)

    @property
    def is_wide(self) -> bool:
        """Whether columns must be rescaled before they are squared."""
        return any(rows.measured.is_wide for rows in self.rows.values())

    @property
    def holds_rows(self) -> bool:
        """Whether all rows are in this process."""
        return True

    @property
    def communication(self) -> Communication:
        """Communication that the sums would need, at eight bytes per number."""
        return Communication(self.n_sums, dict.fromkeys(self.rows, 8 * self.n_values))

    def __call__(self, question: Any) -> Any:
        """Add one sum over all sites.

        Parameters
        ----------
        question : Question
            The sum to compute.

        Returns
        -------
        object
            Sum over the sites.
        """
        self.n_sums += 1
        self.n_values += question.n_values
        total = None
        for done, rows in enumerate(self.rows.values()):
            tell(f"adding over the sites: {question.name}", done, len(self.rows))
            value = question.compute(rows)
            total = value if total is None else total + value
        return total


def split_sites(
    X: Any,
    y: NDArray[Any],
    sites: Any,
    generator: np.random.Generator,
    groups: NDArray[Any] | None = None,
) -> dict[str, MemoryRows]:
    """Group rows by site.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_rows, n_features)
        Rows of all sites.
    y : ndarray of shape (n_rows,)
        Responses.
    sites : array-like of shape (n_rows,) or None
        Label of the site of each row; None for one site.
    generator : numpy.random.Generator
        Generator from which every site gets its own generator.
    groups : ndarray of shape (n_rows,), optional
        Subject of each row. A label names another subject at another site.

    Returns
    -------
    dict of str to MemoryRows
        Rows of each site by its name, in the order of the labels.
    """
    found = group_by_site(sites, len(y))
    if len(found) == 1:
        parts = {"only": MemoryRows(by_columns(X), y, generator, found[0][0])}
    else:
        own, ordered = generator.spawn(len(found)), by_rows(X)
        parts = {
            str(label): MemoryRows(
                by_columns(rows_at(ordered, rows)), y[rows], one, label
            )
            for (label, rows), one in zip(found, own, strict=True)
        }
    for part, (_, rows) in zip(parts.values(), found, strict=True):
        part.check_values()
        part.groups = number_subjects(None if groups is None else groups[rows])
    return parts


def group_by_site(sites: Any, n_rows: int) -> list[tuple[Any, NDArray[np.intp]]]:
    """Find which rows belong to which site.

    Parameters
    ----------
    sites : array-like of shape (n_rows,) or None
        Label of the site of each row; None for one site.
    n_rows : int
        Number of rows.

    Returns
    -------
    list of tuple (label, rows)
        Label (None for the only site) and ascending row numbers, sorted by label.
    """
    if sites is None:
        return [(None, np.arange(n_rows))]
    labels = check_labels("sites", sites, n_rows)
    assert labels is not None
    try:
        names, codes = np.unique(labels, return_inverse=True)
    except TypeError as error:
        raise InputError(
            "sites mixes labels of different types, such as text and numbers"
        ) from error
    return [
        (name, np.flatnonzero(codes == code))
        for code, name in enumerate(names.tolist())
    ]
