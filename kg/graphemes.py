"""Where a text may be cut so that no reader sees half a character.

What a reader takes for one character can be several code points: a letter with its marks, a flag, a family emoji, a
Hangul syllable in parts. `is_boundary` follows the rules of UAX #29 with two simplifications that only ever forbid a
cut the rules would allow: nothing is cut behind a joiner, and nothing between a virama and what follows it.
"""

from functools import lru_cache
from unicodedata import category, combining

_ZWJ = "\u200d"
_ZWNJ = "\u200c"
_VIRAMA = 9  # canonical combining class of the signs that fuse two consonants


def last_boundary(text: str, index: int) -> int:
    """The largest place at or below `index` where text may be cut; 0 when its first cluster is longer than that."""
    while 0 < index < len(text) and not is_boundary(text, index):
        index -= 1
    return index


def is_boundary(text: str, index: int) -> bool:
    """Whether a cluster ends right before text[index]. The ends of the text are boundaries."""
    if not 0 < index < len(text):
        return True
    before, after = text[index - 1], text[index]
    if before < "\u0300" and after < "\u0300":  # no marks and no joiners down there
        return not (before == "\r" and after == "\n")
    if category(before) in ("Cc", "Zl", "Zp") or category(after) in ("Cc", "Zl", "Zp"):
        return True
    if _extends(after) or before == _ZWJ or _prepends(before) or combining(before) == _VIRAMA:
        return False
    if _is_flag_half(before) and _is_flag_half(after):
        return _run_of_flag_halves(text, index) % 2 == 0
    return not _same_syllable(_jamo(before), _jamo(after))


@lru_cache(maxsize=1024)
def _extends(char: str) -> bool:
    """Whether it belongs to whatever stands before it."""
    return (
        category(char) in ("Mn", "Me", "Mc")
        or char in (_ZWJ, _ZWNJ, "\uff9e", "\uff9f")  # joiners; half-width voicing marks of kana
        or "\U0001f3fb" <= char <= "\U0001f3ff"  # skin tones
        or "\U000e0020" <= char <= "\U000e007f"  # tag letters of a flag
        or char in "\u0e33\u0eb3"  # the vowel AM of Thai and Lao, a letter by category
    )


def _prepends(char: str) -> bool:
    """Whether it is a sign that stands in front of a number or letter and belongs to it (Arabic, Syriac, Kaithi)."""
    return char in "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"


def _is_flag_half(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _run_of_flag_halves(text: str, end: int) -> int:
    start = end
    while start > 0 and _is_flag_half(text[start - 1]):
        start -= 1
    return end - start


def _jamo(char: str) -> str:
    """Kind of a Hangul code point: L, V, T, LV or LVT; empty for all others."""
    code = ord(char)
    if 0xAC00 <= code <= 0xD7A3:  # noqa: PLR2004 - the block of precomposed syllables
        return "LVT" if (code - 0xAC00) % 28 else "LV"
    for kind, first, last in (
        ("L", 0x1100, 0x115F),
        ("V", 0x1160, 0x11A7),
        ("T", 0x11A8, 0x11FF),
        ("L", 0xA960, 0xA97C),
        ("V", 0xD7B0, 0xD7C6),
        ("T", 0xD7CB, 0xD7FB),
    ):
        if first <= code <= last:
            return kind
    return ""


def _same_syllable(before: str, after: str) -> bool:
    if before == "L":
        return after in ("L", "V", "LV", "LVT")
    if before in ("LV", "V"):
        return after in ("V", "T")
    return before in ("LVT", "T") and after == "T"
