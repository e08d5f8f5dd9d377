"""The frozen result of a fit, with provenance; JSON there and back."""

import json
import platform
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedsdr.exceptions import InputError
from fedsdr.files import explained, write_atomically
from fedsdr.selection import Estimate

FORMAT = "fedsdr-result/1"


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """What a fit found and how.

    Parameters
    ----------
    feature_names : tuple of str
        Names of the columns, "x0", "x1", ... where the data had none.
    directions : ndarray of shape (n_features, n_directions)
        Orthonormal basis of the central subspace, in the user's units.
    support : ndarray of bool, shape (n_features,)
        Selected variables.
    eigenvalues : ndarray of shape (n_directions,)
        Share of each direction's variance that y explains.
    penalty : float
        Of eq2.10, for columns divided by `scale`.
    objective : float
        Of the convex problem (eq2.10).
    dual_bound, gap : float or None
        Its certificate; None where the protocol cannot have one.
    converged : bool
        Whether the gap is as small as was asked for, or without a certificate whether
        the protocol's own rule stopped it.
    n_rows, n_sites : int
        Behind the sums.
    scale : ndarray of shape (n_features,)
        What columns were divided by.
    validation : tuple of dict
        The table behind the choices.
    settings : dict
        Parameters of the estimator.
    provenance : dict
        Versions and time.
    """

    feature_names: tuple[str, ...]
    directions: NDArray[np.float64]
    support: NDArray[np.bool_]
    eigenvalues: NDArray[np.float64]
    penalty: float
    objective: float
    dual_bound: float | None
    gap: float | None
    converged: bool
    n_rows: int
    n_sites: int
    scale: NDArray[np.float64]
    validation: tuple[dict[str, Any], ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    provenance: dict[str, Any] = field(default_factory=dict)

    @property
    def n_directions(self) -> int:
        """Dimension of the subspace found."""
        return self.directions.shape[1]

    @property
    def selected(self) -> tuple[str, ...]:
        """Names of the selected variables."""
        names = zip(self.feature_names, self.support, strict=True)
        return tuple(name for name, kept in names if kept)

    def to_json(self, path: str | Path | None = None, indent: int | None = 2) -> str:
        """Write as JSON.

        Parameters
        ----------
        path : str or Path, optional
            File to write to as well, all of it or nothing. An `InputError` where it
            cannot be written.
        indent : int or None, default=2
            As in `json.dumps`.

        Returns
        -------
        str
            The text. Numbers keep all their digits.
        """
        fields = {"format": FORMAT, **asdict(self)}
        text = json.dumps(fields, indent=indent, default=_plain, allow_nan=False)
        if path is not None:
            with explained(f"cannot write {path}"):
                write_atomically(path, text + "\n")
        return text

    @classmethod
    def from_json(cls, source: str | Path) -> "Result":
        """Read what `to_json` wrote.

        Parameters
        ----------
        source : str or Path
            Path of a file, or the text itself.

        Returns
        -------
        Result
            Equal in every field.
        """
        text = str(source)
        if isinstance(source, Path) or not text.lstrip().startswith("{"):
            try:
                text = Path(source).read_text(encoding="utf-8")
            except OSError as error:
                raise InputError(f"cannot read {source}: {error.strerror}") from error
        try:
            fields = json.loads(text)
        except json.JSONDecodeError as error:
            raise InputError(f"not a fedsdr result: {error}") from error
        if not isinstance(fields, dict) or fields.pop("format", None) != FORMAT:
            raise InputError(f"not a fedsdr result of format {FORMAT}")
        n_directions = len(fields["eigenvalues"])
        fields["feature_names"] = tuple(fields["feature_names"])
        fields["directions"] = np.array(fields["directions"], dtype=float).reshape(
            -1, n_directions
        )
        fields["support"] = np.array(fields["support"], dtype=bool)
        for name in ("eigenvalues", "scale"):
            fields[name] = np.array(fields[name], dtype=float)
        fields["validation"] = tuple(fields["validation"])
        return cls(**fields)


def make_result(
    found: Estimate,
    feature_names: tuple[str, ...],
    *,
    n_rows: int,
    n_sites: int,
    settings: dict[str, Any],
) -> Result:
    """Dress an estimate with names, settings and provenance.

    Parameters
    ----------
    found : Estimate
        From summed moments.
    feature_names : tuple of str
        One a column.
    n_rows, n_sites : int
        Behind the sums.
    settings : dict
        Parameters of the estimator.

    Returns
    -------
    Result
        Frozen.
    """
    return Result(
        feature_names=feature_names,
        directions=found.directions,
        support=found.support,
        eigenvalues=found.eigenvalues,
        penalty=found.solution.penalty,
        objective=found.solution.objective,
        dual_bound=found.solution.dual_bound,
        gap=found.solution.gap,
        converged=found.solution.converged,
        n_rows=n_rows,
        n_sites=n_sites,
        scale=found.scale,
        validation=found.validation,
        settings=settings,
        provenance=provenance(),
    )


def provenance() -> dict[str, str]:
    """Say with what and when a result was made.

    Returns
    -------
    dict
        Versions and the time.
    """
    packages = ("fedsdr", "numpy", "scipy", "scikit-learn")
    return {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        **{name: version(name) for name in packages},
    }


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    return repr(value)
