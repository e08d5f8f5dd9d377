"""Every parameter of a fit, its default and its check, in one value, `Method`.

The estimator, a study file and the command line use the same names and all make a
`Method`, which also determines the sums that sites are asked for.
"""

import math
import re
from dataclasses import asdict, dataclass, field, fields
from difflib import get_close_matches
from numbers import Integral, Real
from typing import Any

from fedsdr.exceptions import InputError
from fedsdr.privacy.privacy_value import Privacy, read_privacy
from fedsdr.summaries.rank_functions import MAX_DEGREE
from fedsdr.summaries.slicing import Kernel, Pairs, Slices, Smooth, read_response

__all__ = [
    "FORMER",
    "INSIDE",
    "Auto",
    "Bic",
    "Criteria",
    "Fdr",
    "HoldOut",
    "Kernel",
    "Method",
    "Moments",
    "Pairs",
    "Privacy",
    "Slices",
    "Smooth",
    "Terms",
    "Tested",
    "Universal",
    "Variables",
    "Votes",
    "read_parameter",
]


@dataclass(frozen=True, slots=True)
class _UpTo:
    """A rule that chooses K up to a largest dimension."""

    max_directions: int = 5

    def __post_init__(self) -> None:
        _set_whole(self, "max_directions", 1)


@dataclass(frozen=True, slots=True)
class Auto(_UpTo):
    """Add directions while each is more than noise on the selected variables.

    Parameters
    ----------
    max_directions : int, default=5
        Largest dimension considered.
    min_directions : {0, 1}, default=1
        Smallest dimension. With 1 the first direction is kept even if it cannot be
        distinguished from noise, with a `WeakSignalWarning`, so that a pipeline has a
        column to continue with. With 0 the result then has no direction and no
        variable, and there is no warning.
    """

    # At its default it is not part of the text of a rule: studies keep their digests.
    min_directions: int = field(default=1, metadata={"unsaid": 1})

    def __post_init__(self) -> None:
        _UpTo.__post_init__(self)
        _set_whole(self, "min_directions", 0)
        if self.min_directions > 1:
            raise InputError(
                f"min_directions must be 0 or 1, got {self.min_directions}"
            )


class Bic(_UpTo):
    """Maximise the criterion eq2.14a on the pooled kernel.

    Parameters
    ----------
    max_directions : int, default=5
        Largest dimension considered.
    """

    __slots__ = ()


class Votes(_UpTo):
    """Take the most frequent choice of the sites' own BIC, as in the paper.

    Parameters
    ----------
    max_directions : int, default=5
        Largest dimension that a site may vote for.
    """

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Universal:
    r"""Start from :math:`\frac12\sqrt{\log d / N}`, see `universal_penalty`."""


@dataclass(frozen=True, slots=True)
class Moments:
    """Cross-validate the penalty on moments of rows held out.

    Parameters
    ----------
    folds : int, default=5
        Number of parts into which the rows of every site are divided, at least 2.
    penalties : int, default=20
        Number of penalties in the grid.
    min_ratio : float, default=0.15
        Smallest penalty of the grid, as a fraction of the penalty from which no
        variable is selected.
    """

    folds: int = 5
    penalties: int = 20
    min_ratio: float = 0.15

    def __post_init__(self) -> None:
        _set_whole(self, "folds", 2)
        _set_grid(self)


@dataclass(frozen=True, slots=True)
class HoldOut:
    """Validate the penalty by kernel regression eq2.14 on held-out rows, as the paper.

    Parameters
    ----------
    fraction : float, default=0.3
        Fraction of the rows of every site that is held out.
    penalties : int, default=20
        Number of penalties in the grid.
    min_ratio : float, default=0.15
        Smallest penalty of the grid, as a fraction of the penalty from which no
        variable is selected.
    """

    fraction: float = 0.3
    penalties: int = 20
    min_ratio: float = 0.15

    def __post_init__(self) -> None:
        _set_share(self, "fraction")
        _set_grid(self)


@dataclass(frozen=True, slots=True)
class Criteria:
    """Select by the criteria of the method, and test nothing."""


@dataclass(frozen=True, slots=True)
class Tested:
    """Select in the same way, and test every variable on halves of the rows.

    One half of the rows selects and the other one tests, in several splits.

    Parameters
    ----------
    splits : int, default=4
        Number of splits, from 1 to 7.
    """

    splits: int = 4

    def __post_init__(self) -> None:
        _set_splits(self)


@dataclass(frozen=True, slots=True)
class Fdr:
    """Select the variables whose tests keep the false discovery rate below a level.

    Parameters
    ----------
    level : float, default=0.1
        Largest share of false variables among the selected ones, on average.
    splits : int, default=4
        Number of splits, see `Tested`.
    """

    level: float = 0.1
    splits: int = 4

    def __post_init__(self) -> None:
        _set_share(self, "level")
        _set_splits(self)


#: Rules of each parameter; the short name of a rule is its class name in lower case.
RULES: dict[str, tuple[type, ...]] = {
    "n_directions": (Auto, Bic, Votes),
    "penalty": (Universal, Moments, HoldOut),
    "kernel": (Smooth, Slices, Pairs),
    "select": (Criteria, Tested, Fdr),
}

#: Largest number of splits into halves.
MOST_SPLITS = 7

#: Largest number of profiles of the second stage, in all and for one direction.
MOST_PROFILES, MOST_STEPS = 40, 6

#: Columns that are candidates for the selection at first, where there are many, and
#: columns at most that become candidates or are asked for.
N_CANDIDATES, MOST_COLUMNS = 200, 300

#: Times that sums of candidates, and of columns, may be asked for; so many columns at a
#: time that they are at most `MOST_COLUMNS` in all.
MOST_BLOCKS, MOST_ASKED = 3, 12

#: Columns up to which rules that need all pairs of columns may be used.
MOST_DENSE = 5000

#: What columns may be replaced by.
SCORES = ("none", "normal")

_NUMBERS = {"n_directions": "a positive whole number", "penalty": "a positive number"}


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


@dataclass(frozen=True, slots=True)
class Variables:
    """Properties of the data that must be known before sums are requested.

    Parameters
    ----------
    names : tuple of str
        Names of the columns of X, in order.
    discrete : bool, default=False
        Whether y holds classes.
    filled : tuple of str, default=()
        Columns whose gaps are filled with the mean over all sites, which is computed
        first; in the order of `names`.
    strict : bool, default=False
        Whether a site for which no kernel can be computed is an error; otherwise it
        contributes its covariance only.
    honest : int, default=1
        Number of sites whose noise alone must be enough, where sums have noise.
    """

    names: tuple[str, ...]
    discrete: bool = False
    filled: tuple[str, ...] = ()
    strict: bool = False
    honest: int = 1

    @property
    def filled_places(self) -> tuple[int, ...]:
        """Indices of the columns whose gaps are filled."""
        return tuple(j for j, name in enumerate(self.names) if name in self.filled)


@dataclass(frozen=True, slots=True)
class Terms:
    """Terms by which every site computes its sums, agreed on by all parties.

    Parameters
    ----------
    n_features : int
        Number of columns d.
    kernel : Smooth, Slices or Pairs
        Kind of kernel.
    discrete : bool, default=False
        Whether y holds classes.
    max_votes : int, default=0
        Largest K that sites may vote for; 0 for no vote.
    n_folds : int, default=0
        Number of folds for `Moments`; 0 for none.
    validation_fraction : float, default=0.0
        Fraction of every site's rows that is held out for `HoldOut`; 0 for none.
    max_candidates : int, default=0
        Largest number of candidate bases whose errors sites compute, for `HoldOut`.
    strict : bool, default=False
        Whether a site for which no kernel can be computed is an error.
    max_profiles : int, default=0
        Largest number of different directions at which sites compute profiles, for the
        second stage; 0 for no second stage.
    scored : bool, default=False
        Whether columns are replaced by normal scores, see `fedsdr.normal_scores`.
    privacy : Privacy or None, default=None
        What is promised to every row; sites then answer one question only, with noise.
    honest : int, default=1
        Number of sites whose noise alone must be enough.
    max_columns : int, default=0
        Largest number of columns of which sums with other columns are asked for; 0 if
        sums of all pairs of columns are.
    n_splits : int, default=0
        Ways in which rows are divided into halves, for tests; 0 for none.
    max_steps : int, default=0
        Largest number of Newton steps of a model of y on the reduced variables; 0 if no
        such model is fitted.
    picture_rows : int, default=0
        Fewest rows of every site in a cell of a picture; 0 for no pictures.
    classes : tuple of str, default=()
        Names of all classes, for pictures.
    """

    n_features: int
    kernel: Kernel = field(default_factory=Smooth)
    discrete: bool = False
    max_votes: int = 0
    n_folds: int = 0
    validation_fraction: float = 0.0
    max_candidates: int = 0
    strict: bool = False
    max_profiles: int = 0
    scored: bool = False
    privacy: Privacy | None = None
    honest: int = 1
    max_columns: int = 0
    n_splits: int = 0
    max_steps: int = 0
    picture_rows: int = 0
    classes: tuple[str, ...] = ()

    @property
    def columns_at_once(self) -> int:
        """Largest number of columns that one question asks for."""
        return self.max_columns // MOST_ASKED

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of the sets of rows that are summarised, in the order of the sums."""
        folds = [
            f"{use}:{fold}" for fold in range(self.n_folds) for use in ("fit", "held")
        ]
        fitting = ["fitting"] if self.validation_fraction else []
        halves = [f"half:{half}" for half in range(2 * self.n_splits)]
        return ("total", *folds, *fitting, *halves)

    @property
    def n_functions(self) -> int:
        """Number of functions of y that all sites have in common."""
        smooth = isinstance(self.kernel, Smooth) and not self.discrete
        return MAX_DEGREE if smooth else 0

    @property
    def most_directions(self) -> int | None:
        """Largest dimension that the study considers; None if the terms do not say."""
        if not 0 < self.max_profiles < MOST_PROFILES:
            return None
        return self.max_profiles // MOST_STEPS

    @property
    def half_functions(self) -> int:
        """Number of functions of y that sites have in common in halves of the rows.

        Two classes are numbers there, see `Rows.tested_responses`.
        """
        return MAX_DEGREE if isinstance(self.kernel, Smooth) else 0

    def n_questions(self, statistic: str) -> int:
        """Return how many different questions about a statistic may be asked.

        Parameters
        ----------
        statistic : str
            Name of the statistic.

        Returns
        -------
        int
            1, except for profiles, which are asked for while directions improve, for
            sums of columns, which are asked for while variables enter, for Newton
            steps, and for axes that are far from zero.
        """
        several = {
            "profile": self.max_profiles,
            "block": MOST_BLOCKS,
            "columns": MOST_ASKED,
            "axes": 2,
            "newton": self.max_steps,
        }
        return several.get(statistic, 1)

    def to_payload(self) -> dict[str, Any]:
        """Write the terms as plain values, for the digest of a study.

        Returns
        -------
        dict
            Value of each parameter by its name; the kernel as text.
        """
        plain = {one.name: getattr(self, one.name) for one in fields(self)}
        privacy, honest = plain.pop("privacy"), plain.pop("honest")
        # Absent without it: studies keep their digests.
        if privacy is not None:
            plain |= {"privacy": privacy.to_mapping(), "honest": honest}
        if not self.n_splits:
            del plain["n_splits"]
        if not self.max_steps:
            del plain["max_steps"]
        if not self.picture_rows:
            del plain["picture_rows"]
        classes = plain.pop("classes")
        if classes:
            plain["classes"] = list(classes)
        return {**plain, "kernel": rule_text(self.kernel)}


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
        (`Moments`, `HoldOut`, `Votes`, `Pairs`) use them up to 5,000 columns.
    max_seconds : float, default=15
        Time limit of that proof, less what the selection among candidates took. When it
        is reached, a `ConvergenceWarning` has the best bound so far.
    select : Criteria, Tested or Fdr, default=Criteria()
        How variables are selected, and whether they are tested. `Tested` adds p-values,
        q-values, selection frequencies and intervals to the result; `Fdr` selects by
        the q-values. Both need sums of all pairs of columns, up to 5,000 columns, and
        one sum more.

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


def rule_text(rule: Any) -> str:
    """Write a rule or a kernel as text, with its parameters.

    Parameters
    ----------
    rule : object
        A rule of this module, or a kernel.

    Returns
    -------
    str
        Text such as "moments(folds=5, penalties=20, min_ratio=0.15)", or "smooth".
        `min_directions` is left out at its default.
    """
    unsaid = {one.name: one.metadata.get("unsaid") for one in fields(rule)}
    given = {key: value for key, value in asdict(rule).items() if value != unsaid[key]}
    listed = ", ".join(f"{key}={value!r}" for key, value in given.items())
    name = type(rule).__name__.lower()
    return f"{name}({listed})" if listed else name


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
        return _read_rule(name, value)
    if name == "refit":
        if type(value).__name__ in ("bool", "bool_"):
            return bool(value)
        if isinstance(value, str) and value.strip().lower() == "pooled":
            return "pooled"
        if not (_is_number(value, Real) and 0.0 < value < 1.0):
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
        if not (_is_number(value, Integral) and value >= 0):
            raise InputError(f"dense_limit must be a whole number, got {value!r}")
        return int(value)
    if name == "max_seconds":
        if not (_is_number(value, Real) and 0.0 < value < math.inf):
            raise InputError(f"max_seconds must be a positive number, got {value!r}")
        return float(value)
    return _share("tol", value)


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


def _read_rule(name: str, value: Any) -> Any:
    kinds = RULES[name]
    if isinstance(value, kinds):
        return value
    if name == "n_directions" and _is_number(value, Integral) and value >= 1:
        return int(value)
    if name == "penalty" and _is_number(value, Real) and 0.0 < value < math.inf:
        return float(value)
    by_name = {kind.__name__.lower(): kind for kind in kinds}
    word = str(value).lower()
    if isinstance(value, str):
        number = _as_number(value) if name in _NUMBERS else None
        if number is not None:
            return _read_rule(name, number)
        match = re.fullmatch(r"\s*(\w+)\s*(?:\((.*)\))?\s*", value)
        word = match[1].lower() if match else word
        if match and word in by_name:
            return _make_rule(by_name[word], match[2] or "", value)
    choices = [repr(one) for one in by_name] + (
        [_NUMBERS[name]] if name in _NUMBERS else []
    )
    close = get_close_matches(word, by_name, n=1)
    hint = f": did you mean {close[0]!r}?" if close else ""
    listed = ", ".join(choices[:-1]) + f" or {choices[-1]}"
    raise InputError(f"{name} must be {listed}, got {value!r}{hint}")


def _make_rule(kind: type, arguments: str, text: str) -> Any:
    """Read arguments such as "folds=8, penalties=30": names and numbers only."""
    known = [one.name for one in fields(kind)]
    given: dict[str, Any] = {}
    for part in arguments.split(",") if arguments.strip() else ():
        match = re.fullmatch(r"\s*(\w+)\s*=\s*([-+.\w]+)\s*", part)
        number = _as_number(match[2]) if match else None
        if match is None or number is None or match[1] in given:
            raise InputError(
                f"{text!r} cannot be read: write parameters as name=number, such as "
                f"{rule_text(kind())!r}"
            )
        given[match[1]] = number
    for name in given:
        if name not in known:
            takes = f"it takes {', '.join(known)}" if known else "it takes none"
            close = get_close_matches(name, known, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise InputError(
                f"{text!r} has an unknown parameter {name!r}: {takes}{hint}"
            )
    return kind(**given)


def _as_number(text: str) -> int | float | None:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return None


def _is_number(value: Any, kind: type) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


def _set_whole(rule: Any, name: str, low: int) -> None:
    """Check a whole number, and store it as a Python int."""
    value = getattr(rule, name)
    if not (_is_number(value, Integral) and value >= low):
        raise InputError(
            f"{name} must be a whole number of at least {low}, got {value!r}"
        )
    object.__setattr__(rule, name, int(value))


def _set_share(rule: Any, name: str) -> None:
    object.__setattr__(rule, name, _share(name, getattr(rule, name)))


def _share(name: str, value: Any) -> float:
    if not (_is_number(value, Real) and 0.0 < value < 1.0):
        raise InputError(f"{name} must be a number between 0 and 1, got {value!r}")
    return float(value)


def _set_splits(rule: Tested | Fdr) -> None:
    _set_whole(rule, "splits", 1)
    if rule.splits > MOST_SPLITS:
        raise InputError(f"splits must be at most {MOST_SPLITS}, got {rule.splits}")


def _set_grid(rule: Moments | HoldOut) -> None:
    _set_whole(rule, "penalties", 1)
    _set_share(rule, "min_ratio")
