import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg.slugs import slug_for


@pytest.mark.parametrize(
    ("basename", "slug"),
    [
        ("app", "app"),
        ("App_2.0-rc", "App_2.0-rc"),
        ("-dash", "dash"),
        (".dot", "dot"),
        ("..", "project"),
        ("a b", "a-b"),
        ("a  /\n\0 b", "a-b"),
        ("ünï", "ünï"),
        (unicodedata.normalize("NFD", "ünï"), "ünï"),
        ("記憶", "記憶"),
        ("💥", "project"),
        ("", "project"),
        ("\ud800x", "x"),
        ("x" * 100, "x" * 64),
    ],
)
def test_a_basename_becomes_a_harmless_folder_name(basename, slug):
    assert slug_for(basename, ()) == slug


@pytest.mark.parametrize(
    ("taken", "slug"),
    [
        (["app"], "app-2"),
        (["APP"], "app-2"),
        (["app", "App-2"], "app-3"),
        (["app-2"], "app"),
        (["other"], "app"),
    ],
)
def test_a_taken_slug_gets_the_next_number_and_case_makes_no_difference(taken, slug):
    assert slug_for("app", taken) == slug


def test_letters_that_fold_to_the_same_count_as_one():
    assert slug_for("straße", ["STRASSE"]) == "straße-2"


def test_a_numbered_slug_stays_within_its_length():
    assert slug_for("x" * 100, ["x" * 64]) == "x" * 62 + "-2"
    assert slug_for("💥", ["project"]) == "project-2"


@given(st.text(max_size=120), st.integers(0, 12))
def test_slugs_are_distinct_short_and_never_paths(basename, others):
    taken: list[str] = []
    for _ in range(others + 1):
        taken.append(slug_for(basename, taken))
    assert len({slug.casefold() for slug in taken}) == others + 1
    for slug in taken:
        assert 0 < len(slug) <= 64
        assert len(slug.encode()) <= 240
        assert slug[0] not in "-."
        assert all(sign.isalnum() or sign in "._-" for sign in slug)
        assert unicodedata.is_normalized("NFC", slug)


def test_a_name_of_wide_letters_fits_a_file_name_in_bytes():
    assert len(slug_for("𐌰" * 64, ()).encode()) <= 240
