"""Stages of a study after the directions are known, in their order."""

from fedsdr.method import Method
from fedsdr.prediction.model_file import FIELD as MODEL
from fedsdr.questions import Asking
from fedsdr.result import Result
from fedsdr.run import Afterwards, Gathered
from fedsdr.scored_folds import EVALUATION
from fedsdr.study.picture_stage import FIELD as PICTURES
from fedsdr.study.picture_stage import pictures_afterwards
from fedsdr.study.prediction_stage import prediction_afterwards
from fedsdr.study.scoring_stage import scores_afterwards
from fedsdr.summaries.spline_basis import EFFECTS
from fedsdr.terms import Terms

#: Where a result has what they found.
FIELDS = (PICTURES, MODEL, EFFECTS, EVALUATION)


def later_stages(terms: Terms, method: Method) -> Afterwards | None:
    """Join the stages that a study agreed on.

    Parameters
    ----------
    terms : Terms
        Terms that all parties agreed on.
    method : Method
        Parameters of the fit.

    Returns
    -------
    callable or None
        Stage for `fedsdr.run.run`; None if there is none.
    """
    made = (
        pictures_afterwards(terms),
        prediction_afterwards(terms),
        scores_afterwards(terms, method),
    )
    stages = [stage for stage in made if stage is not None]
    if not stages:
        return None

    def joined(gathered: Gathered, result: Result) -> Asking[Result]:
        for stage in stages:
            result = yield from stage(gathered, result)
        return result

    return joined
