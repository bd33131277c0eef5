"""JSON text to values and back, without the json package.

Importing json costs a hook or a shim more time than all its work, because json imports re. The scanner in C behind it
needs only an object that carries its rules. Numbers keep their text, so that an id goes back as it came, whatever its
size or form.
"""

from _json import encode_basestring_ascii, make_scanner

BLANKS = " \t\r\n"


class Number(str):
    """A JSON number as it was written."""

    __slots__ = ()


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


class _Rules:
    """What the scanner reads from its context."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    array_hook = None
    parse_float = Number
    parse_int = Number
    parse_constant = staticmethod(_refuse_constant)


# typeshed names the scanner itself as its context.
_scan = make_scanner(_Rules())  # type: ignore[arg-type]


def parse(raw: bytes) -> object:
    """Return the one JSON value in `raw`; numbers are `Number`.

    Raises:
        ValueError: not UTF-8, not JSON, more than one value, or nested too deep.
    """
    text = raw.decode("utf-8").strip(BLANKS)
    try:
        value, end = _scan(text, 0)
    except (StopIteration, SystemError):
        # The scanner looks for json.decoder to raise its error from; some versions of Python do not import it and
        # return no error at all, which the interpreter turns into SystemError.
        raise ValueError("not JSON") from None
    except RecursionError:
        raise ValueError("nested too deep") from None
    if end != len(text):
        raise ValueError("text after the JSON value")
    return value


def quote(text: str) -> str:
    """Return `text` as a JSON string in ASCII."""
    return encode_basestring_ascii(text)
