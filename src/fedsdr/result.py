"""The frozen result of a fit, with provenance, written to and read from JSON."""

import json
from dataclasses import MISSING, asdict, dataclass, field
from dataclasses import fields as fields_of
from html import escape
from pathlib import Path
from typing import Any, Literal

import numpy as np

from fedsdr.arrays import Mask, Matrix, Vector
from fedsdr.certainty import Certainty, ErrorSource
from fedsdr.exceptions import InputError
from fedsdr.files import explained, write_atomically
from fedsdr.fit_summary import (
    FitSummary,
    describe_halves,
    describe_needs,
    explain_halves,
)
from fedsdr.html_text import Html, tag, write_table
from fedsdr.normal_scores import NormalScores
from fedsdr.result_checks import check_result_fields

FORMAT = "fedsdr-result/1"

#: Largest number of stand-ins of a variable that are shown.
SHOWN = 5

#: Largest number of variables in a notebook; a file has all of them.
SHOWN_ROWS = 30

#: What is said instead of variables and coefficients that may be noise.
NOTHING = "no direction was found: even the first cannot be distinguished from noise"

#: What is said if a rule accepted the largest dimension that it considered.
AT_LIMIT = "all directions that were considered were accepted: raise max_directions"

#: What is said of intervals, by what they come from.
INTERVALS_FROM: dict[ErrorSource, str] = {
    "halves": "[0.025 0.975], degrees: from differences between halves (jackknife).",
    "curvature": "[0.025 0.975], degrees: from the curvature of the fit.",
}


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """Result of a fit: the estimate, its certificate, settings and provenance.

    Parameters
    ----------
    feature_names : tuple of str
        Names of the columns; "x0", "x1", ... if the data had none.
    directions : ndarray of shape (n_features, n_directions)
        Orthonormal basis of the central subspace, in the user's units; of the scores,
        if there are `scores`.
    support : ndarray of bool, shape (n_features,)
        Selected variables.
    eigenvalues : ndarray of shape (n_directions,)
        Share of each direction's variance that y explains.
    penalty : float
        Penalty of eq2.10, for columns divided by `scale`.
    objective : float
        Objective of the convex problem (eq2.10).
    dual_bound, gap : float or None
        Certificate: lower bound on the objective and relative duality gap; None if the
        protocol has no certificate.
    converged : bool
        Whether the gap is at most the tolerance or, without a certificate, whether the
        stopping rule of the protocol was met.
    n_rows, n_sites : int
        Number of rows and sites in the sums.
    scale : ndarray of shape (n_features,)
        Divisor of each column.
    n_iter : int
        Number of iterations of the solver for the chosen penalty.
    validation : tuple of dict
        Table of the candidates and tests on which the choices are based.
    settings : dict
        Parameters of the estimator.
    provenance : dict
        Versions of the software and time of the fit.
    weak : bool
        Whether even the first direction cannot be distinguished from noise. Variables
        and directions are then candidates and no findings; there are none of them if
        the method allows that nothing is found.
    scores : NormalScores or None
        Scores that every column was replaced by; `transform` replaces new rows too.
    stand_ins : dict of str to tuple of str
        Selected variables that others could replace as far as the data can tell, with
        these others, the most plausible first: near-twins of the variable. Variables
        that have none are not in it. See `fedsdr.estimation.stand_ins`.
    at_limit : bool
        Whether all directions that were considered were accepted, so that there may be
        more of them.
    n_certified : int
        Number of variables among which the solution is proved to be optimal up to the
        tolerance: all that vary where `converged`, else the candidates; 0 if sums of
        all pairs of columns were formed. The bound and the gap are always those for all
        variables.
    certainty : Certainty or None
        Tests, selection frequencies and standard errors, if the method tests.
    agreement : dict
        Whether all sites have one span of directions: "needs" has the number of sites
        that need 1, 2, ..., K directions and more than these, "p_value" that of the
        test. Empty if sites were not asked.
    warnings : tuple of (str, str)
        Class and text of each warning of the fit.
    """

    feature_names: tuple[str, ...]
    directions: Matrix
    support: Mask
    eigenvalues: Vector
    penalty: float
    objective: float
    dual_bound: float | None
    gap: float | None
    converged: bool
    n_rows: int
    n_sites: int
    scale: Vector
    n_iter: int = 0
    validation: tuple[dict[str, Any], ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    provenance: dict[str, Any] = field(default_factory=dict)
    weak: bool = False
    scores: NormalScores | None = None
    stand_ins: dict[str, tuple[str, ...]] = field(default_factory=dict)
    at_limit: bool = False
    n_certified: int = 0
    certainty: Certainty | None = None
    agreement: dict[str, Any] = field(default_factory=dict)
    warnings: tuple[tuple[str, str], ...] = ()

    @property
    def found_nothing(self) -> bool:
        """Whether no direction is more than noise: reports then name no variable."""
        return self.weak or not self.n_directions

    @property
    def n_directions(self) -> int:
        """Dimension of the estimated subspace."""
        return self.directions.shape[1]

    @property
    def selected(self) -> tuple[str, ...]:
        """Names of the selected variables."""
        names = zip(self.feature_names, self.support, strict=True)
        return tuple(name for name, kept in names if kept)

    @property
    def loadings(self) -> Matrix:
        r"""Coefficients per standard deviation, of shape (n_features, n_directions).

        Notes
        -----
        Coefficients in the units of the data cannot be compared: that of a column with
        a small spread is large. With :math:`D` the divisors `scale` and :math:`B` the
        `directions`, the columns of the loadings are those of :math:`D B`,
        orthonormalised from left to right; each keeps its sign. If the fit has tested,
        they are those whose intervals are known: of directions with variance 1 that are
        uncorrelated within sites.
        """
        return self._axes()[0]

    def place(self, X: Any) -> Any:
        """Place rows on the axes that `loadings` belong to.

        Parameters
        ----------
        X : data frame or array-like of shape (n_rows, n_features)
            Rows, as in `transform`.

        Returns
        -------
        ndarray of shape (n_rows, n_directions)
            Reduced variables with the span of those of `transform`: sums of loadings
            times columns in standard deviations.
        """
        return np.linalg.solve(self._axes()[1].T, np.asarray(self.transform(X)).T).T

    def _axes(self) -> tuple[Matrix, Matrix]:
        """Compute loadings L and the matrix R for which D B = L R."""
        loadings = np.zeros_like(self.directions)
        scaled = self.directions[self.support] * self.scale[self.support, None]
        if self.certainty is not None and self.certainty.angles.size:
            found = np.asarray(self.certainty.loadings)
            turned = np.linalg.lstsq(found[self.support], scaled, rcond=None)[0]
            return found, np.asarray(turned, dtype=np.float64)
        basis, triangle = np.linalg.qr(scaled)
        signs = np.where(np.diag(triangle) < 0.0, -1.0, 1.0)
        loadings[self.support] = basis * signs
        return loadings, triangle * signs[:, None]

    def transform(self, X: Any) -> Any:
        """Project rows onto the estimated directions.

        Parameters
        ----------
        X : data frame or array-like of shape (n_rows, n_features)
            A data frame (pandas, polars or Arrow) needs the selected variables, in any
            order and among any other columns; an array needs all columns of the fit,
            in order.

        Returns
        -------
        pandas.DataFrame or ndarray of shape (n_rows, n_directions)
            Reduced variables; for pandas a data frame with the index of `X`.

        Raises
        ------
        InputError
            If columns are missing, hold text, or have missing values; the error names
            them.
        """
        rows = self.selected_columns(X)
        reduced = rows @ self.directions[self.support]
        if not (hasattr(X, "index") and hasattr(X, "columns")):
            return reduced
        labels = [f"direction{k + 1}" for k in range(self.n_directions)]
        return type(X)(reduced, index=X.index, columns=labels)

    def selected_columns(self, X: Any) -> Matrix:
        """Take the selected variables from rows, as scores where there are scores.

        Parameters
        ----------
        X : data frame or array-like of shape (n_rows, n_features)
            Rows, as in `transform`.

        Returns
        -------
        ndarray of shape (n_rows, n_selected)
            Columns.
        """
        names = getattr(X, "column_names", getattr(X, "columns", None))
        if names is None:
            rows = np.asarray(X, dtype=np.float64)
            if np.ma.isMaskedArray(X):
                # What is masked is missing, whatever stands there.
                rows = np.where(np.ma.getmaskarray(X), np.nan, rows)
            width = len(self.feature_names)
            if rows.ndim != 2 or rows.shape[1] != width:
                raise InputError(
                    f"X must have the {width} columns of the fit, got shape "
                    f"{rows.shape}; a data frame is matched by column names"
                )
            rows = rows[:, self.support]
        else:
            rows = self._named_columns(X, list(names))
        self._refuse_gaps(rows)
        if self.scores is not None:
            rows = self.scores.apply(rows, self.support)
        return rows

    def _named_columns(self, X: Any, names: list[Any]) -> Matrix:
        """Return the selected variables of a data frame."""
        missing = [name for name in self.selected if name not in names]
        if missing:
            raise InputError(f"X has no column named {', '.join(map(repr, missing))}")
        if any(names.count(name) > 1 for name in self.selected):
            raise InputError("X has two columns of the same name: rename one of them")
        rows = np.empty((len(X), len(self.selected)))
        for j, name in enumerate(self.selected):
            column = X[name] if hasattr(X, "index") else np.asarray(X[name])
            if getattr(column.dtype, "kind", "O") not in "iufb":
                raise InputError(f"column {name!r} holds text: encode it first")
            if isinstance(column, np.ndarray):
                rows[:, j] = column
            else:
                # Nullable columns hold missing values as pandas.NA, not as NaN.
                rows[:, j] = column.to_numpy(np.float64, na_value=np.nan)
        return rows

    def _refuse_gaps(self, rows: Matrix) -> None:
        gaps: Mask = np.asarray(~np.isfinite(rows).all(axis=0))
        if gaps.any():
            named = [name for name, gap in zip(self.selected, gaps, strict=True) if gap]
            raise InputError(
                f"missing or infinite values in {', '.join(map(repr, named))}: leave "
                "those rows out or fill them in"
            )

    def __str__(self) -> str:
        """Show variables, loadings and the certificate."""
        table, facts = ([NOTHING], []) if self.found_nothing else self._findings()
        rows = f"{self.n_rows} rows at {self.n_sites} site(s)"
        lines = [*table, "", rows, *facts, f"penalty {self.penalty:.4g}"]
        return "\n".join([*lines, self._proof()])

    def _repr_html_(self) -> str:
        """Show variables, loadings and the certificate in a notebook."""
        _, facts = ([], [NOTHING]) if self.found_nothing else self._findings()
        lines = [f"{self.n_rows} rows at {self.n_sites} site(s)", *facts, self._proof()]
        parts = [tag("p", Html("<br>".join(map(escape, lines))))]
        if not self.found_nothing:
            head = ["variable", *(f"loading {k + 1}" for k in range(self.n_directions))]
            loadings = self.loadings[self.support]
            order = np.argsort(-np.linalg.norm(loadings, axis=1), kind="stable")
            rows = [
                [self.selected[j], *(f"{value:.3f}" for value in loadings[j])]
                for j in order[:SHOWN_ROWS]
            ]
            rest = len(order) - len(rows)
            more = f", and {rest} with smaller ones" if rest else ""
            caption = f"Loadings per standard deviation{more}"
            parts.insert(0, write_table(caption, head, rows, numbers=self.n_directions))
        return tag("div", *parts)

    def _proof(self) -> str:
        if self.gap is None:
            return "optimum not certified"
        reached = "" if self.converged else ", which exceeds the tolerance"
        return f"optimum certified to {self.gap:.1e}, relative{reached}"

    def _findings(self) -> tuple[list[str], list[str]]:
        """Write a table of the loadings, and what is said about them."""
        width = max(8, *(len(name) for name in self.selected), 0)
        header = "".join(f"  direction {k + 1}" for k in range(self.n_directions))
        lines = [f"{'variable':<{width}}{header}"]
        loadings = self.loadings[self.support] if self.selected else np.zeros((0, 1))
        for j in np.argsort(-np.linalg.norm(loadings, axis=1), kind="stable"):
            numbers = "".join(f"  {value:11.3f}" for value in loadings[j])
            lines.append(f"{self.selected[j]:<{width}}{numbers}")
        shares = ", ".join(f"{value:.3f}" for value in self.eigenvalues)
        chosen = f"{len(self.selected)} of {len(self.feature_names)} variables"
        facts = [
            f"{chosen} in {self.n_directions} direction(s)",
            f"share of variance that y explains: {shares}",
        ]
        if self.at_limit:
            facts.append(AT_LIMIT)
        of = "unit" if (self.scale == 1.0).all() else "standard deviation"
        facts.append(f"loadings are per {of} of each variable")
        if self.scores is not None:
            facts[-1] = "loadings are those of normal scores of the variables"
        return lines, [*facts, *self.describe_stand_ins()]

    def describe_stand_ins(self) -> list[str]:
        """Write a line for every selected variable that others could replace.

        Returns
        -------
        list of str
            Lines such as "x3 could as well be x53"; none if nothing was found.
        """
        if self.found_nothing:
            return []
        return [
            f"{name} could as well be {listed(others)}"
            for name, others in self.stand_ins.items()
        ]

    def summary(self, intervals: Literal["auto", ErrorSource] = "auto") -> FitSummary:
        """Return tables of variables, directions and facts, which print as text.

        Parameters
        ----------
        intervals : {"auto", "curvature", "halves"}, default="auto"
            What intervals and angles come from, see `Certainty.interval`; the summary
            says which it is.

        Returns
        -------
        FitSummary
            The tables. Loadings are per standard deviation of a variable, for
            directions of variance 1 if the fit has tested, else of length 1. Tests,
            frequencies and intervals are there if the method has tested
            (``select="tested"`` or ``"fdr"``).
        """
        loadings, sure = self.loadings, self.certainty
        by: ErrorSource = "curvature"
        if sure is not None:
            by = sure.error_source(intervals)
        units = np.where(self.scale > 0.0, self.scale, 1.0)[:, None]
        chosen = (
            np.empty(0, int) if self.found_nothing else np.flatnonzero(self.support)
        )
        k = 0 if self.found_nothing else loadings.shape[1]
        rows = [
            {
                "variable": self.feature_names[j],
                "direction": i + 1,
                "loading": float(loadings[j, i]),
                "coefficient": float((loadings / units)[j, i]),
                **self._tests_of(int(j), i, by),
            }
            for i in range(k)
            for j in chosen
        ]
        angles, notes = np.zeros(0), self._notes()
        if sure is not None and sure.angles.size and sure.angles.size == k:
            angles = sure.angles if by == "curvature" else sure.half_angles
            notes.append(INTERVALS_FROM[by])
        directions = [
            {"direction": i + 1, "share": float(self.eigenvalues[i])}
            | ({"angle": float(angles[i])} if angles.size else {})
            for i in range(k)
        ]
        return FitSummary(
            "Sparse sliced inverse regression",
            tuple(self._facts()),
            tuple(rows),
            tuple(directions),
            tuple(notes),
        )

    def _tests_of(
        self, variable: int, direction: int, by: ErrorSource
    ) -> dict[str, float]:
        """Return what is known about one loading."""
        sure = self.certainty
        if sure is None or not sure.angles.size:
            return {}
        low, high = sure.interval(by=by)
        return {
            "low": float(low[variable, direction]),
            "high": float(high[variable, direction]),
            "p": float(sure.p_values[variable]),
            "q": float(sure.q_values[variable]),
            "frequency": float(sure.frequencies[variable]),
        }

    def _facts(self) -> list[tuple[str, str]]:
        """Name what the fit has used and found."""
        gap = "none" if self.gap is None else f"optimal to {self.gap:.1e}, relative"
        chosen = 0 if self.found_nothing else len(self.selected)
        facts = [
            ("rows", f"{self.n_rows} at {self.n_sites} site(s)"),
            ("variables", f"{chosen} of {len(self.feature_names)} selected"),
            ("directions", str(0 if self.found_nothing else self.n_directions)),
            ("penalty", f"{self.penalty:.4g}"),
            ("certificate", gap),
        ]
        if self.agreement:
            p_value = self.agreement["p_value"]
            said = f"{describe_needs(self.agreement['needs'])}; p = {p_value:.2g}"
            facts.append(("one span", said))
        sure = self.certainty
        if sure is not None:
            several = self.n_sites > 1
            said = describe_halves(sure.n_halves, sure.dimensions, several=several)
            facts.append(("halves of the rows", said))
            if sure.sites:
                counts = ", ".join(f"{name} {count}" for name, count in sure.sites)
                facts.append(("sites that differ", counts))
        return facts

    def _notes(self) -> list[str]:
        """Say what must be known to read the summary."""
        notes = []
        if self.found_nothing:
            notes.append(f"Note: {NOTHING}.")
        if self.at_limit:
            notes.append(f"Note: {AT_LIMIT}.")
        if not self.converged:
            notes.append("Note: the optimum was not proved up to the tolerance.")
        if self.scores is not None:
            notes.append("Note: loadings are those of normal scores of the variables.")
        notes += [f"Note: {line}." for line in self.describe_stand_ins()]
        notes += [f"Warning: {text}" for _, text in self.warnings]
        if self.certainty is not None:
            if self.n_sites > 1:
                shown = self.certainty.dimensions
                notes += explain_halves(shown, self.n_directions)
            notes += [
                "loading/sd: of a direction whose own standard deviation is 1.",
                "p, q: tests on rows that have not selected the variable.",
                "selected: share of the halves of the rows that select the variable.",
            ]
        return notes

    def to_json(self, path: str | Path | None = None, indent: int | None = 2) -> str:
        """Write the result as JSON.

        Parameters
        ----------
        path : str or Path, optional
            File that is also written, completely or not at all. An `InputError` is
            raised if it cannot be written.
        indent : int or None, default=2
            Indentation, as in `json.dumps`.

        Returns
        -------
        str
            JSON text. Numbers keep all their digits.
        """
        fields = {"format": FORMAT, **asdict(self)}
        # A reader of version 0.2 does not know these fields.
        for name in (
            "scores",
            "stand_ins",
            "at_limit",
            "n_certified",
            "certainty",
            "agreement",
            "warnings",
        ):
            if not fields[name]:
                del fields[name]
        text = json.dumps(fields, indent=indent, default=_plain, allow_nan=False)
        if path is not None:
            with explained(f"cannot write {path}"):
                write_atomically(path, text + "\n")
        return text

    @classmethod
    def from_json(cls, source: str | Path) -> "Result":
        """Read a result that `to_json` wrote.

        Parameters
        ----------
        source : str or Path
            Path of a file, or the JSON text itself.

        Returns
        -------
        Result
            Result that is equal in every field. Files of earlier versions have no
            `weak` and no `at_limit`, which are then False, and no `stand_ins`, which
            are then empty.
        """
        text, where = str(source), ""
        if isinstance(source, Path) or not text.lstrip().startswith("{"):
            where = f"{source} is "
            try:
                text = Path(source).read_text(encoding="utf-8")
            except OSError as error:
                raise InputError(f"cannot read {source}: {error.strerror}") from error
            except UnicodeDecodeError:
                problem = "not a fedsdr result: not UTF-8 text"
                raise InputError(f"{where}{problem}") from None
        try:
            fields = json.loads(text)
        except (json.JSONDecodeError, RecursionError):
            raise InputError(f"{where}not a fedsdr result: not valid JSON") from None
        if not isinstance(fields, dict) or fields.pop("format", None) != FORMAT:
            model = isinstance(fields, dict) and "coefficients" in fields
            hint = ": it is a model, which 'fedsdr predict' reads" if model else ""
            raise InputError(f"{where}not a fedsdr result of format {FORMAT}{hint}")
        known = {
            one.name: one.default is MISSING and one.default_factory is MISSING
            for one in fields_of(cls)
        }
        check_result_fields(fields, known, [name for name in known if known[name]])
        n_directions = len(fields["eigenvalues"])
        fields["feature_names"] = tuple(fields["feature_names"])
        fields["directions"] = np.array(fields["directions"], dtype=float).reshape(
            len(fields["feature_names"]), n_directions
        )
        fields["support"] = np.array(fields["support"], dtype=bool)
        for name in ("eigenvalues", "scale"):
            fields[name] = np.array(fields[name], dtype=float)
        fields["validation"] = tuple(fields["validation"])
        if fields.get("scores") is not None:
            maps = {name: np.array(rows) for name, rows in fields["scores"].items()}
            fields["scores"] = NormalScores(**maps)
        if fields.get("certainty") is not None:
            fields["certainty"] = Certainty.from_fields(fields["certainty"])
        fields["warnings"] = tuple(map(tuple, fields.get("warnings", ())))
        found = fields.get("stand_ins", {})
        fields["stand_ins"] = {name: tuple(others) for name, others in found.items()}
        return cls(**fields)


def listed(names: tuple[str, ...]) -> str:
    """Write a few names, and how many there are beside them.

    Parameters
    ----------
    names : tuple of str
        Names.

    Returns
    -------
    str
        At most five names, such as "a, b or c", or "a, b, c, d, e or 3 more".
    """
    *first, last = names if len(names) <= SHOWN else (*names[:SHOWN], "")
    last = last or f"{len(names) - SHOWN} more"
    return f"{', '.join(first)} or {last}" if first else last


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    return repr(value)
