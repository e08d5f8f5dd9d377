"""Judges of a story: they compute everything again from the rows."""

from collections.abc import Iterable
from functools import cache
from itertools import chain, combinations
from typing import Any

import numpy as np
import pandas as pd
from tests.chaos.people import Life
from tests.chaos.stories import POOLED, edited, rows_of
from tests.study.consortia import NAMES

from fedsdr import FedSSIR, InputError
from fedsdr.metrics import subspace_distance
from fedsdr.protocols.secure import SumFolder
from fedsdr.result import Result
from fedsdr.study.verification import verify_site

#: Messages that sites answer with numbers, signatures or shares, once in a round.
NUMBERS = ("secure.masked", "secure.confirm", "secure.unmask")

#: Sums are added to a fixed number of bits; other rows change many more digits.
CLOSE = 1e-7


def judge(life: Life) -> list[str]:
    """List everything that must not be; empty for a story that ended well."""
    if life.result is None:
        return life.problems or ["no result"]
    return [
        *life.problems,
        *_judge_sites(life),
        *_judge_numbers(life),
        *_judge_ledgers(life),
        *_judge_answers(life),
    ]


def _judge_sites(life: Life) -> Iterable[str]:
    """Judge who is in the result, and whether it says so."""
    result = life.result
    expected = [name for name in NAMES if name not in life.without]
    named = list(result.settings["sites"])
    if named != expected:
        yield f"the result names {named}, and nobody left out but {life.without}"
    if sorted(result.provenance["left_out"]) != sorted(life.without):
        yield f"the result says left out: {result.provenance['left_out']}"
    for one in result.provenance["sums"]:
        if one["sites"] != named:
            yield f"{one['sum']} is over {one['sites']}, the result of {named}"
    for name, saved in _kept_sums(life).items():
        if "values" not in saved or sorted(saved["sites"]) != named:
            yield f"{name} is kept over {saved['sites']}, the result is of {named}"


def _judge_numbers(life: Life) -> Iterable[str]:
    """Compare sums and result with what the rows of the named sites give."""
    changed = sorted(life.world.edited_rows)
    subsets = chain.from_iterable(
        combinations(changed, size) for size in range(len(changed) + 1)
    )
    sites = tuple(life.result.settings["sites"])
    found = [
        list(_differences(life, find_truth(life.world.story.study, sites, which)))
        for which in subsets
    ]
    # Rows that were edited may be in it or not, but in all sums alike.
    return () if any(not one for one in found) else found[0]


def _differences(life: Life, truth: "Truth") -> Iterable[str]:
    result = life.result
    if result.n_rows != truth.n_rows:
        yield f"the result is of {result.n_rows} rows, sites have {truth.n_rows}"
    if tuple(result.selected) != truth.selected:
        yield f"selected {result.selected}, from the rows {truth.selected}"
    else:
        distance = subspace_distance(result.directions, truth.directions)
        if distance > CLOSE:
            yield f"directions are {distance:.1e} from those of the rows"
    for name, saved in _kept_sums(life).items():
        statistic = name.partition("-")[0]
        values = saved.get("values", np.empty(0))
        for begin, expected in truth.sums.get(statistic, ()):
            part = values[begin : begin + expected.size]
            apart = np.abs(part - expected).max() if part.size else np.inf
            if apart > CLOSE * max(1.0, np.abs(expected).max()):
                yield f"{statistic} is {apart:.1e} from the sum over the rows"


def _kept_sums(life: Life) -> dict[str, Any]:
    """Read the finished sums; nobody needs them after the result, if one is damaged."""
    try:
        return SumFolder(life.world.folder).begun()
    except InputError:
        return {}


def _judge_ledgers(life: Life) -> Iterable[str]:
    """Let every site verify its ledger and its copy of the result."""
    for name in life.result.settings["sites"]:
        record = verify_site(life.world.files.site_file(name), life.result)
        if not record.is_whole:
            yield f"{name}: {record.problem}"
    for name in set(life.without):
        copy = life.world.files.root / name / "result.json"
        if copy.exists():
            known = Result.from_json(copy).settings["sites"]
            if known != life.result.settings["sites"]:
                yield f"{name} has a result of {known}"


def _judge_answers(life: Life) -> Iterable[str]:
    """Find sites that have answered one message in two ways."""
    for (site, name, message), answers in life.world.sent.items():
        if len(answers) > 1 and message in NUMBERS:
            yield f"{site} has sent {len(answers)} answers to {message} of {name}"


class Truth:
    """What numpy and a fit in one process find in the rows of some sites."""

    def __init__(self, rows: pd.DataFrame, model: dict[str, Any]) -> None:
        columns = [name for name in rows.columns if name not in ("site", "y")]
        self.n_rows = len(rows)
        #: Parts of sums by statistic: where each begins, and its numbers.
        self.sums: dict[str, list[tuple[int, Any]]] = {}
        if "x1" in rows and rows["x1"].isna().any():
            known = rows["x1"].dropna()
            self.sums["means"] = [(0, np.array([len(known), known.sum()]))]
            rows = rows.fillna({"x1": known.mean()})
        X = rows[columns].to_numpy()
        centred = X - rows.groupby("site")[columns].transform("mean").to_numpy()
        scatter = (centred.T @ centred)[np.triu_indices(len(columns))]
        counts = np.array([len(rows), rows["site"].nunique()])
        # Degrees of freedom come between them.
        self.sums["moments"] = [(0, counts), (4, scatter)]
        fitted = FedSSIR(**model).fit(rows[columns], rows["y"], sites=rows["site"])
        self.selected = tuple(fitted.result_.selected)
        self.directions = fitted.result_.directions


@cache
def find_truth(study: str, sites: tuple[str, ...], changed: tuple[str, ...]) -> Truth:
    """Compute what a study of these sites must find, with some rows edited."""
    rows = rows_of(study)
    for name in changed:
        rows = edited(rows, name)
    own = rows[rows["site"].isin(sites)].reset_index(drop=True)
    return Truth(own, {} if study == "default" else POOLED)
