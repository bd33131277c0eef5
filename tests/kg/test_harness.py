"""The clients' rows (spec/rendering.md section 4, spec/hooks.md sections 2 and 3)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg.harness import OTHER, ROWS, hook_payload, row_of

FACE = "\N{GRINNING FACE}"  # two UTF-16 units, four bytes


@pytest.mark.parametrize(
    ("name", "preload", "part", "face"),
    [("claude", 9_500, 45_000, 2), ("codex", 9_000, 36_000, 4), ("antigravity", 10_000, 3_500, 4)],
)
def test_each_client_is_measured_in_its_own_unit(name, preload, part, face):
    row = row_of(name)
    assert (row.preload_limit, row.part_limit, row.measure(FACE)) == (preload, part, face)


@pytest.mark.parametrize("name", ["desktop", "brand-new", ""])
def test_a_client_without_limits_of_its_own_is_sent_what_claude_code_takes(name):
    row = row_of(name)
    assert (row.part_limit, row.part_measure(FACE)) == (45_000, 2)


def test_a_client_has_an_envelope_exactly_if_kg_answers_a_hook_of_it():
    for row in (*ROWS.values(), OTHER):
        assert (row.envelope is not None) == bool(row.events)
        assert not row.events & row.silent


FIELDS = st.sampled_from(["session_id", "cwd", "source", "prompt", "hook_event_name"]) | st.text(max_size=3)
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner, max_size=5),
    max_leaves=10,
)


@given(JSON, st.sampled_from(["claude", "codex", "desktop"]), st.sampled_from(["SessionStart", "PostToolUse"]))
def test_any_stdin_is_a_payload_or_nothing(document, name, event):
    row = row_of(name)
    payload = hook_payload(row, event, document)
    assert payload is None or (payload.event in row.events and isinstance(payload.prompt, str))
