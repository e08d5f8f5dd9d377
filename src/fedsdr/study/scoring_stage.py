"""How well a study's model predicts: everything is fitted again without each fold."""

from dataclasses import replace

from fedsdr.arrays import Vector
from fedsdr.choices import Auto
from fedsdr.exceptions import InputError, UnscoredWarning, quietly, warn_user
from fedsdr.method import Method
from fedsdr.prediction import Measures, fit_additive
from fedsdr.protocols.secure import SecureSite
from fedsdr.questions import Asking, HeldOutOf, NewtonOf
from fedsdr.result import Result
from fedsdr.rows.folds import ScoreFold
from fedsdr.run import Afterwards, Gathered, fit_again
from fedsdr.scored_folds import EVALUATION, ScoredFolds
from fedsdr.study.prediction_stage import prepared_axes
from fedsdr.summaries.families import Family
from fedsdr.telling import tell
from fedsdr.terms import Terms


def scores_afterwards(terms: Terms, method: Method) -> Afterwards | None:
    """Return the stage, if a study agreed that predictions are scored.

    Parameters
    ----------
    terms : Terms
        Terms that all parties agreed on.
    method : Method
        Parameters of the fit.

    Returns
    -------
    callable or None
        Stage for `fedsdr.run.run`. For each fold it selects, estimates and fits the
        model without the fold; then it asks how well these models predict the rows
        that they have not seen.
    """
    n_folds = terms.score_folds
    if not n_folds:
        return None
    plain = _without_tests(method)

    def stage(gathered: Gathered, result: Result) -> Asking[Result]:
        if result.found_nothing:
            return result
        models = []
        for number in range(1, n_folds + 1):
            tell(f"fitting without fold {number} of {n_folds}")
            fold = ScoreFold(number, n_folds)
            try:
                models.append((yield from _quiet(_fit(gathered, plain, terms, fold))))
            except InputError as error:
                warn_user(
                    f"predictions were not scored: without fold {number} {error}",
                    UnscoredWarning,
                )
                return result
        settings = gathered.frame.settings
        sums = yield HeldOutOf(terms, tuple(models), settings)
        return with_scores(result, sums, terms)

    return stage


def with_scores(result: Result, sums: Vector, terms: Terms) -> Result:
    """Write cross-validated scores into a result.

    Parameters
    ----------
    result : Result
        The reduction of all rows.
    sums : ndarray
        Sum of `HeldOutOf`.
    terms : Terms
        Terms that all parties agreed on.

    Returns
    -------
    Result
        With the scores of all rows together.
    """
    assert terms.model is not None
    found, classes = Measures(sums), terms.model.family == "logistic"
    table = found.calibration().itertuples(index=False) if classes else ()
    scored = ScoredFolds(
        terms.score_folds,
        found.n_rows,
        found.r2,
        found.mse,
        found.log_loss if classes else None,
        found.auc if classes else None,
        tuple((int(n), float(p), float(o)) for n, p, o in table),
    )
    settings = {**result.settings, EVALUATION: scored.to_mapping()}
    return replace(result, settings=settings)


def with_own_scores(result: Result, party: SecureSite, terms: Terms) -> Result:
    """Add the scores that a site has computed itself, from the sum that it opened.

    Parameters
    ----------
    result : Result
        Result that the coordinator has published.
    party : SecureSite
        The site.
    terms : Terms
        Terms that it agreed to.

    Returns
    -------
    Result
        With the scores, if the site has opened their sum.
    """
    return result if party.scored is None else with_scores(result, party.scored, terms)


def _without_tests(method: Method) -> Method:
    """Return the method of a fold, which always has a direction to predict from."""
    rule = method.n_directions
    if isinstance(rule, Auto):
        rule = replace(rule, min_directions=1)
    return replace(method, select="criteria", n_directions=rule)


def _fit(
    gathered: Gathered, method: Method, terms: Terms, fold: ScoreFold
) -> Asking[NewtonOf]:
    """Select, estimate and fit the model without a fold."""
    model, settings = terms.model, replace(gathered.frame.settings, fold=fold)
    assert model is not None
    again, reduced = yield from fit_again(gathered.variables, method, settings)
    axes = prepared_axes(again, reduced, terms)
    fit = yield from fit_additive(axes, Family(model.family), model.own)
    return fit.question


def _quiet(asking: Asking[NewtonOf]) -> Asking[NewtonOf]:
    """Go through a fit without its warnings: those of the whole fit are shown."""
    answer = None
    while True:
        with quietly():
            try:
                question = asking.send(answer)
            except StopIteration as end:
                found: NewtonOf = end.value
                return found
        answer = yield question
