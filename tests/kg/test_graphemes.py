import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg.graphemes import is_boundary, last_boundary

ONE_CHARACTER = {
    "letter with marks": "e\u0301\u0323",
    "family": "👨\u200d👩\u200d👧\u200d👦",
    "skin tone": "👍🏽",
    "flag": "🇩🇪",
    "flag of England": "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "keycap": "1\ufe0f\u20e3",
    "hangul in parts": "\u1112\u1161\u11ab",
    "hangul with a final": "하\u11ab",
    "devanagari vowel": "कि",
    "devanagari conjunct": "क्षि",
    "thai vowel": "กำ",
    "crlf": "\r\n",
    "persian joiner": "ی\u200c",
    "arabic number sign": "\u0600۱",
}


@pytest.mark.parametrize("cluster", ONE_CHARACTER.values(), ids=ONE_CHARACTER)
def test_what_a_reader_takes_for_one_character_is_not_cut(cluster):
    text = f"a{cluster}b"
    inside = range(2, 1 + len(cluster))
    assert [index for index in inside if is_boundary(text, index)] == []
    assert is_boundary(text, 1)
    assert is_boundary(text, 1 + len(cluster)) or cluster.endswith("\u200c")


def test_flags_in_a_row_are_cut_between_two_flags_only():
    text = "🇩🇪🇫🇷🇪🇸"
    assert [index for index in range(len(text) + 1) if is_boundary(text, index)] == [0, 2, 4, 6]


def test_two_syllables_of_hangul_are_two_characters():
    assert is_boundary("한국", 1)


def test_a_control_character_stands_alone():
    assert is_boundary("\n\u0301", 1)


def test_the_last_boundary_lies_before_the_cluster_that_does_not_fit():
    text = "ab" + "👨\u200d👩\u200d👧"
    assert last_boundary(text, 5) == 2
    assert last_boundary(text, len(text)) == len(text)


def test_a_text_that_is_one_long_cluster_has_no_boundary_inside():
    assert last_boundary("a" + "\u0301" * 50_000, 40_000) == 0


@given(st.text())
def test_the_ends_of_any_text_are_boundaries(text):
    assert is_boundary(text, 0)
    assert is_boundary(text, len(text))


@given(st.text(st.characters(max_codepoint=0x2FF, exclude_categories=["Cc"])))
def test_plain_text_may_be_cut_anywhere(text):
    assert all(is_boundary(text, index) for index in range(len(text)))
