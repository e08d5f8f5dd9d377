"""Messages that fit their schema are accepted, all others are refused."""

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.secure_sum.rounds import make_sites
from tools.messages_page import MESSAGES, messages_page

from fedsdr.exceptions import Refusal
from fedsdr.peers.fed_svd import SvdTerms, svd_schema
from fedsdr.protocols.schema import MAX_ITEMS, MAX_TEXT, FieldSpec, MessageSpec
from fedsdr.protocols.secure import secure_schema
from fedsdr.secure_sum.parcels import Parcel
from fedsdr.secure_sum.sharing import split

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
SIZES = {
    "d": 3, "K": 2, "k": 2, "n_i": 5, "n": 3, "w": 4, "c": 2, "n_values": 4, "words": 2,
    "g": 1, "p": 2,
}  # fmt: skip

each_message = pytest.mark.parametrize(
    "spec", list(MESSAGES), ids=[f"{spec.name}-{spec.direction}" for spec in MESSAGES]
)


def example(field: FieldSpec) -> Any:
    """Make a value that fits a field."""
    shape = tuple(
        size if isinstance(size, int) else SIZES.get(size, 2) for size in field.shape
    )
    inner = field.items or FieldSpec("", "int")
    makers: dict[str, Callable[[], Any]] = {
        "array": lambda: np.zeros(shape, dtype=field.dtype),
        "bytes": lambda: bytes(*shape),
        "text": lambda: "name",
        "int": lambda: 1,
        "float": lambda: 0.5,
        "bool": lambda: True,
        "choice": lambda: field.choices[0],
        "list": lambda: [example(inner) for _ in range(*(shape or (2,)))],
        "mapping": lambda: {"east": example(inner), "west": example(inner)},
        "record": lambda: {one.name: example(one) for one in field.fields},
    }
    return makers[field.kind]()


def payload_of(spec: MessageSpec) -> dict[str, Any]:
    return {field.name: example(field) for field in spec.fields}


def refused(
    spec: MessageSpec, payload: Any, sizes: dict[str, int] | None = None
) -> str:
    with pytest.raises(Refusal) as caught:
        MESSAGES.check(spec.name, spec.direction, payload, sizes)
    assert caught.value.code == "MALFORMED"
    return caught.value.explanation


# --- one message at a time ------------------------------------------------------------


@each_message
def test_a_message_as_it_should_be_passes(spec: MessageSpec) -> None:
    MESSAGES.check(spec.name, spec.direction, payload_of(spec), SIZES)
    MESSAGES.check(spec.name, spec.direction, payload_of(spec))


@each_message
def test_other_keys_are_refused(spec: MessageSpec) -> None:
    refused(spec, {**payload_of(spec), "rows": np.ones((5, 3))})
    may_be_absent = {field.name for field in spec.fields if field.absent}
    for name in payload_of(spec):
        payload = payload_of(spec)
        value = payload.pop(name)
        if name not in may_be_absent:
            assert "does not hold exactly" in refused(spec, payload)
        refused(spec, {**payload, f"{name}s": value})
    refused(spec, None)
    refused(spec, [payload_of(spec)])


SAMPLES: dict[str, Any] = {
    "array": np.zeros((1, 1, 1, 1)),
    "bytes": bytes(7),
    "text": "text",
    "int": 1,
    "float": 0.5,
    "bool": True,
    "list": ["text"],
    "mapping": {"rows": 1},
    "none": None,
    "object": object(),
}


@each_message
def test_other_kinds_are_refused(spec: MessageSpec) -> None:
    for field in spec.fields:
        own = {field.kind, "none"} if field.optional else {field.kind}
        for kind, sample in SAMPLES.items():
            # A bool and a text are also choices, but not among those allowed.
            if kind not in own:
                refused(spec, {**payload_of(spec), field.name: sample})


def changed_arrays(value: np.ndarray) -> list[np.ndarray]:
    longer = [
        np.concatenate([value, value], axis=axis)
        for axis in range(value.ndim)
        if value.shape[axis]
    ]
    other = "<f8" if value.dtype != np.float64 else "<u8"
    return [
        *longer,
        value[..., None],
        value.ravel() if value.ndim > 1 else value.reshape(1, -1),
        value.astype(other),
        value.astype(value.dtype.newbyteorder(">"))
        if value.dtype.itemsize > 1
        else value.astype("<i8"),
    ]


@each_message
def test_other_types_and_shapes_are_refused(spec: MessageSpec) -> None:
    for field in spec.fields:
        if field.kind == "array":
            for wrong in changed_arrays(example(field)):
                refused(spec, {**payload_of(spec), field.name: wrong}, SIZES)


@each_message
def test_what_lists_and_mappings_hold_is_looked_at(spec: MessageSpec) -> None:
    for field in spec.fields:
        value = example(field)
        if field.kind == "record":
            for one in field.fields:
                name = one.name
                rest = {key: item for key, item in value.items() if key != name}
                if one.absent:
                    changed = {**payload_of(spec), field.name: rest}
                    MESSAGES.check(spec.name, spec.direction, changed)
                else:
                    refused(spec, {**payload_of(spec), field.name: rest})
                more = {**value, name: object()}
                refused(spec, {**payload_of(spec), field.name: more})
        if field.items is None:
            continue
        wrong = [*value[:-1], {"rows": 1}] if field.kind == "list" else {"east": 7}
        assert "holds an item" in refused(spec, {**payload_of(spec), field.name: wrong})


def test_a_length_that_is_not_known_must_stay_the_same() -> None:
    payload = {"pi": np.eye(3), "pull": np.eye(3)}
    MESSAGES.check("paper.step", "request", payload)
    MESSAGES.check("paper.step", "request", payload, {"d": 3})
    spec = MESSAGES.message("paper.step", "request")
    refused(spec, payload, {"d": 4})
    refused(spec, {**payload, "pull": np.eye(4)})
    refused(spec, {**payload, "pull": np.ones((3, 4))})


def test_lengths_of_one_message_are_not_kept_for_the_next() -> None:
    sizes: dict[str, int] = {}
    for d in (3, 4):
        payload = {"pi": np.eye(d), "pull": np.eye(d)}
        MESSAGES.check("paper.step", "request", payload, sizes)
    assert sizes == {}


def test_a_bool_is_no_number() -> None:
    spec = MESSAGES.message("fedsvd.size", "reply")
    MESSAGES.check("fedsvd.size", "reply", {"n_rows": 1, "n_features": 2})
    refused(spec, {"n_rows": True, "n_features": 2})
    refused(spec, {"n_rows": np.int64(1), "n_features": 2})


def test_the_length_of_names_is_limited() -> None:
    spec = MESSAGES.message("secure.confirm", "request")
    survivors = {"round": "1", "survivors": ["east", "x" * MAX_TEXT]}
    MESSAGES.check(spec.name, spec.direction, survivors)
    for name in ("", "x" * (MAX_TEXT + 1), 1):
        refused(spec, {**survivors, "round": name})
        refused(spec, {**survivors, "survivors": ["east", name]})
        signed = {"round": "1", "signatures": {name: bytes(64)}}
        refused(MESSAGES.message("secure.unmask", "request"), signed)


def test_the_length_of_lists_and_mappings_is_limited() -> None:
    names = [str(number) for number in range(MAX_ITEMS + 1)]
    for fits, listed in ((True, names[1:]), (False, names)):
        for message, content in (
            ("secure.confirm", {"survivors": listed}),
            ("secure.unmask", {"signatures": dict.fromkeys(listed, bytes(64))}),
        ):
            payload = {"round": "1", **content}
            if fits:
                MESSAGES.check(message, "request", payload)
            else:
                refused(MESSAGES.message(message, "request"), payload)


def test_unknown_messages_are_refused() -> None:
    for name, direction in [("secure.rows", "reply"), ("secure.masked", "both")]:
        with pytest.raises(Refusal):
            MESSAGES.check(name, direction, {})  # type: ignore[arg-type]


@given(
    st.sampled_from(list(MESSAGES)),
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats()
        | st.text()
        | st.binary(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    ),
)
def test_anything_is_refused_and_nothing_crashes(spec, content) -> None:
    expected = {field.name for field in spec.fields}
    assume(not isinstance(content, dict) or set(content) != expected)
    refused(spec, content)


def test_an_explanation_shows_no_value() -> None:
    spec = MESSAGES.message("paper.finish", "reply")
    text = refused(spec, {"value": "4711", "between": np.full((2, 2), 4711.0)})
    assert text == "the reply paper.finish: value is not float"


# --- the manifest as a whole ----------------------------------------------------------


def test_the_page_lists_the_schemas() -> None:
    page = (ROOT / "docs" / "messages.md").read_text(encoding="utf-8")
    assert page == messages_page(), (
        "run: python -m tools.messages_page > docs/messages.md"
    )


def test_every_field_says_what_it_is_and_who_reads_it() -> None:
    names = [(spec.name, spec.direction) for spec in MESSAGES]
    assert len(set(names)) == len(names)
    for spec in MESSAGES:
        for field in spec.fields:
            assert field.formula, (spec.name, field.name)
            assert field.seen_by, (spec.name, field.name)
            assert "|" not in field.formula + field.seen_by + field.type_text


@each_message
def test_no_field_is_listed_twice(spec: MessageSpec) -> None:
    for listed in (spec.fields, *(field.fields for field in spec.fields)):
        names = [field.name for field in listed]
        assert len(set(names)) == len(names)


def test_every_sum_is_explained() -> None:
    asked = MESSAGES.message("secure.keys", "request").fields
    (statistics,) = (one.choices for one in asked if one.name == "statistic")
    reply = MESSAGES.message("secure.masked", "reply").fields
    (formula,) = (one.formula for one in reply if one.name == "masked")
    for name in statistics:
        assert f"for {name}: " in formula, name


def test_terms_have_the_fields_that_protocols_agree_on() -> None:
    listed = [one.name for one in svd_schema.TERMS.fields]
    assert listed == [one.name for one in fields(SvdTerms)]


def test_boxes_and_shares_have_the_length_that_the_secure_sum_gives_them() -> None:
    share = split(bytes(32), 3, 3)[0]
    assert len(share) == secure_schema.SHARE_BYTES
    _, sites = make_sites("abc", 3)
    keys = {name: site.keys() for name, site in sites.items()}
    parcels = {name: site.share(keys) for name, site in sites.items()}
    assert {len(raw) for raw in parcels["a"].values()} == {Parcel.SIZE}
    boxes = {peer: parcels[peer]["a"] for peer in "bc"}
    assert not sites["a"].verify(boxes)
