import re
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg.errors import Refusal
from kg.limits import FILE_MAX_CHARS, ID_MAX_CHARS, REL_MAX_CHARS
from kg.names import (
    clean_endpoint,
    clean_id,
    clean_rel,
    clean_session_id,
    file_key,
    has_date,
    id_words,
    is_file,
    twin_key,
)

ANY = st.text(st.characters(exclude_categories=[]))


def refusal_of(call, text):
    with pytest.raises(Refusal) as caught:
        call(text)
    return caught.value


# --- ids and rels --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["a", "7zip-limits", "auth-token-refresh", "v1.2_x", "Session", "ACTIVE", "сессия-истекает", "認証-初期化",
     "क्षि-नियम", "ไทย-ที่", "x" * ID_MAX_CHARS],
)  # fmt: skip
def test_names_of_every_script_are_ids(name):
    assert clean_id(name) == normalize("NFC", name)


@pytest.mark.parametrize(
    "name",
    ["", " ", "my note", " a", "a\n", "a/b", 'a"b', "<b>", "a\x00", "a\u200b", "a\u202eb", "-a", ".a", "_a", "a:b", "½",
     "\u0301a", "a\ud800", "🚀", "x" * (ID_MAX_CHARS + 1), "x" * 1_000_000],
)  # fmt: skip
def test_what_is_no_id_is_refused_with_the_rule_in_words(name):
    refusal = refusal_of(clean_id, name)
    assert refusal.code == "bad-id"
    assert f"at most {ID_MAX_CHARS} characters" in refusal.text
    assert len(refusal.text) < 600
    assert "\n" not in refusal.text
    refusal.text.encode("utf-8")


@pytest.mark.parametrize(
    ("text", "suggestion"),
    [("My Note", "My-Note"), ("src/auth token.py", "src-auth-token.py"), ("<b>bold</b>", "b-bold-b"), ("--x--", "x")],
)
def test_a_refused_id_comes_with_a_clean_suggestion(text, suggestion):
    assert refusal_of(clean_id, text).text.endswith(f"; try {suggestion}.")


@given(ANY)
def test_a_suggestion_is_itself_an_id(text):
    try:
        assert clean_id(clean_id(text)) == clean_id(text)
    except Refusal as refusal:
        found = re.search(r"; try (.+)\.$", refusal.text)
        assert found is None or clean_id(found.group(1)) == found.group(1)


def test_composed_and_decomposed_forms_are_one_id():
    assert clean_id("re\u0301sume\u0301") == clean_id("résumé")


def test_nothing_is_cut_to_make_an_id():
    first, second = "x" * 120 + "-one", "x" * 120 + "-two"
    assert clean_id(first) != clean_id(second)


def test_a_decomposed_id_may_be_longer_before_it_is_composed():
    assert len(clean_id("e\u0301" * ID_MAX_CHARS)) == ID_MAX_CHARS


def test_a_rel_obeys_the_same_rule_and_is_shorter():
    assert clean_rel("instance-of") == "instance-of"
    assert clean_rel("r" * REL_MAX_CHARS)
    for bad in ("depends on", "a/b", "", "r" * (REL_MAX_CHARS + 1)):
        assert refusal_of(clean_rel, bad).code == "bad-rel"


# --- endpoints and files -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "file",
    ["src/my file.py", "src/日本語.py", "C:\\src\\a.py", "./a.py", "./a.py#L10", "docs/", "x/a%20b.py",
     "src/a.py:12-40", "@scope/pkg", "app/[slug]/(group)/page.tsx", "~/.bashrc", ".env", "https://example.com/a?b=c"],
)  # fmt: skip
def test_files_as_users_have_them_are_endpoints_as_written(file):
    assert is_file(file)
    assert clean_endpoint(file) == file


def test_an_id_as_endpoint_is_normalised_and_a_file_is_not():
    assert clean_endpoint("cafe\u0301") == "café"
    assert clean_endpoint("docs/cafe\u0301.md") == "docs/cafe\u0301.md"
    assert not is_file("auth-token-refresh.py")


@pytest.mark.parametrize(
    "text",
    ["", "a b", "two words.py", "a/\nb", "a/\x1bb", "a/\u202eb", "a/\u2028b", "x/" * FILE_MAX_CHARS, "x" * 129],
)
def test_what_is_neither_id_nor_file_is_refused(text):
    assert refusal_of(clean_endpoint, text).code == "bad-endpoint"


def test_a_lone_surrogate_in_a_file_is_replaced():
    assert clean_endpoint("src/\ud800.py") == "src/\ufffd.py"


def test_one_file_in_several_spellings_has_one_key():
    assert {file_key(text) for text in ("src/a.py", "./src/a.py", "src\\a.py", ".\\src\\a.py")} == {"src/a.py"}
    assert file_key("cafe\u0301.md") == file_key("café.md")
    assert file_key("../a.py") == "../a.py"
    assert file_key("A.py") != file_key("a.py")
    assert file_key("./") == "./"


@given(ANY)
def test_the_key_of_a_key_is_itself(text):
    assert file_key(file_key(text)) == file_key(text)


@given(ANY)
def test_no_endpoint_is_both_an_id_and_a_file(text):
    try:
        name = clean_id(text)
    except Refusal:
        return
    assert not is_file(name)


# --- words, dates, twins -------------------------------------------------------------------------------------------


def test_the_words_of_an_id_are_its_parts_and_a_date_is_one():
    assert id_words("auth-token-refresh") == ("auth", "token", "refresh")
    assert id_words("outage-2024-05-30-login") == ("outage", "2024-05-30", "login")
    assert id_words("outage-20240530") == ("outage", "20240530")
    assert id_words("outage-2024-05") == ("outage", "2024", "05")
    assert id_words("range-2024-13-45") == ("range", "2024", "13", "45")
    assert id_words("a--b-") == ("a", "b")


@pytest.mark.parametrize("name", ["x-2024-05-30", "2024-05", "log-20240530", "2099-12", "1990-01-x", "v.2024-05-30.a"])
def test_dates_are_seen(name):
    assert has_date(name)


@pytest.mark.parametrize(
    "name", ["port-8080", "error-2024", "1989-05-30", "2100-01-01", "2024-13", "120240530", "202405301", "rfc-7231"]
)
def test_other_numbers_are_no_dates(name):
    assert not has_date(name)


def test_twins_share_a_key():
    assert len({twin_key(name) for name in ("my-note", "My_Note", "my.note", "MYNOTE", "my--note")}) == 1
    assert twin_key("straße") == twin_key("STRASSE")


def test_different_numbers_are_no_twins():
    assert twin_key("release-1-2") != twin_key("release-12")
    assert twin_key("release-1.2") == twin_key("release-1-2") == twin_key("release_1_2")
    assert twin_key("note-a") != twin_key("note-b")


@given(ANY)
def test_a_twin_key_folds_once(text):
    assert twin_key(twin_key(text)) == twin_key(text)


# --- session ids ---------------------------------------------------------------------------------------------------


def test_a_session_id_is_folded_and_trimmed():
    assert clean_session_id(" 1A2B3c4d\n") == "1a2b3c4d"


@pytest.mark.parametrize("text", ["", "1a2b3c4", "1a2b3c4d5", "1a2b3c4g", "1a2b 3c4d", "１a2b3c4d", "session"])
def test_anything_else_is_no_session_id(text):
    assert clean_session_id(text) is None
