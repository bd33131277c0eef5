"""Messages between the owner and a worker: a prefix with two lengths, a small JSON header, a body of raw bytes.

Nothing is ever unpickled, so what a worker sends back can be wrong but cannot run. The owner's headers have `kind` and
`limit_s` (seconds); a worker's have one of `ready`, `beat`, `done` and `failed` (the error's text). A body comes with a
job and with `done`.
"""

import json
import struct
from collections.abc import Mapping

from kg import limits

PREFIX = struct.Struct(">IQ")  # bytes of the header, bytes of the body


class WireError(Exception):
    """The other side does not keep to the form; nothing more can be read from it."""


def head(header: Mapping[str, object], body_bytes: int) -> bytes:
    """Return prefix and header of a message whose body, of that many bytes, follows."""
    text = json.dumps(header).encode()
    return PREFIX.pack(len(text), body_bytes) + text


def lengths(prefix: bytes) -> tuple[int, int]:
    """Return how many bytes header and body have. WireError when that cannot be."""
    header_bytes, body_bytes = PREFIX.unpack(prefix)
    if header_bytes > limits.JOB_HEADER_BYTES or body_bytes > limits.JOB_BODY_BYTES:
        raise WireError(f"a message of {header_bytes} + {body_bytes} bytes")
    return header_bytes, body_bytes


def header_of(text: bytes) -> dict[str, object]:
    """Return the header. WireError when it is none."""
    try:
        header = json.loads(text)
    except ValueError as error:
        raise WireError(f"a header that is no JSON: {text[:40]!r}") from error
    if not isinstance(header, dict):
        raise WireError(f"a header that is no object: {text[:40]!r}")
    return header
