"""Data sets of the examples: the public ones, or simulated tables of the same form.

The examples are about the public data sets. Where ``FEDSDR_DATA`` is not set nothing is
fetched, so that they run without a network: small tables of the same form take their
place, and a printed line says so.
"""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from fedsdr.datasets import (
    Dataset,
    load_communities,
    load_credit_default,
    load_heart_disease,
)


def real_or(name: str, load: Callable[[], Dataset], stand_in: Callable[[], Dataset]):
    """Return the public data set where there is one, otherwise the simulated one."""
    if "FEDSDR_DATA" in os.environ:
        return load()
    print(f"FEDSDR_DATA is not set: simulated rows stand in for {name}.")
    return stand_in()


def heart_disease() -> Dataset:
    """Return patients of four hospitals, with gaps."""
    return real_or("heart disease", load_heart_disease, _like_heart)


def credit_default() -> Dataset:
    """Return credit card clients."""
    return real_or("credit default", load_credit_default, _like_credit)


def communities() -> Dataset:
    """Return communities of several states."""
    return real_or("communities and crime", load_communities, _like_communities)


def leukaemia() -> Dataset:
    """Return two kinds of leukaemia, and expressions of many genes."""
    return real_or("leukaemia", _read_leukaemia, _like_leukaemia)


def _like_heart() -> Dataset:
    rng = np.random.default_rng(0)
    sites = pd.Series(np.repeat(["cleveland", "hungarian", "switzerland", "va"], 150))
    latent = rng.standard_normal(len(sites))
    X = pd.DataFrame(
        {
            "age": 54 + 9 * rng.standard_normal(len(sites)),
            "sex": rng.integers(0, 2, len(sites)).astype(float),
            "cp": np.clip(np.round(2.5 + latent), 1, 4),
            "trestbps": 130 + 18 * rng.standard_normal(len(sites)),
            "chol": 240 + 50 * rng.standard_normal(len(sites)),
            "fbs": rng.integers(0, 2, len(sites)).astype(float),
            "restecg": rng.integers(0, 3, len(sites)).astype(float),
            "thalach": 140 - 12 * latent + 20 * rng.standard_normal(len(sites)),
            "exang": (latent + rng.standard_normal(len(sites)) > 0.5).astype(float),
            "oldpeak": np.maximum(0, latent + rng.standard_normal(len(sites))),
            "slope": rng.integers(1, 4, len(sites)).astype(float),
            "ca": rng.integers(0, 4, len(sites)).astype(float),
            "thal": rng.choice([3.0, 6.0, 7.0], len(sites)),
        }
    )
    for name in ("slope", "ca", "thal"):
        X.loc[(sites != "cleveland") & (rng.random(len(sites)) < 0.7), name] = np.nan
    X.loc[sites == "switzerland", "chol"] = 0.0
    y = pd.Series((latent + 0.8 * rng.standard_normal(len(sites)) > 0).astype(int))
    return Dataset("simulated patients", X, y, sites)


def _like_credit() -> Dataset:
    rng = np.random.default_rng(1)
    names = [f"PAY_{month}" for month in range(6)]
    names += [f"BILL_AMT{month}" for month in range(1, 7)]
    late = rng.standard_normal((4000, 1))
    X = pd.DataFrame(late + rng.standard_normal((4000, 12)), columns=names)
    y = (X["PAY_0"] + rng.standard_normal(4000) > 1.2).astype(int)
    return Dataset("simulated clients", X, y)


def _like_communities() -> Dataset:
    rng = np.random.default_rng(2)
    sites = pd.Series(np.repeat([f"state {number}" for number in range(7)], 120))
    shifts = 0.5 * rng.standard_normal((7, 30))[np.repeat(np.arange(7), 120)]
    X = pd.DataFrame(shifts + rng.standard_normal((840, 30)))
    X.columns = [f"share {number}" for number in range(30)]
    score = X["share 0"] + X["share 1"] - X["share 2"]
    y = np.exp(0.4 * score + 0.5 * rng.standard_normal(840))
    return Dataset("simulated communities", X, y, sites)


def _read_leukaemia() -> Dataset:
    table = pd.read_csv(Path(os.environ["FEDSDR_DATA"]) / "genes" / "golub.csv.gz")
    return Dataset("leukaemia", table.drop(columns="class"), table["class"])


def _like_leukaemia() -> Dataset:
    rng = np.random.default_rng(3)
    y = pd.Series(np.repeat(["ALL", "AML"], [47, 25]))
    X = pd.DataFrame(rng.standard_normal((72, 2000)))
    X.columns = [f"g{number}" for number in range(1, 2001)]
    X.iloc[:, :3] += 2.0 * (y == "AML").to_numpy()[:, None]
    return Dataset("simulated genes", 1000 * np.exp(0.5 * X), y)
