"""``study.toml``: the agreement of all sites on columns, model and participants."""

import hashlib
import math
import re
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import (
    AfterValidator,
    BaseModel,
    Field,
    StrictInt,
    model_validator,
)

from fedsdr.choices import HoldOut, Moments
from fedsdr.disclosure.releases import canonical
from fedsdr.exceptions import InputError
from fedsdr.method import Method, response_type
from fedsdr.preparation import ColumnPlan
from fedsdr.protocols.secure import AgreedStudy
from fedsdr.secure_sum.identity import KEY_BYTES
from fedsdr.spoken import LONGEST, is_name, is_site_name
from fedsdr.study.checked_files import read_model
from fedsdr.study.model import ModelSettings
from fedsdr.study.prediction_table import PredictionTable
from fedsdr.study.privacy_table import PrivacyTable
from fedsdr.study.study_columns import FILLING, FROZEN, Covariate, Missing, Target
from fedsdr.summaries.safe_bins import FEWEST_ROWS
from fedsdr.terms import Terms, Variables

#: Names of parties that are not sites.
RESERVED = ("coordinator", "server")


def _check_name(value: str) -> str:
    if not is_name(value):
        raise ValueError(f"must consist of at most {LONGEST} letters, digits, - and _")
    return value


def _check_roster(value: dict[str, str]) -> dict[str, str]:
    if not value:
        raise ValueError(
            "has no sites: add the line in the .pub file that 'fedsdr keygen' wrote at "
            "each site, for at least 3 sites"
        )
    for name, key in value.items():
        if not is_site_name(name) or name.lower() in RESERVED:
            raise ValueError(
                f"a site cannot be called {name!r}: use letters, digits and blanks, at "
                f"most {LONGEST}, and neither of {', '.join(RESERVED)}"
            )
        if not re.fullmatch(f"[0-9a-f]{{{2 * KEY_BYTES}}}", key):
            raise ValueError(
                f"the key of '{name}' is not valid: a key has {2 * KEY_BYTES} "
                "hexadecimal digits, printed by 'fedsdr keygen' at the site"
            )
    if len(set(value.values())) < len(value):
        raise ValueError("two sites have the same key: every site needs its own")
    return value


def _check_site_name(value: str) -> str:
    if not is_site_name(value):
        raise ValueError(f"must be at most {LONGEST} letters, digits and blanks")
    return value


Name = Annotated[str, AfterValidator(_check_name)]
SiteName = Annotated[str, AfterValidator(_check_site_name)]


class Sites(BaseModel):
    """The sites that take part in a study.

    Parameters
    ----------
    roster : dict of str to str
        Public identity of every site, in hexadecimal, as ``fedsdr keygen`` prints it.
    minimum : int or None, default=None
        Fewest sites over which a sum can be opened; two thirds of the sites, and at
        least 3, if None.
    required : {"all", "minimum"} or tuple of str, default="all"
        Sites that have to be in the result. If one of them does not agree, the study
        does not begin; with "minimum", any that many are enough. Whoever is in the
        first sum has to be in all others.
    joining : tuple of str, default=()
        Sites that the others have added these columns without, in an earlier study. The
        difference of both sums is their part, so each of them has to allow that.
    """

    model_config = FROZEN

    roster: Annotated[dict[str, str], AfterValidator(_check_roster)]
    minimum: StrictInt | None = None
    required: Literal["all", "minimum"] | tuple[str, ...] = "all"
    joining: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _check_joining(self) -> Self:
        unknown = sorted(set(self.joining) - set(self.roster))
        if unknown:
            raise ValueError(
                f"joining: the roster has no site '{unknown[0]}': use names of the "
                "roster"
            )
        return self

    @model_validator(mode="after")
    def _check_required(self) -> Self:
        if isinstance(self.required, tuple):
            unknown = sorted(set(self.required) - set(self.roster))
            if unknown:
                raise ValueError(
                    f"required: the roster has no site '{unknown[0]}': use names of "
                    'the roster, "all" or "minimum"'
                )
        return self

    @property
    def digest(self) -> str:
        """SHA-256 of names and keys, in hexadecimal: who takes part."""
        return hashlib.sha256(canonical(dict(self.roster))).hexdigest()

    def needed(self, sites: Iterable[str]) -> frozenset[str]:
        """Return the sites without which the study does not begin.

        Parameters
        ----------
        sites : iterable of str
            Sites that nobody has chosen to leave out.

        Returns
        -------
        frozenset of str
            Those that `required` names.
        """
        if self.required == "minimum":
            return frozenset()
        asked = frozenset(sites)
        return asked if self.required == "all" else asked.intersection(self.required)


class StudyFile(BaseModel):
    """The content of a study file, of which every party has a copy.

    Parameters
    ----------
    name : str
        Name of the study.
    purpose : str
        Purpose of the study, in words on which a data steward can decide.
    protocol : {"secure"}, default="secure"
        Protocol by which the sums of the sites are added.
    timeout : float, default=600.0
        Seconds that a site may take to answer a message.
    missing : {"refuse", "drop", "mean", "mean or drop"}, default="refuse"
        Treatment of missing values in columns that do not declare their own.
    target : Target
        The response.
    columns : dict of str to Covariate
        Columns of X, in order.
    model : ModelSettings
        Parameters of the method, and the coordinator's seed.
    privacy : PrivacyTable or None, default=None
        Differential privacy of the sums; None for exact sums.
    pictures : bool, default=False
        Whether sites also add the response in bins of each direction, without cells of
        fewer than 10 rows at any site, so that the result can be drawn.
    prediction : PredictionTable or None, default=None
        Model of y on the reduced variables that sites fit together; None for none.
    sites : Sites
        The sites that take part.
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
    privacy: PrivacyTable | None = None
    pictures: bool = False
    prediction: PredictionTable | None = None
    sites: Sites

    @model_validator(mode="after")
    def _check_study(self) -> Self:
        for name in (self.target.name, *self.columns):
            if not name.strip() or name != name.strip() or not name.isprintable():
                raise InputError(
                    f"a column cannot be called {name!r}: remove blanks around the "
                    "name and characters that cannot be printed"
                )
        if self.target.name in self.columns:
            raise InputError(
                f"'{self.target.name}' is the target and cannot be a column too"
            )
        self._check_expressions()
        if len(set(self.features)) < len(self.features):
            raise InputError(
                "a column has the name of another one's indicator ('column=level'): "
                "rename it"
            )
        if self.target.type != "number" and self.model.response == "ordered":
            raise InputError(
                "[model] response = 'ordered' needs a target of type 'number': levels "
                "of a category have no order"
            )
        asked = self.model.method.n_directions
        if isinstance(asked, int) and asked > len(self.features):
            raise InputError(
                f"[model] n_directions = {asked} is not possible: there are no more "
                f"directions than columns, {len(self.features)} with indicators"
            )
        if self.privacy is not None:
            self._check_private()
        if self.pictures:
            self._check_pictured()
        if self.prediction is not None and self.privacy is not None:
            raise InputError(
                "a study with [privacy] has one sum, with noise, and fits no model: "
                "remove [prediction] or [privacy]"
            )
        if self.prediction is not None and self.prediction.folds:
            self._check_scored()
        open_ended = [
            f"'{name}'"
            for name in self.imputed
            if not np.isfinite(self.columns[name].ranges).all()
        ]
        if open_ended:
            raise InputError(
                f"gaps of {', '.join(open_ended)} are filled with a mean, which sites "
                "compare with the range of the column: declare range = [lowest, "
                "highest] with two finite numbers, or use missing = 'refuse' or 'drop'"
            )
        # Raises an error if the roster or the minimum cannot be used.
        self.to_study().agreement()
        return self

    def _check_expressions(self) -> None:
        derived = {plan.name for plan in self.plans if plan.expression is not None}
        for plan in self.plans:
            inner = derived.intersection(plan.reads) if plan.expression else ()
            if inner:
                raise InputError(
                    f"the expression of '{plan.name}' reads '{min(inner)}', which is "
                    "derived itself: expressions read columns of the data only"
                )
        if not self.features:
            raise InputError("no column is used: all of them are ignored")

    def _check_private(self) -> None:
        if self.imputed:
            raise InputError(
                "[privacy] has no mean to fill gaps with, which would be a sum without "
                "noise: use missing = 'drop' or 'refuse'"
            )
        if self.discrete and self.target.type == "number":
            raise InputError(
                "[privacy] needs all classes of y beforehand: declare the target as a "
                "category with levels, or [model] response = 'ordered'"
            )

    def _check_scored(self) -> None:
        method = self.method
        if method.selects_by_tests or isinstance(method.penalty, Moments | HoldOut):
            raise InputError(
                "[prediction] folds needs [model] select = 'criteria' or 'tested', and "
                "a penalty that needs no parts of the rows, such as 'universal': parts "
                "of folds would be small"
            )

    def _check_pictured(self) -> None:
        if self.privacy is not None:
            raise InputError(
                "a study with [privacy] has one sum, with noise, and no pictures: "
                "remove pictures = true"
            )
        if self.discrete and self.target.type == "number":
            raise InputError(
                "pictures need all classes of y beforehand: declare the target as a "
                "category with levels, or remove pictures = true"
            )

    @property
    def method(self) -> Method:
        """The method that the study agreed on, with its promise of privacy."""
        method: Method = self.model.method
        if self.privacy is None:
            return method
        privacy = self.privacy.for_columns(self.columns, self.target)
        return replace(method, privacy=privacy)

    @cached_property
    def features(self) -> tuple[str, ...]:
        """Names of the columns that sites compute with, indicators included."""
        return tuple(feature for feature, _ in self._features())

    @property
    def imputed(self) -> tuple[str, ...]:
        """Columns whose gaps are filled with the mean over all sites."""
        return tuple(
            name
            for name, column in self.columns.items()
            if column.type != "ignored" and self.missing_in(name) in FILLING
        )

    @property
    def discrete(self) -> bool:
        """Whether each value of the response is a class by itself."""
        response = self.model.method.response
        if response == "auto":
            return self.target.type in ("category", "boolean")
        return bool(response == "classes")

    @property
    def digest(self) -> str:
        """SHA-256 of everything that was agreed on, in hexadecimal."""
        return self.to_study().digest

    def missing_in(self, name: str) -> Missing:
        """Return the treatment of missing values in one column.

        Parameters
        ----------
        name : str
            Name of a column, or of the target.

        Returns
        -------
        {"refuse", "drop", "mean", "mean or drop"}
            Treatment that the column declares, or else that of the study. Means are
            filled into numeric columns of X only; where the study declares that,
            gaps in other columns are refused.
        """
        column = self.target if name == self.target.name else self.columns[name]
        if column.missing is not None:
            return column.missing
        filled = column.type in ("number", "date")
        fillable = filled and column is not self.target
        return self.missing if fillable or self.missing not in FILLING else "refuse"

    def to_study(self) -> AgreedStudy:
        """Reduce the file to the values that the protocol needs.

        Returns
        -------
        AgreedStudy
            Study whose digest covers everything in the file except comments and layout.
        """
        return self._agreed

    @cached_property
    def _agreed(self) -> AgreedStudy:
        """The study as the protocol knows it; a file that was read does not change."""
        plain = {key: value for key, value in self.content().items() if key != "sites"}
        # Studies that need all sites keep the digests that they had before.
        if self.sites.required != "all":
            plain["required"] = _plain(self.sites.required)
        if self.sites.joining:
            plain["joining"] = sorted(self.sites.joining)
        variables = Variables(self.features, self.discrete)
        agreed = AgreedStudy(
            self.name,
            self.features,
            self.target.name,
            self.method.terms(variables),
            {name: bytes.fromhex(key) for name, key in self.sites.roster.items()},
            self.sites.minimum,
            units=tuple(unit for _, unit in self._features()),
            imputed=self.imputed,
            ranges=tuple(r for c in self.columns.values() for r in c.ranges),
            details=hashlib.sha256(canonical(plain)).hexdigest(),
            joining=self.sites.joining,
        )
        if self.privacy is None:
            return replace(agreed, terms=self._with_later_stages(agreed.terms))
        # Of the sites in a sum, those that collude know their own noise.
        secure = agreed.agreement()
        honest = secure.threshold - secure.tolerated
        return replace(agreed, terms=replace(agreed.terms, honest=honest))

    def _with_later_stages(self, terms: Terms) -> Terms:
        """Add what sites are asked once directions are known."""
        classes = self.target.classes if self.discrete else ()
        if self.pictures:
            terms = replace(terms, picture_rows=FEWEST_ROWS, classes=classes)
        if self.prediction is not None:
            model = self.prediction.for_response(self.target, discrete=self.discrete)
            steps = self.prediction.steps
            terms = replace(terms, max_steps=steps, model=model, classes=classes)
        return terms

    def content(self) -> dict[str, Any]:
        """Return everything in the file as plain values.

        Returns
        -------
        dict
            Values that JSON can hold, with infinite ends of ranges as text.
        """
        found = _plain(self.model_dump())
        # Studies without it keep the digests that they had before there was privacy.
        if self.privacy is None:
            del found["privacy"]
        if not self.pictures:
            del found["pictures"]
        if self.prediction is None:
            del found["prediction"]
        elif not self.prediction.folds:
            del found["prediction"]["folds"]
        return found

    def settings(self) -> dict[str, Any]:
        """Return the settings that a result of this study records.

        Returns
        -------
        dict
            Parameters of the estimator, the study's digest, and the preprocessing of
            the columns at the sites.
        """
        content = self.content()
        columns = {
            name: {**content["columns"][name], "missing": self.missing_in(name)}
            for name in self.columns
        }
        target = {**content["target"], "missing": self.missing_in(self.target.name)}
        private = {} if self.privacy is None else {"privacy": content["privacy"]}
        return {
            "estimator": "FedSSIR",
            **content["model"],
            **private,
            "response_type": response_type(discrete=self.discrete),
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
        for plan in self.plans[:-1]:
            unit = f"log({plan.unit})" if plan.log else plan.unit
            found += [(feature, unit) for feature in plan.features]
        return found

    @cached_property
    def plans(self) -> tuple[ColumnPlan, ...]:
        """What a site makes of its columns; the target comes last."""
        covariates = [column.plan(name) for name, column in self.columns.items()]
        return (*covariates, self.target.plan(self.target.name))

    @cached_property
    def reads(self) -> dict[str, str]:
        """For each column that sites read, the name that it has in the data.

        Columns that only expressions name are among them; a site may rename any.
        """
        declared = {plan.name: plan for plan in self.plans if plan.expression is None}
        found = {
            name: plan.reads[0]
            for name, plan in declared.items()
            if plan.used or self._is_read(name)
        }
        for plan in self.plans:
            if plan.expression is not None:
                new = [name for name in plan.reads if name not in declared]
                found |= {name: name for name in new}
        return found

    def _is_read(self, name: str) -> bool:
        return any(name in plan.reads for plan in self.plans if plan.expression)


def read_study(path: str | Path) -> StudyFile:
    """Read and validate a study file.

    Parameters
    ----------
    path : str or Path
        TOML file.

    Returns
    -------
    StudyFile
        Validated content. A `CheckError` names every wrong key and its correction.
    """
    return read_model(StudyFile, Path(path), long_texts=("purpose",))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
