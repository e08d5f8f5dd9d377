"""Model files: JSON without code, all of which is checked when it is read."""

import json
from pathlib import Path
from typing import Any

from fedsdr.arrays import Vector
from fedsdr.exceptions import InputError
from fedsdr.files import explained, write_atomically
from fedsdr.prediction.prediction_model import PredictionModel
from fedsdr.result import Result
from fedsdr.result_checks import is_number, read_numbers
from fedsdr.summaries.families import FAMILIES, Family
from fedsdr.summaries.newton_parts import OWN, SiteDeviation
from fedsdr.summaries.spline_basis import SplineBasis

MODEL_FORMAT = "fedsdr-model/1"

#: Largest file that is read; a model of 20 directions has less than 2 MB.
LARGEST_FILE = 200_000_000

#: Where a result of a study has its model.
FIELD = "prediction"

_KEYS = (
    "format", "result", "family", "centre", "spread", "coefficients", "covariance",
    "means", "smooth", "freedom", "dispersion", "loss", "n_rows", "n_sites", "own",
    "weights", "sites", "classes",
)  # fmt: skip


def write_model(model: PredictionModel, path: str | Path | None = None) -> str:
    """Write a model as JSON.

    Parameters
    ----------
    model : PredictionModel
        The model.
    path : str or Path, optional
        File that is also written, completely or not at all.

    Returns
    -------
    str
        JSON text. Numbers keep all their digits.
    """
    content = {
        "format": MODEL_FORMAT,
        "result": json.loads(model.result.to_json()),
        **model_values(model),
    }
    text = json.dumps(content, indent=2, allow_nan=False)
    if path is not None:
        with explained(f"cannot write {path}"):
            write_atomically(path, text + "\n")
    return text


def model_values(model: PredictionModel) -> dict[str, Any]:
    """Return everything in a model but its reduction, as plain values.

    Parameters
    ----------
    model : PredictionModel
        The model.

    Returns
    -------
    dict
        Values that JSON can hold.
    """
    return {
        "family": model.family.name,
        "centre": model.splines.centre.tolist(),
        "spread": model.splines.spread.tolist(),
        "coefficients": model.coefficients.tolist(),
        "covariance": model.covariance.tolist(),
        "means": model.means.tolist(),
        "smooth": model.smooth.tolist(),
        "freedom": model.freedom,
        "dispersion": model.dispersion,
        "loss": model.loss,
        "n_rows": model.n_rows,
        "n_sites": model.n_sites,
        "own": model.deviation.own,
        "weights": list(model.deviation.weights),
        "sites": {label: own.tolist() for label, own in model.sites.items()},
        "classes": list(model.classes),
    }


def read_model(source: str | Path) -> PredictionModel:
    """Read a model that `write_model` wrote, or that of a study, and check all of it.

    Parameters
    ----------
    source : str or Path
        Path of a file, or the JSON text itself; also the result of a study with a
        model.

    Returns
    -------
    PredictionModel
        Model that predicts the same. An `InputError` says what is wrong with a file.
    """
    content = _load(source)
    strange = sorted(set(content) - set(_KEYS))
    missing = sorted(set(_KEYS) - set(content))
    if strange or missing:
        problem = f"unknown '{strange[0]}'" if strange else f"without '{missing[0]}'"
        raise InputError(f"not a fedsdr model: {problem}")
    if not isinstance(content["result"], dict):
        raise InputError("not a fedsdr model: 'result' must be that of a fit")
    result = Result.from_json(json.dumps(content["result"]))
    n_axes = result.n_directions
    splines = SplineBasis(
        _numbers(content, "centre", (n_axes,)), _numbers(content, "spread", (n_axes,))
    )
    if n_axes < 1 or not (splines.spread > 0.0).all():
        raise InputError("not a fedsdr model: 'spread' must be positive for every axis")
    width = splines.n_columns
    own = _choice(content, "own", OWN)
    first, second = _numbers(content, "weights", (2,)).tolist()
    deviation = SiteDeviation(own, (first, second))
    return PredictionModel(
        result,
        Family(_choice(content, "family", FAMILIES)),
        splines,
        _numbers(content, "coefficients", (width,)),
        _numbers(content, "covariance", (width, width)),
        _numbers(content, "means", (width,)),
        _numbers(content, "smooth", (n_axes,)),
        _number(content, "freedom"),
        _number(content, "dispersion"),
        _number(content, "loss"),
        _count(content, "n_rows"),
        _count(content, "n_sites"),
        deviation,
        _sites(content, deviation.n_own(width)),
        _classes(content),
    )


def _load(source: str | Path) -> dict[str, Any]:
    text = str(source)
    if isinstance(source, Path) or not text.lstrip().startswith("{"):
        path = Path(source)
        try:
            if path.stat().st_size > LARGEST_FILE:
                raise InputError(f"{path} is too large for a fedsdr model")
            text = path.read_text(encoding="utf-8")
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror}") from error
        except UnicodeDecodeError:
            raise InputError(f"{path} is not a fedsdr model: not UTF-8 text") from None
    try:
        content = json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        raise InputError("not a fedsdr model: the file is not valid JSON") from None
    if isinstance(content, dict):
        content = _of_study(content)
    if not isinstance(content, dict) or content.get("format") != MODEL_FORMAT:
        hint = ""
        if isinstance(content, dict) and "directions" in content:
            hint = (
                ": it is a result without a model; 'fedsdr fit --model' writes a "
                "model, and a study with [prediction] has one in its result"
            )
        raise InputError(f"not a fedsdr model of format {MODEL_FORMAT}{hint}")
    return content


def _of_study(content: dict[str, Any]) -> dict[str, Any]:
    """Take the model out of the result of a study, if it has one."""
    settings = content.get("settings")
    values = settings.get(FIELD) if isinstance(settings, dict) else None
    if "directions" not in content or not isinstance(values, dict):
        return content
    return {**values, "format": MODEL_FORMAT, "result": content}


def _number(content: dict[str, Any], name: str) -> float:
    if not is_number(content[name]):
        raise InputError(f"not a fedsdr model: '{name}' must be a number")
    return float(content[name])


def _count(content: dict[str, Any], name: str) -> int:
    value = content[name]
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise InputError(f"not a fedsdr model: '{name}' must be a positive number")
    return value


def _choice(content: dict[str, Any], name: str, choices: tuple[str, ...]) -> str:
    value = content[name]
    if not isinstance(value, str) or value not in choices:
        raise InputError(
            f"not a fedsdr model: '{name}' must be one of {', '.join(choices)}"
        )
    return value


def _numbers(content: dict[str, Any], name: str, shape: tuple[int, ...]) -> Any:
    return read_numbers(content[name], f"not a fedsdr model: '{name}'", shape)


def _sites(content: dict[str, Any], size: int) -> dict[str, Vector]:
    sites = content["sites"]
    if not isinstance(sites, dict):
        raise InputError("not a fedsdr model: 'sites' must be a mapping")
    return {
        label: read_numbers(own, "not a fedsdr model: a site in 'sites'", (size,))
        for label, own in sites.items()
    }


def _classes(content: dict[str, Any]) -> tuple[Any, ...]:
    classes = content["classes"]
    plain = isinstance(classes, list) and all(
        isinstance(one, str | bool) or is_number(one) for one in classes
    )
    logistic = content["family"] == "logistic"
    if not plain or len(classes) not in ((0, 2) if logistic else (0,)):
        raise InputError(
            "not a fedsdr model: 'classes' must be two, and of a logistic model only"
        )
    return tuple(classes)
