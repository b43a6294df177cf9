"""The text of a document is the one that the standard library would write."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from torchinstall.output.jsonout import dumps, indented

LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
DOCUMENTS = st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=30)


@given(DOCUMENTS, st.integers(1, 4))
def test_it_is_what_the_standard_library_writes(document: object, indent: int) -> None:
    assert indented(document, " " * indent) == json.dumps(document, indent=indent)


def test_tuples_and_empty_parts() -> None:
    document = {"a": (), "b": [], "c": {}, "d": ({"é": ("\n", 1)},), "e": [[[]]]}
    assert dumps(document) == json.dumps(document, indent=1)
    assert dumps(document, indent=None) == json.dumps(document)
