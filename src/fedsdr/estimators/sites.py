"""The sites of one analyst: parties in one process."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fedsdr.arrays import Matrix
from fedsdr.estimators.checks import check_labels
from fedsdr.exceptions import InputError
from fedsdr.protocols.secure import OpenGate, SecureSite, SecureSum, Study
from fedsdr.protocols.sums import PlainSite, PlainSum
from fedsdr.rows import MemoryRows
from fedsdr.secure_sum import Identity
from fedsdr.terms import Terms
from fedsdr.transports import InProcess, Transcript

if TYPE_CHECKING:
    from fedsdr.protocols import Party


@dataclass(frozen=True, slots=True)
class Communication:
    """What a protocol cost.

    Parameters
    ----------
    rounds : int
        Messages that every site had to answer.
    n_bytes : dict of str to int
        Sent and received by each site.
    """

    rounds: int
    n_bytes: dict[str, int]


def split_sites(
    X: Matrix, y: NDArray[Any], sites: Any, generator: np.random.Generator
) -> dict[str, MemoryRows]:
    """Group rows by site.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        Rows of all sites.
    y : ndarray of shape (n_rows,)
        Responses.
    sites : array-like of shape (n_rows,) or None
        Labels; None for one site.
    generator : numpy.random.Generator
        Gives every site a generator of its own.

    Returns
    -------
    dict of str to MemoryRows
        By the site's name, in the order of the labels.
    """
    groups = group_by_site(sites, len(y))
    if len(groups) == 1:
        return {"only": MemoryRows(X, y, generator, groups[0][0])}
    own = generator.spawn(len(groups))
    return {
        str(label): MemoryRows(X[rows], y[rows], one, label)
        for (label, rows), one in zip(groups, own, strict=True)
    }


def group_by_site(sites: Any, n_rows: int) -> list[tuple[Any, NDArray[np.intp]]]:
    """Say which rows belong to which site.

    Parameters
    ----------
    sites : array-like of shape (n_rows,) or None
        Labels; None for one site.
    n_rows : int
        Number of rows.

    Returns
    -------
    list of tuple (label, rows)
        Label (None for the only site) and ascending row numbers, sorted by label.
    """
    if sites is None:
        return [(None, np.arange(n_rows))]
    check_labels(sites)
    labels = np.asarray(sites)
    if labels.ndim != 1 or len(labels) != n_rows:
        raise InputError(
            f"sites must give one label for each of the {n_rows} rows, got shape "
            f"{labels.shape}"
        )
    if pd.isna(labels).any():
        raise InputError(
            f"sites has {int(pd.isna(labels).sum())} missing label(s): every row must "
            "belong to a site"
        )
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


def connect(parties: dict[str, Any], transcript: Transcript | None = None) -> InProcess:
    """Connect parties of one analyst, whose errors are the analyst's own.

    Parameters
    ----------
    parties : dict of str to Party
        By name.
    transcript : Transcript, optional
        Where to record messages.

    Returns
    -------
    InProcess
        Raises what goes wrong at a site.
    """
    checked: dict[str, Party] = parties
    return InProcess(checked, transcript=transcript, on_error="raise")


def join_in_the_open(
    parts: dict[str, MemoryRows], terms: Terms, columns: tuple[str, ...]
) -> tuple[PlainSum, InProcess]:
    """Let sites tell their parts of every sum.

    Parameters
    ----------
    parts : dict of str to MemoryRows
        Sites by name.
    terms : Terms
        How they compute.
    columns : tuple of str
        Not looked at.

    Returns
    -------
    add : PlainSum
        Adds over them.
    transport : InProcess
        Over which they talk.
    """
    del columns
    transport = connect({name: PlainSite(rows) for name, rows in parts.items()})
    return PlainSum(transport, list(parts), terms), transport


def join_under_masks(
    parts: dict[str, MemoryRows], terms: Terms, columns: tuple[str, ...]
) -> tuple[SecureSum, InProcess]:
    """Let sites add under masks, with identities made for the occasion.

    Parameters
    ----------
    parts : dict of str to MemoryRows
        Sites by name, at least 3.
    terms : Terms
        How they compute.
    columns : tuple of str
        Names of the columns.

    Returns
    -------
    add : SecureSum
        Adds over them.
    transport : InProcess
        Over which they talk.
    """
    identities = {name: Identity.generate() for name in parts}
    roster = {name: identity.public for name, identity in identities.items()}
    study = Study("in process", columns, "y (response)", terms, roster)
    parties = {
        name: SecureSite(name, study, rows, identities[name], OpenGate())
        for name, rows in parts.items()
    }
    transport = connect(parties)
    add = SecureSum(transport, study)
    add.agree()
    return add, transport


def cost(transport: InProcess, names: Sequence[str]) -> Communication:
    """Read off what a protocol cost.

    Parameters
    ----------
    transport : InProcess
        Over which it ran.
    names : sequence of str
        Of the sites.

    Returns
    -------
    Communication
        Rounds and bytes.
    """
    transcript = transport.transcript
    return Communication(
        transcript.rounds, {name: transcript.bytes_of(name) for name in names}
    )
