"""Rows in the order of a key."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedsdr.data.keyed_source import KeyedSource
from fedsdr.exceptions import InputError

LARGE = 2**30


@dataclass
class Frames:
    """A source in memory."""

    frame: pd.DataFrame
    n_reads: int = 0

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of all columns."""
        return tuple(self.frame.columns)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.frame)

    def batches(self, columns: Sequence[str], size: int) -> Iterator[pd.DataFrame]:
        """Read some columns."""
        self.n_reads += 1
        for start in range(0, len(self.frame), size):
            yield self.frame[list(columns)].iloc[start : start + size]


def read(frame: pd.DataFrame, *key: str, memory: int = LARGE, size: int = 7):
    source = KeyedSource(Frames(frame), key, memory)
    parts = list(source.batches(["x"], size))
    assert all(len(part) == size for part in parts[:-1])
    return [value for part in parts for value in part["x"].tolist()]


@given(st.permutations(range(20)), st.sampled_from(["number", "text", "category"]))
def test_every_order_gives_the_same_rows(order: list[int], kind: str) -> None:
    keys: pd.Series = pd.Series(range(20))
    if kind != "number":
        keys = keys.map("k{:02}".format)
    frame = pd.DataFrame({"id": keys, "x": np.arange(20) ** 2}).iloc[order]
    if kind == "category":
        listed = list(dict.fromkeys(frame["id"]))
        frame["id"] = pd.Categorical(frame["id"], categories=listed)
    assert read(frame, "id") == [i**2 for i in range(20)]


def test_several_columns_can_identify_a_row() -> None:
    frame = pd.DataFrame({"id": [2, 1, 2, 1], "visit": list("baab"), "x": range(4)})
    assert read(frame, "id", "visit") == [1, 3, 2, 0]
    with pytest.raises(InputError, match=r"2 row\(s\) have the same id as another"):
        read(frame, "id")


def test_large_data_must_come_in_order() -> None:
    frame = pd.DataFrame({"id": range(50), "x": range(50)})
    assert read(frame, "id", memory=100) == list(range(50))
    with pytest.raises(InputError, match="do not come in the order of the key"):
        read(frame.iloc[[*range(21), 22, 21, *range(23, 50)]], "id", memory=100)
    # Where two batches meet.
    with pytest.raises(InputError, match="do not come in the order of the key"):
        read(frame.iloc[[*range(20), 21, 20, *range(22, 50)]], "id", memory=100)
    with pytest.raises(InputError, match="have the same id"):
        read(frame.iloc[[*range(21), *range(20, 50)]], "id", memory=100)


def test_a_key_has_no_gaps_and_no_message_shows_one() -> None:
    frame = pd.DataFrame({"id": ["Meyer", None], "x": [1, 2]})
    with pytest.raises(InputError, match=r"id is missing in 1 row\(s\)") as caught:
        read(frame, "id")
    assert "Meyer" not in str(caught.value)
    mixed = pd.DataFrame({"id": ["Meyer", 3], "x": [1, 2]})
    with pytest.raises(InputError, match="cannot be compared") as caught:
        read(mixed, "id")
    assert "Meyer" not in str(caught.value)


def test_no_rows_are_no_batches() -> None:
    assert read(pd.DataFrame({"id": [], "x": []}), "id") == []
