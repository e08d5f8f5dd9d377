"""What the method assumes, and what the checks of a fit said about it."""

from dataclasses import dataclass

from fedsdr.result import Result

#: Outcome of a check that was not made.
NOT_MADE = "not checked"

#: What warnings of other kinds speak against.
OTHER = "Nothing else is unusual."


@dataclass(frozen=True, slots=True)
class Check:
    """One assumption and what is known about it.

    Parameters
    ----------
    assumption : str
        What the method assumes, in words.
    passed : bool or None
        Whether nothing speaks against it; None if that was not checked.
    said : str
        What the check said, or that it said nothing.
    """

    assumption: str
    passed: bool | None
    said: str


_SIGNAL = "There is something to find: the first combination is more than noise."
_LINES = (
    "Variables move together along straight lines, not along curves, so that a "
    "combination stands for the variables in it."
)
_SKEWED = (
    "No selected variable is so skewed that a curve of it looks like a further "
    "combination."
)
_MONOTONE = (
    "The response rises or falls along a combination. A response that is highest at "
    "both ends, or in the middle, is not seen."
)
_SAME = "All sites follow the same combinations, in the same units."
_ALIKE = (
    "The selected variables vary together alike at all sites. The default method does "
    "not need this; others do."
)

#: Class of the warning that each check gives, and the assumption that it is about.
ASSUMPTIONS = {
    "WeakSignalWarning": _SIGNAL,
    "CurvatureWarning": _LINES,
    "SkewnessWarning": _SKEWED,
    "SymmetryWarning": _MONOTONE,
    "DisagreementWarning": _SAME,
    "CovarianceWarning": _ALIKE,
    "DimensionLimitWarning": "All combinations were considered.",
    "ConvergenceWarning": "The problem that selects variables was solved.",
}

#: Checks of the second stage, in which every site looks at its own rows.
BY_SITE = frozenset(
    {
        "CurvatureWarning",
        "SkewnessWarning",
        "SymmetryWarning",
        "DisagreementWarning",
        "CovarianceWarning",
    }
)

#: Checks that compare sites.
BETWEEN = frozenset({"DisagreementWarning", "CovarianceWarning"})


def read_checks(result: Result) -> list[Check]:
    """Say for each assumption what the checks of a fit found.

    Parameters
    ----------
    result : Result
        Result.

    Returns
    -------
    list of Check
        One per assumption, then one per warning of another kind.
    """
    given: dict[str, list[str]] = {}
    for kind, text in result.warnings:
        given.setdefault(kind, []).append(text)
    if result.weak:
        given.setdefault("WeakSignalWarning", ["even the first cannot be told from it"])
    if result.gap is not None and not result.converged:
        text = f"proved within {result.gap:.1e} of the optimum only"
        given.setdefault("ConvergenceWarning", [text])
    found = [
        _judge(result, assumption, kind, given.pop(kind, []))
        for kind, assumption in ASSUMPTIONS.items()
    ]
    rest = [text for texts in given.values() for text in texts]
    return [*found, *(Check(OTHER, passed=False, said=text) for text in rest)]


def _judge(result: Result, assumption: str, kind: str, texts: list[str]) -> Check:
    if texts:
        return Check(assumption, passed=False, said="; ".join(texts))
    second_stage = any(row["step"] == "sites" for row in result.validation)
    if kind in BY_SITE and not second_stage:
        return Check(assumption, None, "needs the second stage, which was not run")
    if kind in BETWEEN and result.n_sites < 2:
        return Check(assumption, None, "there is one site")
    if kind == "ConvergenceWarning" and result.gap is None:
        return Check(assumption, None, "this protocol has no certificate")
    return Check(assumption, passed=True, said="nothing speaks against it")
