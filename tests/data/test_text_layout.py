"""One reader for CSV: the same checks and the same numbers, whoever asks."""

import csv
import gzip
import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedsdr.data import open_source, read_rows, read_table, text_layout
from fedsdr.data.source import join_frames
from fedsdr.data.text_layout import read_layout
from fedsdr.exceptions import InputError

FIELDS = st.text(st.sampled_from('ab ,"\n;é'), max_size=5)


def write_csv(path: Path, rows: list[list[str]], ending: str = "\n") -> Path:
    text = io.StringIO()
    csv.writer(text, lineterminator=ending).writerows(rows)
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "wb") as file:
        file.write(text.getvalue().encode())
    return path


@pytest.mark.parametrize("block", [1, 7, 1 << 18])
@given(st.lists(st.tuples(FIELDS, FIELDS, FIELDS), max_size=8), st.data())
def test_rows_that_fit_are_accepted_and_others_refused(
    tmp_path_factory, block, rows, data
) -> None:
    folder = tmp_path_factory.mktemp("text")
    ending = data.draw(st.sampled_from(["\n", "\r\n"]))
    table = [["a", "b", "c"], *map(list, rows)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_layout, "BLOCK", block)
        read_layout(write_csv(folder / "rows.csv", table, ending)).check()
        if not rows:
            return
        place = data.draw(st.integers(1, len(rows)))
        broken = [list(row) for row in table]
        if data.draw(st.booleans()):
            broken[place].append("d")
        else:
            # A single blank field would be a blank line, which does no harm.
            broken[place] = ["x"]
        layout = read_layout(write_csv(folder / "rows.csv.gz", broken, ending))
        with pytest.raises(InputError, match="more or fewer fields"):
            layout.check()


BROKEN = {
    "x,y\n1,2\n3\n4,5\n": "more or fewer fields",
    "x,y\n1,2\n3,4\n5": "more or fewer fields",
    # One field too many here, one missing there: the number of commas is right.
    "x,y\n1,2,3\n4\n5,6\n": "more or fewer fields",
    "x,y,\n1,2\n3,4\n": "more or fewer fields",
    'x,y\n1,"2\n3,4\n': "never closed",
    'x,y,z\n1,"a,1\n2,b,1\n3,"c",1\n': "never closed",
    "": "is empty",
    "x,x,y\n1,2,3\n4,5,6\n": "same name: x",
    "x,y\n1,2\n2,2\nsecret,3\n": "not numbers: x (in 1 of 3 rows)",
    "x,y\n1,2\n2,2\n3,secret\n": "not all numbers: y (in 1 of 3 rows)",
    b"x,y\n1,2\n3,\xf6\n": "not UTF-8",
    b"x,y,note\n1,2,a\n3,4,\xf6\n": "not UTF-8",
    "x;y\n1;2\n3;4\n": "separate its fields by commas",
}


@pytest.mark.parametrize(("content", "words"), BROKEN.items())
def test_both_ways_to_read_a_file_complain_in_the_same_words(
    content, words, tmp_path
) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    messages = []
    with pytest.raises(InputError) as caught:
        read_table(path, "y", columns=["x"])
    messages.append(str(caught.value).replace("target", "column"))

    def stream() -> None:
        source = open_source({"kind": "csv", "path": "rows.csv"}, folder=tmp_path)
        list(read_rows(source, ["x"], "y", 2))

    with pytest.raises(InputError) as caught:
        stream()
    messages.append(str(caught.value).replace("target", "column"))
    assert all(words in message for message in messages)
    assert not any("secret" in message for message in messages)


HARMLESS = {
    "\ufeffx,y\n1,2\n3,4\n": "a byte order mark",
    "\n\nx,y\n\n1,2\n  \n3,4\n\n": "blank lines",
    "x,y\r\n1,2\r\n3,4": "no line feed at the end",
    '"x","y"\n"1","2"\n"3","4"\n': "quotes around everything",
    ",x,y\n1,1,2\n2,3,4\n": "row numbers without a name",
    "x, y,note\n1, 2 ,a\n3,+4.0,\n": "blanks around names and numbers",
    'x,y,note\n1,2,"a\r\nb\rc"\n3,4,d\n': "lines within a text",
    'x,y,note\n1,2,"5"" pipe, a\nb"\n3,4,5" pipe and 6" pipe\n': "quotes within a text",
}


@pytest.mark.parametrize("size", [1, 2, 65536])
@pytest.mark.parametrize("content", HARMLESS, ids=HARMLESS.values())
def test_what_does_no_harm(content, size, tmp_path) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(content.encode())
    table = read_table(path, "y", columns=["x"])
    source = open_source({"kind": "csv", "path": "rows.csv"}, folder=tmp_path)
    parts = list(read_rows(source, ["x"], "y", size))
    for X, y in [(table.X, table.y), map(np.concatenate, zip(*parts, strict=True))]:
        np.testing.assert_array_equal(X, [[1], [3]])
        np.testing.assert_array_equal(y, [2, 4])


@given(
    st.lists(
        st.floats(allow_nan=False) | st.integers(-(2**70), 2**70),
        min_size=2,
        max_size=20,
    ),
    st.integers(1, 5),
)
def test_numbers_are_the_nearest_ones_however_rows_are_cut(
    tmp_path_factory, values, size
) -> None:
    path = tmp_path_factory.mktemp("numbers") / "rows.csv"
    write_csv(path, [["x", "y"], *([repr(value), "1"] for value in values)])
    source = open_source({"kind": "csv", "path": "rows.csv"}, folder=path.parent)
    parts = list(source.batches(["x"], size))
    assert all(part["x"].dtype == np.float64 for part in parts)
    read = np.concatenate([part["x"] for part in parts])
    np.testing.assert_array_equal(read, [float(repr(value)) for value in values])
    (whole,) = source.batches(["x"], 100)
    np.testing.assert_array_equal(whole["x"], read)


def test_several_files_are_one_table(tmp_path) -> None:
    (tmp_path / "rows").mkdir()
    write_csv(tmp_path / "rows/1.csv", [["c", "y"], ["01", "1"], ["2", "2"]])
    write_csv(tmp_path / "rows/2.csv", [["y", "c"], ["3", "B"]])
    source = open_source({"kind": "arrow", "path": "rows"}, folder=tmp_path)
    for _ in range(2):
        (frame,) = source.batches(["c", "y"], 10)
        # A word in the second file makes the column of the first one text.
        assert frame["c"].tolist() == ["01", "2", "B"]
        assert frame["y"].tolist() == [1, 2, 3]


def test_categories_stay_categories_when_rows_are_joined() -> None:
    parts = [
        pd.DataFrame({"c": pd.Categorical(["a", "b"])}),
        pd.DataFrame({"c": pd.Categorical([])}),
        pd.DataFrame({"c": pd.Categorical(["d", None])}),
    ]
    joined = join_frames(parts)["c"]
    assert isinstance(joined.dtype, pd.CategoricalDtype)
    assert joined.astype(object).fillna("-").tolist() == ["a", "b", "d", "-"]
