"""Terms by which every site computes its sums, and what must be known before."""

from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from fedsdr.choices import rule_text
from fedsdr.privacy.privacy_value import Privacy
from fedsdr.summaries.rank_functions import MAX_DEGREE
from fedsdr.summaries.slicing import Kernel, Smooth

#: Largest number of profiles of the second stage, in all and for one direction.
MOST_PROFILES, MOST_STEPS = 40, 6

#: Columns that are candidates for the selection at first, where there are many, and
#: columns at most that become candidates or are asked for.
N_CANDIDATES, MOST_COLUMNS = 200, 300

#: Times that sums of candidates, and of columns, may be asked for; so many columns at a
#: time that they are at most `MOST_COLUMNS` in all.
MOST_BLOCKS, MOST_ASKED = 3, 12


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
class AgreedModel:
    """A model of y on the reduced variables that sites agreed to fit together.

    Parameters
    ----------
    family : {"linear", "logistic", "poisson"}
        Distribution of y.
    own : {"nothing", "intercepts"}
        What sites have of their own, which they keep.
    group_rows : int
        Fewest rows of a group. A site computes with means of groups, so that no answer
        depends on where a single row is.
    folds : int, default=0
        Folds of every site's rows by which predictions are scored: everything is fitted
        again without each of them. 0 if they are not scored.
    """

    family: str
    own: str
    group_rows: int
    folds: int = 0

    def to_payload(self) -> dict[str, Any]:
        """Write the model as plain values.

        Returns
        -------
        dict
            Value of each parameter by its name.
        """
        plain = asdict(self)
        # Absent without it: studies keep their digests.
        if not self.folds:
            del plain["folds"]
        return plain


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
    model : AgreedModel or None, default=None
        The model that a study agreed on. Sites then follow its steps themselves.
    picture_rows : int, default=0
        Fewest rows of every site in a cell of a picture; 0 for no pictures.
    classes : tuple of str, default=()
        Names of all classes, for pictures and for a model of two classes.
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
    model: AgreedModel | None = None
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
        halves = [half_name(half) for half in range(2 * self.n_splits)]
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
    def score_folds(self) -> int:
        """Number of folds by which predictions are scored; 0 for no scores."""
        return 0 if self.model is None else self.model.folds

    @property
    def outside_folds(self) -> "Terms":
        """Terms of the fits without a fold, which test no variables."""
        return replace(self, n_splits=0)

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
            steps, and for axes that are far from zero, unless a study agreed on the
            model: there sites answer for one set of axes.
        """
        several = {
            "profile": self.max_profiles,
            "block": MOST_BLOCKS,
            "columns": MOST_ASKED,
            "axes": 2 if self.model is None else 1,
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
        model = plain.pop("model")
        if model is not None:
            plain["model"] = model.to_payload()
        classes = plain.pop("classes")
        if classes:
            plain["classes"] = list(classes)
        return {**plain, "kernel": rule_text(self.kernel)}


def half_name(number: int) -> str:
    """Return the name of a half of the rows.

    Parameters
    ----------
    number : int
        Number of the half, 2 b or 2 b + 1 for the two halves of split b.

    Returns
    -------
    str
        Name of the part.
    """
    return f"half:{number}"
