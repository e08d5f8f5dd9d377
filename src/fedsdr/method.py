"""Every parameter of a fit, its default and its check, in one value, `Method`.

The estimator, a study file and the command line use the same names and all make a
`Method`, which also determines the sums that sites are asked for.
"""

import math
from dataclasses import dataclass, fields
from difflib import get_close_matches
from numbers import Integral, Real
from typing import Any

from fedsdr.choices import (
    RULES,
    Auto,
    Bic,
    Criteria,
    Fdr,
    HoldOut,
    Moments,
    Tested,
    Universal,
    Votes,
    is_number,
    read_rule,
    read_share,
    rule_text,
)
from fedsdr.exceptions import InputError
from fedsdr.privacy.privacy_value import Privacy, read_privacy
from fedsdr.summaries.slicing import Pairs, Slices, Smooth, read_response
from fedsdr.terms import MOST_COLUMNS, MOST_PROFILES, MOST_STEPS, Terms, Variables

#: All that a user needs to make a method.
__all__ = [
    "FORMER",
    "INSIDE",
    "MOST_DENSE",
    "SCORES",
    "Auto",
    "Bic",
    "Criteria",
    "Fdr",
    "HoldOut",
    "Method",
    "Moments",
    "Pairs",
    "Privacy",
    "Slices",
    "Smooth",
    "Tested",
    "Universal",
    "Votes",
    "read_parameter",
    "response_type",
]

#: Columns up to which rules that need all pairs of columns may be used.
MOST_DENSE = 5000

#: What columns may be replaced by.
SCORES = ("none", "normal")

#: Parameters of version 0.1: the parameter whose value holds it now, its name there,
#: and the kinds of values that have it.
FORMER = {
    "slice_size": ("kernel", "size", ("Slices",)),
    "n_slices": ("kernel", "number", ("Slices",)),
    "max_directions": ("n_directions", "max_directions", ("Auto", "Bic", "Votes")),
    "n_folds": ("penalty", "folds", ("Moments",)),
    "validation_fraction": ("penalty", "fraction", ("HoldOut",)),
    "n_penalties": ("penalty", "penalties", ("Moments", "HoldOut")),
    "min_ratio": ("penalty", "min_ratio", ("Moments", "HoldOut")),
}

#: Parameters of a rule that estimators also take by themselves: the parameter whose
#: value holds it, and the kinds of values that have it.
INSIDE = {"min_directions": ("n_directions", ("Auto",))}


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    r"""Every parameter of a fit.

    Parameters
    ----------
    n_directions : int, Auto, Bic or Votes, default=Auto()
        Dimension K, or the rule that chooses it.
    penalty : float, Universal, Moments or HoldOut, default=Universal()
        Penalty rho of eq2.10 for columns on the common scale, or the rule that chooses
        it.
    kernel : Smooth, Slices or Pairs, default=Smooth()
        Estimate of the covariance of E[x | y].
    refit : bool, "pooled" or float, default=True
        True: directions and their number are estimated on the selected variables, each
        site with its own covariance. "pooled": plain SIR on the selected variables with
        one covariance for all sites, the default of version 0.1. False: the leading
        eigenvectors of Pi, as in the paper. A number in (0, 1): eq2.10 on the selected
        variables with the penalty times that number.
    standardize : bool, default=True
        Whether columns are put on a common scale first, by the pooled within-site
        variance.
    tol : float, default=1e-6
        Relative duality gap of every solution.
    scores : {"none", "normal"}, default="none"
        "normal": every column is replaced by normal scores before anything else is
        computed, from quantiles that all sites agree on; see `fedsdr.normal_scores`.
        Coefficients then refer to the scores.
    response : {"auto", "ordered", "classes"}, default="auto"
        What y is taken for. "ordered": numbers, of which neighbours are alike.
        "classes": each value by itself, without an order. "auto": classes if y is text,
        truth values or categories, or if it has only whole numbers, at most 10
        different ones, and at most half as many as rows; otherwise ordered. In a study,
        where nobody sees all rows, "auto" goes by the declared type of the target.
    privacy : Privacy or None, default=None
        Differential privacy: rows are shortened to declared bounds and sites add noise
        to one sum, from which everything is estimated. None for exact sums.
    dense_limit : int, default=300
        Number of columns up to which sums of all pairs of columns are formed. With
        more, variables are selected among candidates, and the solution is proved on all
        variables from a few columns. Rules and kernels that need all pairs
        (`Moments`, `HoldOut`, `Votes`, `Pairs`, `Tested`, `Fdr`) use them up to 5,000
        columns.
    max_seconds : float, default=15
        Time limit of that proof, less what the selection among candidates took. When it
        is reached, a `ConvergenceWarning` has the best bound so far.
    select : Criteria, Tested or Fdr, default=Criteria()
        How variables are selected, and whether they are tested. `Tested` adds p-values,
        q-values, selection frequencies and intervals to the result; `Fdr` selects by
        the q-values. Both need sums of all pairs of columns, up to 5,000 columns; `Fdr`
        needs one sum more.

    Notes
    -----
    Rules may also be given by their short name ("moments") or as text with parameters
    ("moments(folds=8)"), as in a study file or on the command line.
    """

    n_directions: Any = "auto"
    penalty: Any = "universal"
    kernel: Any = "smooth"
    refit: bool | float | str = True
    standardize: bool = True
    tol: float = 1e-6
    scores: str = "none"
    response: str = "auto"
    privacy: Privacy | None = None
    dense_limit: int = 300
    max_seconds: float = 15.0
    select: Any = "criteria"

    def __post_init__(self) -> None:
        for one in fields(self):
            value = read_parameter(one.name, getattr(self, one.name))
            object.__setattr__(self, one.name, value)
        if self.privacy is not None:
            _check_private(self)
        elif self.tests and not self.whitens_by_site:
            raise InputError(
                f"select={rule_text(self.select)!r} needs refit=True and a kernel of "
                "functions of y: use kernel='smooth' or 'slices'"
            )

    def terms(self, variables: Variables) -> Terms:
        """Return the terms by which sites compute their sums.

        Parameters
        ----------
        variables : Variables
            Names of the columns and type of the response.

        Returns
        -------
        Terms
            Terms that request no more than the method needs.
        """
        votes, penalty = self.n_directions, self.penalty
        most = votes if isinstance(votes, int) else votes.max_directions
        held_out = isinstance(penalty, HoldOut)
        return Terms(
            n_features=len(variables.names),
            kernel=self.kernel,
            discrete=variables.discrete,
            max_votes=votes.max_directions if isinstance(votes, Votes) else 0,
            n_folds=penalty.folds if isinstance(penalty, Moments) else 0,
            validation_fraction=float(penalty.fraction) if held_out else 0.0,
            max_candidates=penalty.penalties if held_out else 0,
            strict=variables.strict,
            max_profiles=min(MOST_PROFILES, MOST_STEPS * most)
            if self.whitens_by_site
            else 0,
            scored=self.scores == "normal",
            privacy=self.privacy,
            honest=variables.honest,
            max_columns=MOST_COLUMNS if self._from_columns(variables) else 0,
            n_splits=self.select.splits if self.tests else 0,
        )

    def _from_columns(self, variables: Variables) -> bool:
        """Return whether no sums of all pairs of columns are formed."""
        n_features = len(variables.names)
        if n_features <= self.dense_limit or self.privacy is not None:
            return False
        needs = [
            f"{name}={rule_text(rule)!r}"
            for name, rule, kinds in (
                ("penalty", self.penalty, (Moments, HoldOut)),
                ("n_directions", self.n_directions, (Votes,)),
                ("kernel", self.kernel, (Pairs,)),
                ("select", self.select, (Tested, Fdr)),
            )
            if isinstance(rule, kinds)
        ]
        if needs and n_features > MOST_DENSE:
            raise InputError(
                f"{' and '.join(needs)} needs sums of all pairs of {n_features} "
                f"columns, which are formed for up to {MOST_DENSE} columns: use "
                "another rule, or fewer columns"
            )
        return not needs

    @property
    def whitens_by_site(self) -> bool:
        """Whether there is a second stage, in which sites have their own covariance."""
        exact = self.privacy is None and not isinstance(self.kernel, Pairs)
        return self.refit is True and exact

    @property
    def tests(self) -> bool:
        """Whether variables are tested on halves of the rows."""
        return isinstance(self.select, Tested | Fdr)

    @property
    def selects_by_tests(self) -> bool:
        """Whether the tests decide which variables are selected."""
        return isinstance(self.select, Fdr)

    @property
    def allows_nothing(self) -> bool:
        """Whether the result has no direction if the first is no more than noise."""
        return isinstance(self.n_directions, Auto) and not (
            self.n_directions.min_directions
        )

    def settings(self) -> dict[str, Any]:
        """Return all parameters as plain values.

        Returns
        -------
        dict
            Values from which ``Method(**settings)`` makes an equal method.
        """
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        privacy = values.pop("privacy")
        if privacy is not None:
            values["privacy"] = privacy.to_mapping()
        # Absent where nothing is tested: studies keep their digests.
        if not self.tests:
            del values["select"]
        return {
            name: rule_text(value) if isinstance(value, RULES.get(name, ())) else value
            for name, value in values.items()
        }


def response_type(*, discrete: bool) -> str:
    """Return the value of `response` that says what y was taken for.

    Parameters
    ----------
    discrete : bool
        Whether y holds classes.

    Returns
    -------
    {"ordered", "classes"}
        The value.
    """
    return "classes" if discrete else "ordered"


def read_parameter(name: str, value: Any) -> Any:
    """Check one parameter of a method, and read it if it is text.

    Parameters
    ----------
    name : str
        Name of the parameter.
    value : object
        Value that the user gave.

    Returns
    -------
    object
        The value that a `Method` holds.

    Raises
    ------
    InputError
        If the value is not allowed; the error names the choices.
    """
    if name in RULES:
        return read_rule(name, value)
    if name == "refit":
        if type(value).__name__ in ("bool", "bool_"):
            return bool(value)
        if isinstance(value, str) and value.strip().lower() == "pooled":
            return "pooled"
        if not (is_number(value, Real) and 0.0 < value < 1.0):
            raise InputError(
                "refit must be true, false, 'pooled' or a number between 0 and 1, got "
                f"{value!r}"
            )
        return float(value)
    if name == "standardize":
        if type(value).__name__ not in ("bool", "bool_"):
            raise InputError(f"standardize must be True or False, got {value!r}")
        return bool(value)
    if name == "scores":
        return _read_scores(value)
    if name == "response":
        return read_response(value)
    if name == "privacy":
        return read_privacy(value)
    if name == "dense_limit":
        if not (is_number(value, Integral) and value >= 0):
            raise InputError(f"dense_limit must be a whole number, got {value!r}")
        return int(value)
    if name == "max_seconds":
        if not (is_number(value, Real) and 0.0 < value < math.inf):
            raise InputError(f"max_seconds must be a positive number, got {value!r}")
        return float(value)
    return read_share("tol", value)


def _check_private(method: Method) -> None:
    """Refuse what needs more than the one sum that has noise."""
    needed = {
        "n_directions": not isinstance(method.n_directions, Votes),
        "penalty": not isinstance(method.penalty, Moments | HoldOut),
        "kernel": isinstance(method.kernel, Smooth),
        "scores": method.scores == "none",
        "standardize": method.standardize,
        "select": not method.tests,
    }
    wrong = [name for name, fits in needed.items() if not fits]
    if wrong:
        raise InputError(
            f"with privacy there is one sum with noise, which {', '.join(wrong)} would "
            "need more than: leave them at their defaults, or give numbers"
        )


def _read_scores(value: Any) -> str:
    word = value.strip().lower() if isinstance(value, str) else None
    if word in SCORES:
        return word
    close = get_close_matches(word or "", SCORES, n=1)
    hint = f": did you mean {close[0]!r}?" if close else ""
    raise InputError(f"scores must be 'none' or 'normal', got {value!r}{hint}")
