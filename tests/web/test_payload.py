"""Bodies as values (case C12)."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from web.payload import parsed


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (rb'"bad \ud800 end"', "bad \ufffd end"),
        (rb'"\udc00"', "\ufffd"),
        (rb'"\uDBFF\uDBFF"', "\ufffd\ufffd"),
        (rb'"\ud83d\ude00 \ud83d"', "😀 \ufffd"),
        (rb'"\ud83d\ud83d\ude00"', "\ufffd😀"),
        (rb'"\\ud800 \ud800"', "\\ud800 \ufffd"),
        (rb'"\\\ud800"', "\\\ufffd"),
    ],
)
def test_half_a_pair_becomes_the_replacement_character(body, text):
    assert parsed(body) == text


@pytest.mark.parametrize(
    "body",
    [b"", b"{", rb'"\ud800', rb'"\ud8"', rb"\ud800", b'"\xed\xa0\x80"', b"\xff", b"NaN", b"[" * 2000 + b"]" * 2000],
)
def test_what_is_not_json_is_refused(body):
    with pytest.raises(ValueError):  # noqa: PT011 - its text is orjson's
        parsed(body)


TEXT = st.text(st.characters(exclude_categories=[]))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
def test_every_value_arrives_with_its_halves_replaced(value):
    whole = json.dumps(value, ensure_ascii=False).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    assert parsed(json.dumps(value).encode()) == json.loads(whole)
