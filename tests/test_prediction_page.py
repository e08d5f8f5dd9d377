"""The page on prediction does what it says: its blocks are run, in order."""

import contextlib
import io
import re
import warnings
from pathlib import Path

import pytest

from fedsdr.datasets import load_heart_disease
from fedsdr.exceptions import InputError

PAGE = Path(__file__).parents[1] / "docs" / "prediction.md"
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def test_the_page_prints_what_it_shows() -> None:
    try:
        load_heart_disease()
    except InputError:
        pytest.skip("FEDSDR_DATA does not name the folder of the data")
    names: dict[str, object] = {}
    printed, n_compared = "", 0
    for kind, text in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        if kind == "python":
            out = io.StringIO()
            with contextlib.redirect_stdout(out), warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                exec(compile(text, PAGE.name, "exec"), names)
            printed = out.getvalue()
            continue
        n_compared += 1
        assert NUMBER.sub("#", printed).split() == NUMBER.sub("#", text).split()
        shown, found = (
            [float(one) for one in NUMBER.findall(words)] for words in (text, printed)
        )
        # Last digits of an optimum may differ between platforms.
        assert found == pytest.approx(shown, abs=0.02, rel=0.05)
    assert n_compared == 6
