"""The ``[privacy]`` table of a study file: differential privacy of its one sum."""

import math
from collections.abc import Mapping

from pydantic import BaseModel, Field

from fedsdr.exceptions import InputError
from fedsdr.method import Privacy
from fedsdr.study.study_columns import FROZEN, Covariate, Target, Variable


class PrivacyTable(BaseModel):
    """What a study promises to every row.

    Parameters
    ----------
    epsilon : float
        Bound of the privacy loss.
    delta : float
        Probability of a larger loss.
    radius : float, default=0.3
        Length at which rows are shortened, see `fedsdr.method.Privacy`.
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
        every: dict[str, Variable] = {**columns, target.name: target}
        open_ended = [
            f"'{name}'"
            for name, one in every.items()
            if one.type == "number" and not _is_closed(one)
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
            response=target.range,
            classes=target.levels,
        )


def _is_closed(variable: Variable) -> bool:
    return variable.range is not None and all(map(math.isfinite, variable.range))
