import pytest

from kg.errors import CODES, DocumentInvalid, JournalDamaged, NotSaved, Refusal, StorageUnreadable, refuse

SPECIFIED = (
    *("bad-arguments", "unknown-session", "no-project", "foreign-session", "bad-id", "bad-rel", "bad-endpoint"),
    *("long-id", "not-found", "stale-view", "partial-view", "unseen-edge", "unseen-node", "locked", "held", "churning"),
    *("same-id", "id-taken", "edge-captured", "unreadable-graph", "not-allowed", "no-hooks", "queue-full"),
    *("not-saved", "internal"),
)


def test_the_table_has_every_code_once_and_no_other():
    assert sorted(CODES) == sorted(SPECIFIED)


@pytest.mark.parametrize("code", SPECIFIED)
def test_every_code_has_a_marker_and_one_sentence_with_a_way_out(code):
    row = CODES[code]
    named = {"not-found": "NOT FOUND: ", "not-saved": "NOT SAVED: "}
    assert row.marker == named[code] if code in named else row.marker.endswith(f"({code}): ")
    assert row.way_out.endswith(".")
    assert "\n" not in row.way_out


def test_a_refusal_is_one_paragraph_of_marker_fault_and_way_out():
    refusal = refuse("same-id", "the two ids\nare equal")
    assert refusal.text == "Error (same-id): the two ids are equal. " + CODES["same-id"].way_out
    assert str(refusal) == refusal.text
    assert refusal.code == "same-id"


def test_a_guard_of_another_tool_replaces_the_marker_and_the_way_out():
    refusal = refuse("locked", "old-id is locked.", "Leave it", marker="NOT RENAMED", shown=("node",))
    assert refusal.text == "NOT RENAMED (locked): old-id is locked. Leave it."
    assert refusal.shown == ("node",)


def test_an_unknown_code_is_a_programming_error():
    with pytest.raises(KeyError):
        refuse("no-such-code", "x")


def test_a_refusal_can_be_raised_and_caught_by_type():
    with pytest.raises(Refusal, match=r"^NOT FOUND: no node x\. "):
        raise refuse("not-found", "no node x")


def test_the_shells_errors_say_where_why_and_the_way_out():
    assert "kg doctor --repair" in str(StorageUnreadable("/s/user.json", "no such file"))
    assert "/s/journal/1.jsonl line 7" in str(JournalDamaged("/s/journal/1.jsonl", 7, "seq 9 after 7"))
    assert str(DocumentInvalid(3, "gist", "not a text")).startswith("line 3, key gist: not a text.")
    assert str(DocumentInvalid(None, None, "empty file")).startswith("empty file.")
    assert "retried" in str(NotSaved("disk full"))
