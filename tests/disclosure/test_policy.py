import tomllib

import pytest

from fedsdr import InputError
from fedsdr.disclosure import Policy


def test_a_table_of_a_file_gives_a_policy() -> None:
    table = tomllib.loads(
        """
        min_rows = 20
        max_columns_per_row = "unlimited"
        allowed_columns = ["age", "sex"]
        max_studies = 2
        same_sites_only = false
        """
    )
    assert Policy.from_mapping(table) == Policy(
        min_rows=20,
        max_columns_per_row=None,
        allowed_columns=("sex", "age"),
        max_studies=2,
        same_sites_only=False,
    )
    assert Policy.from_mapping({}) == Policy()


@pytest.mark.parametrize(
    "name", ["allowed_columns", "allowed_studies", "max_studies", "max_columns_per_row"]
)
def test_what_may_be_none_may_be_unlimited_in_a_file(name: str) -> None:
    assert getattr(Policy.from_mapping({name: "unlimited"}), name) is None


def test_what_must_have_a_limit_cannot_be_unlimited() -> None:
    with pytest.raises(InputError, match="min_rows must be a whole number"):
        Policy.from_mapping({"min_rows": "unlimited"})


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("min_row", "did you mean 'min_rows'"),
        ("allowed_study", "did you mean 'allowed_studies'"),
        ("colour", "it has min_rows, min_slice_rows"),
    ],
)
def test_unknown_keys_are_named_with_what_they_resemble(key: str, hint: str) -> None:
    with pytest.raises(InputError, match=f"no '{key}'; {hint}"):
        Policy.from_mapping({key: 1})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("min_rows", 0),
        ("min_rows", True),
        ("min_rows", 10.0),
        ("min_slice_rows", "3"),
        ("min_level_rows", -1),
        ("max_columns_per_row", 0),
        ("max_columns_per_row", float("nan")),
        ("max_columns_per_row", float("inf")),
        ("max_columns_per_row", True),
        ("max_columns_per_row", "much"),
        ("max_row_share", 1.01),
        ("max_row_share", 50),
        ("yearly_delta", 2),
        ("allowed_columns", "age"),
        ("allowed_columns", [1]),
        ("allowed_studies", 7),
        ("max_studies", 0),
        ("same_sites_only", 1),
        ("same_rows_only", "no"),
    ],
)
def test_values_out_of_range_name_the_parameter(name: str, value: object) -> None:
    with pytest.raises(InputError, match=name):
        Policy.from_mapping({name: value})


def test_a_list_that_was_handed_in_cannot_widen_the_policy() -> None:
    columns = ["age"]
    policy = Policy(allowed_columns=columns)
    columns.append("salary")
    assert policy.allowed_columns == {"age"}
