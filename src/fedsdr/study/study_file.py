"""``study.toml``: what is studied, by whom and how, in words that people agree on."""

import hashlib
import math
import re
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    Field,
    StrictInt,
    model_validator,
)

from fedsdr.disclosure.releases import canonical
from fedsdr.exceptions import InputError
from fedsdr.method import Variables
from fedsdr.protocols.secure import AgreedStudy
from fedsdr.secure_sum.identity import KEY_BYTES
from fedsdr.study.checked_files import read_model
from fedsdr.study.model import ModelSettings
from fedsdr.study.study_columns import FROZEN, Covariate, Missing, Target

#: Names of parties that are not sites.
RESERVED = ("coordinator", "server")

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}")


def _check_name(value: str) -> str:
    if not _NAME.fullmatch(value):
        raise ValueError("must be made of letters, digits, - and _, 63 at most")
    return value


def _check_roster(value: dict[str, str]) -> dict[str, str]:
    if not value:
        raise ValueError(
            "has no sites: add the line that 'fedsdr keygen' wrote into the .pub file "
            "of each, 3 at least"
        )
    for name, key in value.items():
        if not _NAME.fullmatch(name) or name in RESERVED:
            raise ValueError(
                f"a site cannot be called '{name}': use letters, digits, - and _, and "
                f"neither of {', '.join(RESERVED)}"
            )
        if not re.fullmatch(f"[0-9a-f]{{{2 * KEY_BYTES}}}", key):
            raise ValueError(
                f"the key of '{name}' is not one: it has {2 * KEY_BYTES} hexadecimal "
                "digits, printed by 'fedsdr keygen' at the site"
            )
    if len(set(value.values())) < len(value):
        raise ValueError("two sites have the same key: each makes its own")
    return value


Name = Annotated[str, AfterValidator(_check_name)]


class Sites(BaseModel):
    """Who takes part.

    Parameters
    ----------
    roster : dict of str to str
        Public identity of every site, in hexadecimal, as ``fedsdr keygen`` prints it.
    minimum : int or None, default=None
        Sites that must stay to the end; two thirds of them, and at least 3, if not
        given.
    """

    model_config = FROZEN

    roster: Annotated[dict[str, str], AfterValidator(_check_roster)]
    minimum: StrictInt | None = None


class StudyFile(BaseModel):
    """A study, as all parties have it in a file.

    Parameters
    ----------
    name : str
        Of the study.
    purpose : str
        What it is for, in words that a steward can decide on.
    protocol : {"secure"}, default="secure"
        How sites add.
    timeout : float, default=600.0
        Seconds a site may take for an answer.
    missing : {"refuse", "drop", "mean"}, default="refuse"
        What is done about missing values in columns that do not say so themselves.
    target : Target
        The response.
    columns : dict of str to Covariate
        Columns of X, in order.
    model : ModelSettings
        How the coordinator chooses.
    sites : Sites
        Who takes part.
    """

    model_config = FROZEN

    name: Name
    purpose: str = Field(min_length=1, max_length=2000)
    protocol: Literal["secure"] = "secure"
    timeout: float = Field(default=600.0, gt=0.0, allow_inf_nan=False)
    missing: Missing = "refuse"
    target: Target
    columns: dict[str, Covariate] = Field(min_length=1)
    model: ModelSettings = ModelSettings()
    sites: Sites

    @model_validator(mode="after")
    def _check_study(self) -> Self:
        for name in (self.target.name, *self.columns):
            if not name.strip() or name != name.strip() or not name.isprintable():
                raise InputError(
                    f"a column cannot be called {name!r}: no blanks around it, and "
                    "nothing that cannot be printed"
                )
        if self.target.name in self.columns:
            raise InputError(
                f"'{self.target.name}' is the target and cannot be a column too"
            )
        if len(set(self.features)) < len(self.features):
            raise InputError(
                "a column has the name of another one's indicator ('column=level'): "
                "rename it"
            )
        # Says what is wrong with the roster and the minimum.
        self.to_study().agreement()
        return self

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the columns that sites compute with, indicators included."""
        return tuple(feature for feature, _ in self._features())

    @property
    def imputed(self) -> tuple[str, ...]:
        """Columns whose gaps are filled with the mean over all sites."""
        return tuple(n for n in self.columns if self.missing_in(n) == "mean")

    @property
    def digest(self) -> str:
        """SHA-256 of all that was agreed on, in hexadecimal."""
        return self.to_study().digest

    def missing_in(self, name: str) -> Missing:
        """Say what is done about missing values.

        Parameters
        ----------
        name : str
            A column, or the target.

        Returns
        -------
        {"refuse", "drop", "mean"}
            What the column says, or else the study; a mean is filled into numbers
            of X only, and gaps elsewhere are then refused.
        """
        column = self.target if name == self.target.name else self.columns[name]
        if column.missing is not None:
            return column.missing
        fillable = column.type == "number" and column is not self.target
        return self.missing if fillable or self.missing != "mean" else "refuse"

    def to_study(self) -> AgreedStudy:
        """Reduce the file to what the protocol needs.

        Returns
        -------
        AgreedStudy
            Whose digest covers everything in the file but comments and layout.
        """
        plain = {key: value for key, value in self.content().items() if key != "sites"}
        variables = Variables(self.features, self.target.type == "category")
        return AgreedStudy(
            self.name,
            self.features,
            self.target.name,
            self.model.method.terms(variables),
            {name: bytes.fromhex(key) for name, key in self.sites.roster.items()},
            self.sites.minimum,
            units=tuple(unit for _, unit in self._features()),
            imputed=self.imputed,
            details=hashlib.sha256(canonical(plain)).hexdigest(),
        )

    def content(self) -> dict[str, Any]:
        """Write everything as plain values.

        Returns
        -------
        dict
            That JSON can hold, with open ends of ranges as text.
        """
        return _plain(self.model_dump())

    def settings(self) -> dict[str, Any]:
        """Say how a result of this study was made.

        Returns
        -------
        dict
            Parameters of the estimator, the study's digest, and what sites did to
            their columns first.
        """
        content = self.content()
        columns = {
            name: {**content["columns"][name], "missing": self.missing_in(name)}
            for name in self.columns
        }
        target = {**content["target"], "missing": self.missing_in(self.target.name)}
        return {
            "estimator": "FedSSIR",
            **content["model"],
            "protocol": self.protocol,
            "study": {
                "name": self.name,
                "purpose": self.purpose,
                "digest": self.digest,
            },
            "preprocessing": {"columns": columns, "target": target},
        }

    def _features(self) -> list[tuple[str, str]]:
        found: list[tuple[str, str]] = []
        for name, column in self.columns.items():
            if column.type == "number":
                found.append((name, column.unit))
            else:
                found += [(f"{name}={level}", "") for level in column.indicators]
        return found


def read_study(path: str | Path) -> StudyFile:
    """Read and validate a study file.

    Parameters
    ----------
    path : str or Path
        TOML.

    Returns
    -------
    StudyFile
        A `CheckError` says of every key that is wrong what to do about it.
    """
    return read_model(StudyFile, Path(path))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
