"""Whether a site agrees with a published result: for its own steward."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fedsdr.arrays import Matrix, Vector
from fedsdr.exceptions import InputError
from fedsdr.fit_summary import describe_needs
from fedsdr.questions import Index
from fedsdr.result import Result
from fedsdr.rows import Rows
from fedsdr.study.site_data import SiteData
from fedsdr.study.site_file import SiteFile, read_site
from fedsdr.study.study_file import StudyFile
from fedsdr.summaries.column_checks import LEVELS, CloserTest, closer_tests
from fedsdr.summaries.profile import response_functions

#: Level at which a site disagrees; variables have it together.
LEVEL = LEVELS[0]
# Level at which sites have no common span, and correlation with the first direction
# below which a site is then one of those with another one.
DIFFERENT, FAR = 0.05, 0.7


@dataclass(frozen=True, slots=True, eq=False)
class StewardView:
    """What the rows of a site say about a result; it stays at the site.

    Parameters
    ----------
    site : str
        Name of the site.
    n_rows : int
        Number of its rows.
    result : Result
        The published result.
    columns : tuple of str
        Selected variables.
    tests : tuple of (CloserTest or None)
        Tests of the first 1, ..., K directions.
    """

    site: str
    n_rows: int
    result: Result
    columns: tuple[str, ...]
    tests: tuple[CloserTest | None, ...]

    @property
    def needs(self) -> int | None:
        """Directions that the site needs, K + 1 for others too; None if not tested."""
        if all(test is None for test in self.tests):
            return None
        for k, test in enumerate(self.tests, 1):
            if test is None or test.p_value > LEVEL:
                return k
        return len(self.tests) + 1

    @property
    def usual(self) -> int:
        """Directions that most sites need; all of them if the result does not say."""
        counts = self.result.agreement.get("needs", ())
        if not counts:
            return len(self.tests)
        return int(len(counts) - np.argmax(np.array(counts)[::-1]))

    @property
    def silent(self) -> bool:
        """Whether y does not go with the directions here."""
        last = self.tests[-1]
        return last is not None and last.inside > 0.05

    @property
    def agrees(self) -> bool | None:
        """Whether the site agrees with the result; None if that cannot be said."""
        if self.needs is None:
            return None
        return self.needs <= self.usual and not self.silent and not self.elsewhere

    @property
    def elsewhere(self) -> bool:
        """Whether sites have no common span, and this one not that of most of them."""
        last = self.tests[-1]
        differ = self.result.agreement.get("p_value", 1.0) < DIFFERENT
        return differ and last is not None and last.leading < FAR

    @property
    def differing(self) -> dict[str, float]:
        """Variables in which the site differs, with their p-values."""
        place = 1 if self.elsewhere else min(self.usual, len(self.tests))
        test = self.tests[place - 1]
        if test is None or self.agrees or self.silent:
            return {}
        order = np.argsort(test.variables, kind="stable")
        limit = LEVEL / len(self.columns)
        return {
            self.columns[j]: float(test.variables[j])
            for j in order.tolist()
            if test.variables[j] < limit
        }

    def verdict(self) -> str:
        """Say in one sentence whether the site agrees.

        Returns
        -------
        str
            A sentence.
        """
        if self.agrees is None:
            return (
                "It cannot be said whether your site agrees: it has too few rows for "
                "the selected variables, or there is nothing beside the directions."
            )
        if self.silent:
            return (
                "Your site disagrees: y does not go with the published directions in "
                "your rows. Check that responses belong to their rows."
            )
        if self.agrees:
            return "Your site agrees with the result."
        names = ", ".join(self.differing)
        where = f", most clearly in {names}" if names else ""
        return (
            "Your site disagrees: in your rows y depends on a combination that most "
            f"sites do not have{where}."
        )

    def facts(self) -> list[tuple[str, str]]:
        """List what the verdict rests on.

        Returns
        -------
        list of (str, str)
            Name and value.
        """
        found = [
            ("site", f"{self.site}, {self.n_rows} rows"),
            ("variables", ", ".join(self.columns)),
        ]
        for k, test in enumerate(self.tests, 1):
            if test is not None:
                words = f"first {k} direction{'s' if k > 1 else ''}"
                found.append((f"beside the {words}", f"p = {test.p_value:.2g}"))
        last = self.tests[-1]
        if last is not None:
            found.append(("along the directions", f"p = {last.inside:.2g}"))
            own = f"correlation {last.leading:.2f}"
            found.append(("your best combination and direction 1", own))
        if self.needs is not None:
            many = str(self.needs) if self.needs <= len(self.tests) else "others"
            found.append(("your site needs", many))
        if self.result.agreement:
            found.append(("sites need", describe_needs(self.result.agreement["needs"])))
            p_value = self.result.agreement["p_value"]
            found.append(("one span for all", f"p = {p_value:.2g}"))
        return found


def view_result(
    site_file: str | Path, result_file: str | Path | None = None
) -> StewardView:
    """Compare a site's rows with a result, without sending anything.

    Parameters
    ----------
    site_file : str or Path
        The site's ``site.toml``.
    result_file : str or Path, optional
        The result; the one that the coordinator has sent, if not given.

    Returns
    -------
    StewardView
        What the rows say. An `InputError` is raised if the result is of other columns.
    """
    site = read_site(site_file)
    study = site.read_study()
    path = site.at(site.result) if result_file is None else Path(result_file)
    result = Result.from_json(path)
    if result.feature_names != study.features:
        raise InputError(
            f"{path} is a result of other columns than the study of {site.file.name}: "
            "give the result of this study"
        )
    chosen = np.flatnonzero(result.directions.any(axis=1))
    if not chosen.size:
        raise InputError(f"{path} has no direction that a site could agree with")
    rows = _prepared_rows(site, study, result)
    scale = result.scale[chosen]
    return StewardView(
        site.name,
        rows.n_rows,
        result,
        tuple(result.feature_names[j] for j in chosen),
        tuple(_tests(study, rows, chosen, result.directions[chosen], scale)),
    )


def _prepared_rows(site: SiteFile, study: StudyFile, result: Result) -> Rows:
    """Read the rows, with gaps filled and columns scored as for the result."""
    rows = SiteData(site, study).rows(np.random.default_rng(0))
    filled = result.settings.get("preprocessing", {}).get("filled_with", {})
    if filled:
        places = [study.features.index(name) for name in filled]
        rows.fill(places, np.array(list(filled.values()), dtype=np.float64))
    rows.score(result.scores)
    return rows


def _tests(
    study: StudyFile, rows: Rows, chosen: Index, directions: Matrix, scale: Vector
) -> list[CloserTest | None]:
    terms = study.to_study().terms
    functions = response_functions(rows.weights_again(terms))
    if functions is None:
        return [None] * directions.shape[1]
    return closer_tests(
        lambda: rows.batches(chosen, scale, functions), scale[:, None] * directions
    )
