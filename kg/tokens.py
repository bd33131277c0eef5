r"""One tokeniser for search, recall, hints and debt.

A text is normalised (NFKC) and translated to a *skeleton* of the same length that has one letter for each kind of
character: U upper case, l other letters and marks, d digits, b scripts without blanks between words; separators inside
identifiers stand for themselves, everything else is a blank. Patterns over the skeleton find chunks in one pass, in any
script, and the text at the same place gives the words.

- A plain word is one token: folded, and stemmed where its script says which language to try.
- An identifier or path gives its parts, then each larger unit: `src/authSession_v2.py` gives src, auth, session, v2,
  py, authsession, authsession_v2, authsession_v2.py and the path. So a part finds the whole and the whole is precise.
- A run of Han, kana, hangul, Thai, Lao, Khmer or Myanmar gives its pairs of characters: any piece of a sentence that
  is two characters long is found, without a dictionary.

Text and query go through the same function, so whatever a rule does to a word it does on both sides. All patterns are
possessive and every chunk is read a fixed number of times: the work is linear in the text.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from unicodedata import category, normalize

from kg.limits import CHARS_CACHED, COMPOSITE_MAX_CHARS, COMPOUNDS_CACHED, WORD_CACHED_MAX_CHARS, WORDS_CACHED
from kg.stopwords import ENGLISH, RUSSIAN
from kg.text import normal

_BIGRAM_SCRIPTS = (  # first and last code point of the blocks
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Myanmar
    (0x1100, 0x11FF),  # Hangul in parts that NFKC could not join
    (0x1780, 0x17FF),  # Khmer
    (0x3005, 0x3007),  # iteration mark and zero of Han
    (0x3040, 0x30FF),  # kana
    (0x31F0, 0x31FF),  # small kana
    (0x3400, 0x4DBF),  # Han, extension A
    (0x4E00, 0x9FFF),  # Han
    (0xA960, 0xA97F),  # Hangul in parts
    (0xA9E0, 0xA9FF),  # Myanmar
    (0xAA60, 0xAA7F),  # Myanmar
    (0xAC00, 0xD7FF),  # Hangul
    (0xF900, 0xFAFF),  # Han, compatibility
    (0x1B000, 0x1B16F),  # kana
    (0x20000, 0x3FFFF),  # Han, further extensions
)
_LETTERS = str.maketrans(  # Latin letters that do not decompose, as people type them without the key
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ħ": "h", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th"}
)
_DROPPED = re.compile(
    "[\xad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff"  # nobody sees or types these
    "\u20e3\ufe00-\ufe0f\U000e0000-\U000e01ef"  # variants of emoji and their tags
    "\u0640"  # Arabic tatweel only stretches a word
    "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7]"  # Hebrew points are written in few texts
)
_SHARP_LANGUAGES = frozenset(("c++", "c#", "f#"))
_R_COMPANIONS = frozenset(
    (
        *("code", "cran", "dplyr", "ggplot2", "julia", "lang", "language", "markdown", "package", "packages", "python"),
        *("rstudio", "script", "scripts", "shiny", "studio", "tidyverse", "vector", "vectors"),
        *("код", "пакет", "язык", "языке"),
    )
)

_INNER = r"_\-./\\:"
_SHARP = r"[Ul](?:\+\+|\#)"
_JOIN = rf"(?!\.\.\.|://|---)[{_INNER}]{{1,3}}(?!{_SHARP})"
_CHUNK = re.compile(
    rf"(?P<sharp>{_SHARP})"
    rf"|(?P<plain>(?:U?l[ld]*+|U++d*+(?!l)|d[ld]*+)(?!U|{_JOIN}[Uldb]))"
    rf"|(?P<run>b++(?!{_JOIN}[Uldb]))"
    rf"|(?P<compound>(?:[Uld]++|b++)(?:{_JOIN}(?:[Uld]++|b++))*+)"
)
_RUN = re.compile("[Uld]++|b++")
_PART = re.compile(
    "UU++l(?![Uld])"  # URLs
    "|U+(?=Ul)"  # HTTP in HTTPServer
    "|U?l[ld]*+|U++d*+|d[ld]*+"  # Server, session, v2; HTTP2; 3d
)
_LEVELS = (  # what separates the units of one size, and what joins the parts of each
    (re.compile(r"[./\\:]+"), re.compile("[-_]")),
    (re.compile(r"[/\\:]+"), re.compile(r"\.")),
    (re.compile(r":+"), re.compile(r"[/\\]")),
    (re.compile(r"(?!)"), re.compile(r":")),
)
_CYRILLIC_WORD = re.compile("[\u0400-\u052f]+")


def tokens(text: str) -> list[str]:
    """All tokens in the order of the text, with repeats; larger units follow their parts."""
    return list(_scan(text))


def unique(text: str, limit: int) -> list[str]:
    """The first `limit` different tokens in the order of the text."""
    seen: dict[str, None] = {}
    for token in _scan(text):
        seen[token] = None
        if len(seen) >= limit:
            break
    return list(islice(seen, limit))


def is_stop_word(token: str) -> bool:
    """Whether a token of `tokens` says nothing about a subject."""
    return token in _stop_tokens()


@lru_cache(maxsize=1)
def _stop_tokens() -> frozenset[str]:
    return frozenset(_scan(ENGLISH + RUSSIAN))


# --- scanning ------------------------------------------------------------------------------------------------------


def _scan(text: str) -> Iterator[str]:
    plain = text if text.isascii() else _DROPPED.sub("", normal(text, "NFKC"))
    skeleton = plain.translate(_SKELETON)
    previous = ""
    for found in _CHUNK.finditer(skeleton):
        start, end = found.span()
        word = plain[start:end]
        kind = found.lastgroup
        if kind == "plain" and 1 < end - start <= WORD_CACHED_MAX_CHARS:  # nearly always, so without another call
            term = _term(word)
            if len(term) > 1:
                yield term
        elif kind == "plain":
            yield from _word(word) if end - start > 1 else _lone_letter(word, previous, plain, skeleton, end)
        elif kind == "run":
            yield from _pairs(word)
        elif kind == "compound":
            cut = _compound_cached if end - start <= WORD_CACHED_MAX_CHARS else _compound
            yield from cut(word, skeleton[start:end])
        elif word.lower() in _SHARP_LANGUAGES:
            yield word.lower()
        previous = word


def _word(word: str) -> Iterator[str]:
    term = _term(word) if len(word) <= WORD_CACHED_MAX_CHARS else _folded(word)
    if len(term) > 1:
        yield term


def _pairs(run: str) -> Iterator[str]:
    if len(run) == 1:
        yield run
    for index in range(len(run) - 1):
        yield run[index : index + 2]


def _compound(chunk: str, skeleton: str) -> tuple[str, ...]:
    """Parts of all runs, then the runs of several parts, then units of growing size."""
    found: list[str] = []
    joined: list[str] = []
    for run in _RUN.finditer(skeleton):
        start, end = run.span()
        if skeleton[start] == "b":
            found += _pairs(chunk[start:end])
            continue
        parts = [chunk[start + part.start() : start + part.end()] for part in _PART.finditer(skeleton[start:end])]
        for part in parts:
            found += _word(part)
        if len(parts) > 1 and end - start <= COMPOSITE_MAX_CHARS:
            joined.append(chunk[start:end])
    for identifier in joined:
        whole = _folded(identifier)
        found.append(whole)
        found += [stem for stem in _word(identifier) if stem != whole]
    for separator, joint in _LEVELS:
        if joint.search(chunk):
            found += _units(chunk, separator, joint)
    return tuple(found)


_compound_cached = lru_cache(maxsize=COMPOUNDS_CACHED)(_compound)  # ids and file names come again and again


def _units(chunk: str, separator: re.Pattern[str], joint: re.Pattern[str]) -> Iterator[str]:
    for unit in separator.split(chunk):
        bare = unit.strip(r"_-./\:")
        if len(bare) <= COMPOSITE_MAX_CHARS and joint.search(bare):
            yield from _word(bare.replace("\\", "/"))


def _lone_letter(letter: str, previous: str, plain: str, skeleton: str, end: int) -> Iterator[str]:
    """The language R where a neighbour says so; any other single letter or digit is noise."""
    if letter in "rR":
        following = _CHUNK.search(skeleton, end)
        if _names_r(previous) or (following and _names_r(plain[following.start() : following.end()])):
            yield "r"


def _names_r(chunk: str) -> bool:
    return len(chunk) <= WORD_CACHED_MAX_CHARS and chunk.lower() in _R_COMPANIONS


# --- characters and words ------------------------------------------------------------------------------------------


@lru_cache(maxsize=CHARS_CACHED)
def _kind(code: int) -> str:
    """The skeleton's letter for a code point."""
    char = chr(code)
    if char in "_-./\\:+#":
        return char
    kind = category(char)
    if kind == "Nd":
        return "d"
    if kind[0] not in "LMN":
        return " "
    if any(first <= code <= last for first, last in _BIGRAM_SCRIPTS):
        return "b"
    return "U" if kind in ("Lu", "Lt") else "l"


class _Skeleton:
    """The mapping that `str.translate` asks for the kind of a code point."""

    __slots__ = ()
    __getitem__ = staticmethod(_kind)  # straight to the cache: it is asked for each character


_SKELETON = _Skeleton()


@lru_cache(maxsize=WORDS_CACHED)
def _term(word: str) -> str:
    """Folded, and stemmed if it is letters of a script whose usual language is known."""
    folded = _folded(word)
    if not folded.isalpha():
        return folded
    if folded.isascii():
        return _stemmed("english", folded)
    if _CYRILLIC_WORD.fullmatch(folded):
        return _stemmed("russian", folded)
    return folded


def _stemmed(language: str, word: str) -> str:
    # Imported with the first word: the package loads all its languages, and a service should answer before that.
    import snowballstemmer  # noqa: PLC0415

    return str(snowballstemmer.stemmer(language).stemWord(word))


def _folded(word: str) -> str:
    """Without case; Latin and Greek without accents, Cyrillic without stress marks (й and ё are letters)."""
    if word.isascii():
        return word.lower()
    kept: list[str] = []
    drop_marks = False
    for char in normal(word.casefold().translate(_LETTERS), "NFC"):
        if category(char) == "Mn":
            if not drop_marks:
                kept.append(char)
            continue
        accented = char < "\u0400" or "\u1e00" <= char <= "\u1fff"  # blocks of Latin and Greek that decompose
        drop_marks = accented or "\u0400" <= char <= "\u052f"
        kept.append(normalize("NFD", char)[0] if accented else char)
    return "".join(kept)
