"""What a body says: JSON in UTF-8, and nothing else.

Half of a surrogate pair is legal as a JSON escape: a client that cuts a text in the middle of an emoji sends one. It
stands for no character, so orjson refuses the whole body. Such an escape becomes U+FFFD here, and the rest is kept.
"""

import re

import orjson

# An escape sequence, whichever: a whole pair is passed over, and so is a backslash that escapes another one.
_ESCAPES = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)
_REPLACEMENT = rb"\ufffd"


def parsed(data: bytes) -> object:
    """The value in a body.

    Raises:
        ValueError: it is not JSON, not UTF-8, or nested too deeply.
    """
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        whole = _ESCAPES.sub(_completed, data)
        if whole == data:
            raise
    return orjson.loads(whole)


def _completed(escape: re.Match[bytes]) -> bytes:
    return _REPLACEMENT if escape[1] else escape[0]
