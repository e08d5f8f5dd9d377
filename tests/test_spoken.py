"""Digests in words, and text without anything that a terminal obeys."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedsdr.spoken import (
    CONSONANTS,
    VOWELS,
    as_toml_key,
    as_toml_text,
    escaped,
    in_words,
    is_name,
    key_words,
    nearest_name,
    one_line,
)


def read_words(text: str) -> bytes:
    """Read words back into bytes."""
    raw = b""
    for word in text.replace(".", " ").split():
        number = 0
        for i, letter in enumerate(word):
            letters, bits = (VOWELS, 2) if i % 2 else (CONSONANTS, 4)
            number = number << bits | letters.index(letter)
        raw += number.to_bytes(2, "big")
    return raw


@given(st.binary(max_size=64).filter(lambda raw: len(raw) % 2 == 0))
def test_words_hold_every_bit(raw: bytes) -> None:
    assert read_words(in_words(raw)) == raw
    assert in_words(raw.hex()) == in_words(raw)


def test_words_are_those_of_proquints() -> None:
    # The example of the proposal: 127.0.0.1 is lusab-babad.
    assert in_words(bytes([127, 0, 0, 1])) == "lusab babad"
    assert len(in_words(bytes(32)).replace(" .", "").split()) == 16
    assert len(key_words(bytes(32)).replace(" .", "").split()) == 8
    assert key_words(bytes(32)) != key_words(bytes(31) + b"1")


@given(st.text())
def test_escaped_text_can_be_printed(text: str) -> None:
    assert escaped(text).isprintable()
    assert one_line(text).isprintable()
    if text.isprintable():
        assert escaped(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2Jdigest", r"\x1b[2Jdigest"),
        ("a\u202eb", r"a\u202eb"),
        ("a\nb", r"a\nb"),
        ("\x9b31m", r"\x9b31m"),
    ],
)
def test_what_a_terminal_obeys_is_shown_as_its_code(text: str, shown: str) -> None:
    assert escaped(text) == shown


def test_lines_cannot_pass_for_ours() -> None:
    assert one_line("good\n\tdigest  0000") == "good digest 0000"


@given(st.text(max_size=80))
def test_suggested_names_can_be_used(text: str) -> None:
    near = nearest_name(text)
    assert not near or is_name(near)
    if is_name(text):
        assert near == text.strip("_-") or "--" in text


@given(st.text())
def test_any_text_is_a_valid_key_and_value(text: str) -> None:
    read = tomllib.loads(f"{as_toml_key(text)} = {as_toml_text(text)}\n")
    assert read == {text: text}


def test_letters_with_accents_are_replaced() -> None:
    assert nearest_name("Zürich Süd") == "Zurich-Sud"
    assert nearest_name("Αθήνα") == ""
    assert not is_name("Zürich")
    assert not is_name("north\n")
