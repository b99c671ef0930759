"""Values of earlier results, and what is said where there is none."""

from __future__ import annotations

import pytest

from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.tool_results import NoSuchResult, Result, used_value


@pytest.mark.parametrize(
    ("spec", "value", "meant"),
    [
        ("search.id", [{"id": 1}], "search[0].id"),
        ("search.hits.id", {"hits": [{"id": 1}]}, "search.hits[0].id"),
        ("search.hits.id", [{"hits": [[{"id": 1}]]}], "search[0].hits[0][0].id"),
        ("search#1.id", [{"id": 1}], "search#1[0].id"),
    ],
)
def test_a_path_that_forgets_a_list_is_told_with_the_place_in_it(spec: str, value: Json, meant: str) -> None:
    with pytest.raises(NoSuchResult) as told:
        used_value(spec, [Result("search", value)])
    assert str(told.value).endswith(f"; did you mean {meant}?")
    assert used_value(meant, [Result("search", value)]) == 1


@pytest.mark.parametrize("value", [[], [{"name": 1}], {"name": 1}, "id", None, 5])
def test_no_path_is_proposed_that_leads_nowhere(value: Json) -> None:
    with pytest.raises(NoSuchResult, match=r"no earlier result of search has id$"):
        used_value("search.id", [Result("search", value)])
