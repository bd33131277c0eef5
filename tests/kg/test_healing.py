import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg.errors import Refusal
from kg.healing import Healed, heal
from kg.text import clean_gist

CLAIM = "refresh before the session handler"


def called(notes="notes", touches="touches", prefix=""):
    return (
        f"{CLAIM}</{prefix}gist>\n"
        f'<{prefix}parameter name="{notes}">["it was httpx", "a \\"quoted\\" [note]"]</{prefix}parameter>\n'
        f'<{prefix}parameter name="{touches}">["src/auth.py:40-88"]</{prefix}parameter>\n</{prefix}invoke>'
    )


@pytest.mark.parametrize("prefix", ["", "ns:"])
def test_a_leaked_call_is_cut_off_and_its_lists_are_recovered(prefix):
    healed = heal(called(prefix=prefix), None, [])
    assert healed == Healed(
        CLAIM, ("it was httpx", 'a "quoted" [note]'), ("src/auth.py:40-88",), ("gist", "notes", "touches")
    )


def test_only_fields_that_the_caller_left_empty_are_filled():
    healed = heal(called(), ["mine"], [])
    assert healed.notes == ("mine",)
    assert healed.touches == ("src/auth.py:40-88",)
    assert healed.recovered == ("gist", "touches")


@pytest.mark.parametrize(
    "trace",
    [
        "</gist>",
        "</ns:gist >",
        "</invoke>",
        '<invoke name="kg_put_node">',
        "<ns:invoke data-x='1' name='x'",
        '<parameter name="notes">',
        "<parameter type='a' name = 'touches' x='y'>",
        '<parameter name="session_id">1a2b3c4d',
        '<notes>["a"]',
        "<notes> [",
    ],
)
def test_each_kind_of_trace_ends_the_gist(trace):
    healed = heal(f"{CLAIM} {trace} tail", ["n"], ["t"])
    assert healed.gist == CLAIM
    assert healed.recovered == ("gist",)


@pytest.mark.parametrize(
    "gist",
    [
        "the notes parameter is replaced whole; [] empties it",
        "a <notes> tag in the reply means nothing",
        "write <gist> first, then <touches>",
        "<invoke> without a name is prose",
        'the attribute name="notes" of a <param> is not ours',
        '<parameter name="query"> belongs to kg_search',
        '<parameter nickname="notes"> is another attribute',
        'an <invoke> tag needs a name="x" attribute',
        "</div> closes; a < b; List<notes>",
        "kg_put_node(notes=[...]) with </notes>",
        '<input name="touches"> in the form',
    ],
)
def test_a_mention_is_never_healed(gist):
    assert heal(gist, None, ["t"]) == Healed(gist, None, ("t",), ())


def test_the_gist_ends_at_the_earliest_of_several_traces():
    assert heal('a <parameter name="notes">["n"] b</gist> c</invoke>', None, None).gist == "a"


def test_an_array_before_the_trace_is_part_of_the_claim():
    assert heal('<touches>["a.py"] is what it sent</gist>', None, None).gist == '<touches>["a.py"] is what it sent'


def test_a_broken_array_is_passed_over_for_the_next_whole_one():
    healed = heal('x</gist><notes>["broken <notes>["whole"]</notes>', None, None)
    assert healed.notes == ("whole",)


def test_entries_that_are_no_text_are_left_out():
    assert heal('x</gist><notes>["a", 1, null, ["b"], ""]', None, None).notes == ("a",)


def test_a_call_that_leaked_from_its_start_gives_its_gist():
    text = f'<invoke name="kg_put_node"><parameter name="gist">{CLAIM}</parameter><parameter name="notes">["n"]'
    assert heal(text, None, None) == Healed(CLAIM, ("n",), None, ("gist", "notes"))


def test_a_gist_of_nothing_but_a_trace_is_empty_so_that_the_door_refuses_it():
    healed = heal("</gist></invoke>", None, None)
    assert healed.gist == ""
    with pytest.raises(Refusal):
        clean_gist(healed.gist)


def test_characters_that_the_door_removes_cannot_hide_a_trace():
    assert heal("a</gi\x00st>b", None, None).gist == "a"
    assert heal("a<invoke" + "\n" * 500 + "name='x'>", None, None).gist == "a"


PIECES = (
    *("a ", "</gist>", "</invoke>", "<invoke ", "name='x'", '<parameter name="notes">', "<parameter ", "<notes>"),
    *("<touches>", '["n"]', "[", "]", '"', "\\", "<", ">", "\n", "\x00", "<gist>", "\u2028", " "),
)


@given(st.lists(st.sampled_from(PIECES)).map("".join))
def test_healing_twice_and_cleaning_in_between_change_nothing_more(text):
    once = heal(text, None, None)
    again = heal(once.gist, once.notes, once.touches)
    assert again == Healed(once.gist, once.notes, once.touches, ())
    try:
        cleaned = clean_gist(once.gist)
    except Refusal:
        return
    assert heal(cleaned, None, None).recovered == ()


@given(st.text().filter(lambda text: "<" not in text))
def test_a_text_without_a_tag_passes_untouched(text):
    assert heal(text, None, None).gist is text


CRAFTED = {
    "open tags": "<parameter ",
    "open attributes": "<invoke a='",
    "openers with unbalanced arrays": '<notes>["',
    "nested arrays": "</gist><notes>[[",
    "closers": "</gist",
    "names": "<parameter name=",
    "blanks": "<notes" + " " * 9,
    "spaces": "<aaaaaaaaaaaaaaaa:",
    "gists": "</invoke><gist>",
}


@pytest.mark.timeout(30)
@pytest.mark.parametrize("piece", CRAFTED.values(), ids=CRAFTED)
def test_crafted_text_of_ten_times_140_kb_is_healed_before_a_quadratic_scan_would_end(piece):
    text = piece * (1_400_000 // len(piece))
    assert len(heal(text, None, None).gist) <= len(text)


def test_a_long_honest_array_is_recovered_whole():
    notes = [f"note {number} " + "x" * 1_000 for number in range(140)]
    assert heal(f"{CLAIM}</gist><notes>{json.dumps(notes)}", None, None).notes == tuple(notes)
