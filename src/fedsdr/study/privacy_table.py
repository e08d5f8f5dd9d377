"""The ``[privacy]`` table of a study file: differential privacy of its one sum."""

import math
from collections.abc import Mapping

from pydantic import BaseModel, Field

from fedsdr.exceptions import InputError
from fedsdr.preparation import ColumnPlan
from fedsdr.privacy.privacy_value import Privacy
from fedsdr.study.study_columns import FROZEN, Covariate, Target


class PrivacyTable(BaseModel):
    """What a study promises to every row.

    Parameters
    ----------
    epsilon : float
        Bound of the privacy loss.
    delta : float
        Probability of a larger loss.
    radius : float, default=0.3
        Length at which rows are shortened, see `fedsdr.Privacy`.
    """

    model_config = FROZEN

    epsilon: float = Field(gt=0.0, allow_inf_nan=False)
    delta: float = Field(gt=0.0, lt=1.0)
    radius: float = Field(default=0.3, gt=0.0, le=1.0)

    def for_columns(self, columns: Mapping[str, Covariate], target: Target) -> Privacy:
        """Combine the promise with the declared ranges.

        Parameters
        ----------
        columns : mapping of str to Covariate
            Columns of the study.
        target : Target
            The response.

        Returns
        -------
        Privacy
            Parameter of the method. An `InputError` names columns without a range.
        """
        plans = [column.plan(name) for name, column in columns.items()]
        open_ended = [
            f"'{plan.name}'"
            for plan in (*plans, target.plan(target.name))
            if plan.type in ("number", "date") and not _is_closed(plan)
        ]
        if open_ended:
            raise InputError(
                "[privacy] needs a range with two finite ends for every number, since "
                f"it bounds what one row can add: declare range for "
                f"{', '.join(open_ended)}"
            )
        return Privacy(
            epsilon=self.epsilon,
            delta=self.delta,
            radius=self.radius,
            ranges=tuple(r for column in columns.values() for r in column.ranges),
            response=target.plan(target.name).feature_range,
            classes=target.classes,
        )


def _is_closed(plan: ColumnPlan) -> bool:
    ends = plan.feature_range
    return ends is not None and all(map(math.isfinite, ends))
