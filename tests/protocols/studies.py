"""Small studies of several sites, ready to run."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from fedsdr.disclosure import OpenGate
from fedsdr.protocols.secure import AgreedStudy, SecureSite
from fedsdr.questions import MomentsOf
from fedsdr.rows import MemoryRows
from fedsdr.rows import Rows as AnyRows
from fedsdr.secure_sum import FixedPoint, Identity
from fedsdr.terms import Terms
from fedsdr.transports import InProcess, Transcript

Rows = dict[str, tuple[np.ndarray, np.ndarray]]


@cache
def identity_of(name: str) -> Identity:
    """Return the identity that a site has in all studies."""
    return Identity.generate()


def make_rows(
    n_sites: int, n_features: int = 4, n_rows: int = 30, seed: int = 0
) -> Rows:
    """Draw rows for sites a, b, c and so on."""
    rng = np.random.default_rng(seed)
    rows = {}
    for i in range(n_sites):
        X = rng.normal(size=(n_rows + i, n_features)) + rng.normal(size=n_features)
        rows[f"site-{i:02d}"] = (X, X[:, 0] + 0.1 * rng.normal(size=len(X)))
    return rows


class Consortium:
    """Sites with identities and gates, a study, and a transport."""

    def __init__(
        self,
        rows: Rows,
        *,
        threshold: int | None = None,
        gate: Callable[[str], Any] | None = None,
        fault: Any = None,
        ring: FixedPoint | None = None,
        prefix: str = "x",
        target: str = "y",
        imputed: tuple[str, ...] = (),
        **terms: Any,
    ) -> None:
        n_features = next(iter(rows.values()))[0].shape[1]
        self.rows = rows
        self.identities = {name: identity_of(name) for name in rows}
        roster = {name: own.public for name, own in self.identities.items()}
        columns = tuple(f"{prefix}{j}" for j in range(n_features))
        self.study = AgreedStudy(
            "test",
            columns,
            target,
            Terms(n_features, **terms),
            roster,
            threshold,
            imputed=imputed,
            ring=ring or FixedPoint(),
        )
        self.gates = {name: gate(name) if gate else OpenGate() for name in rows}
        self.sites = {name: self.site(name) for name in rows}
        self.transport = InProcess(self.sites, transcript=Transcript(), fault=fault)

    def site(self, name: str, seed: int = 7) -> SecureSite:
        """Make a site, as after a restart of its process."""
        columns = tuple(self.study.columns)
        own = MemoryRows(*self.rows[name], np.random.default_rng(seed), name, columns)
        return SecureSite(
            name, self.study, own, self.identities[name], self.gates[name]
        )

    def expected(self, names: Any = None) -> np.ndarray:
        """Return the sum of the sites' moments, without masks."""
        own = [
            MemoryRows(*self.rows[name], np.random.default_rng(7), name)
            for name in (self.rows if names is None else names)
        ]
        return sum(packed_moments(rows, self.study.terms) for rows in own)

    @property
    def n_values(self) -> int:
        """Return the length of the sum of moments."""
        return MomentsOf(self.study.terms).n_values


def packed_moments(rows: AnyRows, terms: Terms) -> np.ndarray:
    """Return the vector that a site adds."""
    question = MomentsOf(terms)
    return question.pack(question.compute(rows))
