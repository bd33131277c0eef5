"""Ids, rels, endpoints, files and session ids: what may be one, and when two are the same.

An id is compared as it is written, after NFC. Two ids never become one by cutting or folding; `twin_key` only finds
those that a person would mix up, for a hint. A file stays as its user wrote it; `file_key` is what it is compared by.
"""

import re
from typing import Literal
from unicodedata import category

from kg.errors import Refusal, refuse
from kg.limits import (
    DATE_YEAR_MAX,
    DATE_YEAR_MIN,
    ID_MAX_CHARS,
    NAME_QUOTE_CHARS,
    NAME_RAW_MAX_CHARS,
    REL_MAX_CHARS,
)
from kg.text import file_fault, normal, quoted, tidy

_JOINERS = "._-"
_ASCII_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_SESSION_ID = re.compile(r"[0-9a-f]{8}")
_MONTH = "(?:0[1-9]|1[0-2])"
_DAY = "(?:0[1-9]|[12][0-9]|3[01])"
_HYPHEN_DATE = re.compile(f"[0-9]{{4}}-{_MONTH}-{_DAY}")
_DATE = re.compile(f"(?<![0-9])([0-9]{{4}})(?:-{_MONTH}(?:-{_DAY})?|{_MONTH}{_DAY})(?![0-9])")
_BETWEEN_DIGITS = re.compile(r"(?<=[0-9])[-_.]+(?=[0-9])")
_ELSEWHERE = re.compile(r"(?<![0-9])[-_.]+|[-_.]+(?![0-9])")


def clean_id(text: str) -> str:
    """The id as it is stored. Raises Refusal bad-id, with the rule in words and a suggestion."""
    return _clean_name(text, "bad-id", "id", ID_MAX_CHARS)


def clean_rel(text: str) -> str:
    """The rel as it is stored. Raises Refusal bad-rel, with the rule in words and a suggestion."""
    return _clean_name(text, "bad-rel", "rel", REL_MAX_CHARS)


def clean_endpoint(text: str) -> str:
    """The end of an edge as it is stored: an id in NFC, or a file as written. Raises Refusal bad-endpoint."""
    if not is_file(text):
        return _clean_name(text, "bad-endpoint", "endpoint", ID_MAX_CHARS)
    fault = file_fault(text)
    if fault:
        raise refuse("bad-endpoint", f'The endpoint "{quoted(text, NAME_QUOTE_CHARS)}" {fault}')
    return text if text.isascii() else tidy(text)


def is_file(endpoint: str) -> bool:
    """Whether an endpoint names a file; else it is an id. No id looks like a file."""
    return endpoint.startswith(".") or "/" in endpoint or "\\" in endpoint or "~" in endpoint


def file_key(text: str) -> str:
    """What a file name is compared by: NFC, forward slashes, no leading `./`. Line ranges and remarks stay."""
    key = normal(text, "NFC").replace("\\", "/")
    while key.startswith("./") and len(key) > len("./"):
        key = key[len("./") :]
    return key


def id_words(node_id: str) -> tuple[str, ...]:
    """The parts between hyphens; a full date counts as one of them."""
    parts = [part for part in node_id.split("-") if part]
    words: list[str] = []
    index = 0
    while index < len(parts):
        date = "-".join(parts[index : index + 3])
        is_date = _HYPHEN_DATE.fullmatch(date) is not None
        words.append(date if is_date else parts[index])
        index += 3 if is_date else 1
    return tuple(words)


def has_date(node_id: str) -> bool:
    """Whether it contains yyyy-mm-dd, yyyymmdd or yyyy-mm of a year that is no other kind of number."""
    return any(DATE_YEAR_MIN <= int(found.group(1)) <= DATE_YEAR_MAX for found in _DATE.finditer(node_id))


def twin_key(node_id: str) -> str:
    """Equal for ids that differ only in case, `-`, `_` and `.`; two numbers never grow together to a third."""
    folded = normal(normal(node_id, "NFC").casefold(), "NFC")
    return _ELSEWHERE.sub("", _BETWEEN_DIGITS.sub("-", folded))


def clean_session_id(text: str) -> str | None:
    """The session id in its one form, blanks around it cut and case folded; None when it cannot be one."""
    folded = text.strip().lower()
    return folded if _SESSION_ID.fullmatch(folded) else None


def _clean_name(text: str, code: Literal["bad-id", "bad-rel", "bad-endpoint"], what: str, limit: int) -> str:
    if len(text) <= limit and _ASCII_NAME.fullmatch(text):
        return text
    if len(text) <= NAME_RAW_MAX_CHARS:
        name = normal(text, "NFC")
        if 0 < len(name) <= limit and _is_name(name):
            return name
    raise _bad_name(text, code, what, limit)


def _is_name(name: str) -> bool:
    return _begins(name[0]) and all(_goes_on(char) for char in name)


def _begins(char: str) -> bool:
    kind = category(char)
    return kind.startswith("L") or kind == "Nd"


def _goes_on(char: str) -> bool:
    return char in _JOINERS or _begins(char) or category(char).startswith("M")


def _bad_name(text: str, code: str, what: str, limit: int) -> Refusal:
    article = "An" if what[0] in "aeiou" else "A"
    rule = (
        f"{article} {what} begins with a letter or digit, goes on with letters, digits, dots, underscores and hyphens, "
        f"and has at most {limit} characters"
    )
    if what == "endpoint":
        rule = f"An endpoint is an id or a file. An id begins{rule.split('begins', 1)[1]}; a file contains a slash"
    suggestion = _suggestion(text, limit)
    way_out = f"{rule}; try {suggestion}" if suggestion else rule
    return refuse(code, f'"{quoted(text, NAME_QUOTE_CHARS)}" is no {what}', way_out)


def _suggestion(text: str, limit: int) -> str:
    """The nearest name to this text; empty when it holds no letter and no digit."""
    head = normal(tidy(text[:NAME_RAW_MAX_CHARS]), "NFC")
    kept = "".join(char if _goes_on(char) else "-" for char in head)
    while kept and not _begins(kept[0]):
        kept = kept[1:]
    joined = re.sub(r"-{2,}", "-", kept)
    if len(joined) > limit:
        joined = joined[:limit].rpartition("-")[0] or joined[:limit]
    return joined.rstrip(_JOINERS)
