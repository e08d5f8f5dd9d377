"""The ``[model]`` table of a study file: a method, and a seed."""

from dataclasses import fields
from functools import partial
from typing import Annotated, Any

from pydantic import (
    BeforeValidator,
    Field,
    StrictInt,
    create_model,
    model_serializer,
    model_validator,
)

from fedsdr.exceptions import InputError
from fedsdr.method import FORMER, Method, read_parameter
from fedsdr.study.study_columns import FROZEN


def _read(name: str, value: Any) -> Any:
    """Read a parameter; its name is removed, since messages start with the key."""
    try:
        return read_parameter(name, value)
    except InputError as error:
        raise ValueError(str(error).removeprefix(f"{name} ")) from error


#: Parameters of a method that are in a table of a study file; privacy has its own.
NAMES = tuple(one.name for one in fields(Method) if one.name != "privacy")

_Parameters = create_model(  # type: ignore[call-overload]
    "_Parameters",
    __config__=FROZEN,
    **{
        one.name: (
            Annotated[Any, BeforeValidator(partial(_read, one.name))],
            one.default,
        )
        for one in fields(Method)
        if one.name in NAMES
    },
)


class ModelSettings(_Parameters):  # type: ignore[misc, valid-type]
    """Parameters of `fedsdr.FedSSIR`, with the same names, defaults and checks.

    Parameters
    ----------
    n_directions, penalty, kernel, refit, standardize, tol, scores, response : object
        Parameters of the method, see `fedsdr.method.Method`.
    dense_limit, max_seconds : object
        Further ones, for many columns.
    select : object
        "criteria", "tested" or "fdr": whether variables are tested on halves of the
        rows. The halves are formed by each site, from a secret of its own.
    seed : int, default=0
        Seed of the draw that decides ties between votes. Folds are drawn by each site,
        from a secret of its own.
    """

    seed: StrictInt = Field(default=0, ge=0)

    @property
    def method(self) -> Method:
        """The method that the study agreed on."""
        return Method(**{name: getattr(self, name) for name in NAMES})

    @model_validator(mode="before")
    @classmethod
    def _refuse_former_names(cls, table: Any) -> Any:
        former = [name for name in FORMER if isinstance(table, dict) and name in table]
        said = []
        for name in former:
            where, inside, kinds = FORMER[name]
            words = [kind.lower() for kind in kinds]
            used = str(table.get(where)).partition("(")[0].strip().lower()
            word = used if used in words else words[0]
            now = f'{where} = "{word}({inside}={table[name]!r})"'
            said.append(f"'{name}' is now part of {where}: write {now}")
        if said:
            raise ValueError("; ".join(said))
        return table

    @model_serializer
    def _plain(self) -> dict[str, Any]:
        return {**self.method.settings(), "seed": self.seed}
