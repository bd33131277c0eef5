"""Checks the arguments of a call against the part of JSON Schema that kg's tools use.

Keywords: type (object, array, string, integer, boolean), properties, required, additionalProperties false, enum, items,
minItems, maxItems, minLength, maxLength (code points), minimum, maximum. Others, such as description, are for the
client and are ignored. Booleans are no integers, and neither are numbers with a decimal point.

The walk follows the schema, not the value, so a deeply nested value costs nothing and cannot exhaust the stack. A good
call allocates one empty list; sentences are made for violations only.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from kg.limits import FAULTS_NAMED_MAX, FIELD_QUOTE_CHARS, NUMBER_QUOTED_MAX
from kg.text import quoted

Schema = Mapping[str, Any]
_Check = Callable[[Schema, Any, str, list[str]], None]

_PYTHON_TYPES: dict[str, type] = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool}
_IN_WORDS = {
    "object": "an object",
    "array": "a list",
    "string": "a string",
    "integer": "a whole number",
    "boolean": "true or false",
}
_WHOLE = "the arguments"  # name of the value itself


def check(schema: Schema, value: object) -> list[str]:
    """One sentence for each violation, naming the field and what is allowed; empty when the value is valid.

    From FAULTS_NAMED_MAX violations on, the last sentence says how many more there are.
    """
    faults: list[str] = []
    _check(schema, value, "", faults)
    more = len(faults) - FAULTS_NAMED_MAX
    return [*faults[:FAULTS_NAMED_MAX], f"{more} more fields are wrong."] if more > 0 else faults


def _check(schema: Schema, value: Any, field: str, faults: list[str]) -> None:  # noqa: ANN401 - any JSON value
    kind = schema.get("type")
    if kind is not None and type(value) is not _PYTHON_TYPES[kind]:
        faults.append(f"{field or _WHOLE} must be {_expected(schema)}, not {_given(value)}.")
        return
    if "enum" in schema and value not in schema["enum"]:
        faults.append(f"{field or _WHOLE} must be {_expected(schema)}, not {_given(value)}.")
        return
    further = _FURTHER.get(kind) if kind is not None else None
    if further is not None:
        further(schema, value, field, faults)


def _check_object(schema: Schema, value: dict[str, Any], field: str, faults: list[str]) -> None:
    properties: Mapping[str, Schema] = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            wanted = _expected(properties[name]) if name in properties else "needed"
            faults.append(f"{_path(field, name)} is missing; it must be {wanted}.")
    closed = schema.get("additionalProperties") is False
    for name, item in value.items():
        part = properties.get(name)
        if part is not None:
            _check(part, item, f"{field}.{name}" if field else name, faults)
        elif closed:
            allowed = ", ".join(properties) or "none"
            faults.append(f'"{_path(field, quoted(str(name), FIELD_QUOTE_CHARS))}" is unknown; allowed: {allowed}.')


def _check_array(schema: Schema, value: list[Any], field: str, faults: list[str]) -> None:
    name = field or _WHOLE
    count = len(value)
    if count < schema.get("minItems", 0):
        faults.append(f"{name} has {count} entries; at least {schema['minItems']} must be given.")
    if count > schema.get("maxItems", count):
        faults.append(f"{name} has {count} entries; at most {schema['maxItems']} are allowed.")
    items = schema.get("items")
    if items is not None and not _all_plain(items, value):
        for index, item in enumerate(value):
            _check(items, item, f"{name}[{index}]", faults)


def _all_plain(items: Schema, value: list[Any]) -> bool:
    """Whether the entries need nothing but a type and have it: the usual list, checked without naming its entries."""
    if len(items) != 1 or "type" not in items:
        return False
    wanted = _PYTHON_TYPES[items["type"]]
    return all(type(item) is wanted for item in value)


def _check_string(schema: Schema, value: str, field: str, faults: list[str]) -> None:
    name = field or _WHOLE
    count = len(value)
    if count < schema.get("minLength", 0):
        faults.append(f"{name} has {count} characters; at least {schema['minLength']} must be given.")
    if count > schema.get("maxLength", count):
        faults.append(f"{name} has {count} characters; at most {schema['maxLength']} are allowed.")


def _check_integer(schema: Schema, value: int, field: str, faults: list[str]) -> None:
    if not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        faults.append(f"{field or _WHOLE} must be {_expected(schema)}, not {_given(value)}.")


_FURTHER: dict[str, _Check] = {
    "object": _check_object,
    "array": _check_array,
    "string": _check_string,
    "integer": _check_integer,
}


def _path(field: str, name: str) -> str:
    return f"{field}.{name}" if field else name


def _expected(schema: Schema) -> str:
    """What a field may be, in words."""
    if "enum" in schema:
        return "one of " + ", ".join(str(item) for item in schema["enum"])
    kind = schema.get("type", "")
    words = _IN_WORDS.get(kind, "a value")
    if kind == "array" and "type" in schema.get("items", {}):
        words += f" of {schema['items']['type']}s"
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None and high is not None:
        return f"{words} from {low} to {high}"
    if low is not None:
        return f"{words} of at least {low}"
    return f"{words} of at most {high}" if high is not None else words


def _given(value: object) -> str:
    """What was sent instead, short."""
    match value:
        case None | bool():
            return json.dumps(value)
        case str():
            return f'"{quoted(value, FIELD_QUOTE_CHARS)}"'
        case int():
            return str(value) if abs(value) <= NUMBER_QUOTED_MAX else "so large a number"
        case float():
            return f"the decimal number {value!r}"
        case _:
            return "a list" if isinstance(value, list) else "an object"
