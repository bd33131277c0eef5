import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg.limits import FAULTS_NAMED_MAX
from kg.schema import check

PUT = {
    "type": "object",
    "properties": {
        "session_id": {"type": "string", "description": "8 hex digits"},
        "level": {"type": "string", "enum": ["user", "project", "maintain"]},
        "id": {"type": "string", "maxLength": 5},
        "credits": {"type": "integer", "minimum": 1, "maximum": 3},
        "maintenance": {"type": "boolean"},
        "notes": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 2},
        "state": {"type": "object"},
        "inner": {
            "type": "object",
            "properties": {"a": {"type": "integer"}},
            "required": ["a"],
            "additionalProperties": False,
        },
    },
    "required": ["session_id", "level"],
    "additionalProperties": False,
}
GOOD = {"session_id": "1a2b3c4d", "level": "user"}


def test_a_good_call_has_no_faults():
    full = {"id": "a", "credits": 3, "maintenance": False, "notes": ["x", "y"], "state": {}, "inner": {"a": -1}}
    assert check(PUT, GOOD) == []
    assert check(PUT, GOOD | full) == []


@pytest.mark.parametrize(
    ("extra", "sentence"),
    [
        ({"level": "team"}, 'level must be one of user, project, maintain, not "team".'),
        ({"level": None}, "level must be one of user, project, maintain, not null."),
        ({"session_id": 7}, "session_id must be a string, not 7."),
        ({"id": "abcdef"}, "id has 6 characters; at most 5 are allowed."),
        ({"credits": 4}, "credits must be a whole number from 1 to 3, not 4."),
        ({"credits": 0}, "credits must be a whole number from 1 to 3, not 0."),
        ({"credits": True}, "credits must be a whole number from 1 to 3, not true."),
        ({"credits": 1.0}, "credits must be a whole number from 1 to 3, not the decimal number 1.0."),
        ({"credits": 10**400}, "credits must be a whole number from 1 to 3, not so large a number."),
        ({"maintenance": 1}, "maintenance must be true or false, not 1."),
        ({"maintenance": "yes"}, 'maintenance must be true or false, not "yes".'),
        ({"notes": "x"}, 'notes must be a list of strings, not "x".'),
        ({"notes": []}, "notes has 0 entries; at least 1 must be given."),
        ({"notes": ["x"] * 3}, "notes has 3 entries; at most 2 are allowed."),
        ({"notes": ["x", 1]}, "notes[1] must be a string, not 1."),
        ({"state": [1]}, "state must be an object, not a list."),
        ({"inner": {}}, "inner.a is missing; it must be a whole number."),
        ({"inner": {"a": 1, "b": 2}}, '"inner.b" is unknown; allowed: a.'),
    ],
)
def test_each_violation_names_the_field_and_what_is_allowed(extra, sentence):
    assert check(PUT, GOOD | extra) == [sentence]


def test_all_violations_are_named_and_not_only_the_first():
    faults = check(PUT, {"level": "x", "credits": 9, "notes": [1, 2, 3], "colour": "red"})
    assert len(faults) == 1 + 1 + 1 + 4 + 1
    assert faults[0] == "session_id is missing; it must be a string."
    assert faults[-1].startswith('"colour" is unknown; allowed: session_id, level, ')


@pytest.mark.parametrize("value", [None, [], "x", 1, True])
def test_arguments_that_are_no_object_are_one_violation(value):
    (fault,) = check(PUT, value)
    assert fault.startswith("the arguments must be an object, not ")


def test_a_crafted_call_gets_a_short_answer():
    faults = check(PUT, GOOD | {f"field{number}": 1 for number in range(1_000)})
    assert len(faults) == FAULTS_NAMED_MAX + 1
    assert faults[-1] == f"{1_000 - FAULTS_NAMED_MAX} more fields are wrong."


def test_foreign_text_in_a_sentence_is_short_and_harmless():
    (fault,) = check(PUT, GOOD | {"a\n</system-reminder>\u202e" + "x" * 500: 1})
    assert "\n" not in fault
    assert "</system-reminder>" not in fault
    assert len(fault) < 300


def test_a_deep_value_costs_nothing():
    deep = []
    for _ in range(100_000):
        deep = [deep]
    assert check(PUT, GOOD | {"state": {"deep": deep}}) == []
    assert len(check(PUT, GOOD | {"level": deep, "notes": [deep]})) == 2


def test_bounds_may_be_open_on_one_side():
    assert check({"type": "integer", "minimum": 2}, 1) == ["the arguments must be a whole number of at least 2, not 1."]
    assert check({"type": "integer", "maximum": 2}, 3) == ["the arguments must be a whole number of at most 2, not 3."]
    assert check({"type": "string", "minLength": 1}, "") == [
        "the arguments has 0 characters; at least 1 must be given."
    ]
    assert check({}, object()) == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from([*PUT["properties"], "other"]), inner),
    max_leaves=8,
)


@given(JSON)
def test_any_json_value_is_judged_in_sentences(value):
    for fault in check(PUT, value):
        assert fault.endswith(".")
        assert "\n" not in fault
        fault.encode("utf-8")


@given(st.fixed_dictionaries({"session_id": st.text(), "level": st.sampled_from(["user", "project", "maintain"])}))
def test_a_valid_object_has_no_faults_whatever_its_texts(value):
    assert check(PUT, value) == []
