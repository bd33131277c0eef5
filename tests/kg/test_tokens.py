import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg.limits import COMPOSITE_MAX_CHARS
from kg.tokens import is_stop_word, tokens, unique

PROBES = {  # name: (text, query)
    "camelCase part": ("the authSession object expires", "session"),
    "snake_case part": ("call refresh_user_token first", "user token"),
    "dotted path": ("import kg.core.tokens at start", "kg.core.tokens"),
    "file name": ("see src/authSession_v2.py:40-88", "authSession_v2.py"),
    "accents": ("Der Rückfall im Café, naïve Lösung", "cafe naive losung ruckfall"),
    "Greek accents": ("η σύνδεση λήγει ΝΩΡΊΣ", "συνδεση νωρις"),
    "Russian inflection": ("обработчик сессий держит соединения", "сессия соединение обработчика"),
    "two Han characters": ("认证模块需要先初始化会话处理器", "会话"),
    "three Han characters": ("认证模块需要先初始化会话处理器", "处理器"),
    "kana": ("セッションのタイムアウトをのばす", "タイムアウト"),
    "half-width kana": ("セッションのタイムアウト", "ﾀｲﾑｱｳﾄ"),
    "hangul": ("세션을 먼저 초기화해야 한다", "세션 초기화"),
    "hangul in parts": ("세션을 먼저", "\u1109\u1166\u1109\u1167\u11ab"),
    "Thai": ("ต้องเริ่มต้นเซสชันก่อน", "เซสชัน"),
    "Khmer": ("ត្រូវចាប់ផ្តើមសម័យ", "សម័យ"),
    "Arabic": ("يجب تهيئة الجلســـة أولا", "تهيئة الجلسة"),
    "Persian joiner": ("نمی\u200cشود", "نمیشود"),
    "Hebrew points": ("שָׁלוֹם עולם", "שלום"),
    "Devanagari with marks": ("पहले सत्र को प्रारंभ करें", "सत्र प्रारंभ"),
    "emoji neighbours": ("🚀deploy👩\u200d💻pipeline❤\ufe0f", "deploy pipeline"),
    "C++": ("built with C++20 and C/C++ headers, not C#.", "c++ C#"),
    "an id with hyphens": ("auth-token-refresh: first", "auth-token-refresh"),
    "a part of an id": ("auth-token-refresh: first", "tokens refreshing"),
    "quotes and operators": ('say "cookie jar" -AND (locking)*', "\"cookie\" AND -'jar' (lock*)"),
    "full width": ("ＡＵＴＨ　ｔｏｋｅｎ", "auth token"),
    "decomposed letters": ("re\u0301sume\u0301 й\u0301", "résumé"),
    "Windows path": ("fix C:\\src\\auth.py now", "src/auth.py"),
    "path with a line": ("touches src/auth.py:40-88", "src/auth.py"),
    "lower case of an identifier": ("the authSession object", "authsession"),
    "acronym": ("parse the URLs by HTTPServer", "url http server"),
    "stress mark": ("се\u0301ссия", "сессия"),
}


@pytest.mark.parametrize(("text", "query"), PROBES.values(), ids=PROBES)
def test_the_query_is_found_in_the_text(text, query):
    asked = tokens(query)
    assert asked
    assert set(asked) <= set(tokens(text))


def test_a_path_gives_its_parts_then_each_larger_unit():
    found = tokens("src/authSession_v2.py")
    assert [word for word in found if word != "authsess"] == [
        *("src", "auth", "session", "v2", "py"),
        *("authsession", "authsession_v2", "authsession_v2.py", "src/authsession_v2.py"),
    ]


def test_tokens_stand_in_the_order_of_the_text_with_repeats():
    assert tokens("beta alpha beta") == ["beta", "alpha", "beta"]


def test_whole_words_match_and_never_pieces_of_them():
    assert "art" not in tokens("start the party")
    assert "сесс" not in tokens("профессия")


def test_case_changes_split_words_and_digits_do_not():
    assert tokens("HTTPServer OAuth2 v2 sha256Sum 3d")[:3] == ["http", "server", "httpserver"]
    assert {"oauth2", "auth2", "v2", "sha256", "sum", "3d"} <= set(tokens("OAuth2 v2 sha256Sum 3d"))


def test_single_letters_and_digits_are_dropped_except_inside_a_larger_unit():
    assert tokens("a b 1 _ - и 🚀 ½") == []
    assert tokens("x.y") == ["x.y"]


def test_r_is_a_language_beside_a_word_that_says_so():
    assert "r" in tokens("an R package")
    assert "r" in tokens("the language R")
    assert "r" not in tokens("press r to reload")


def test_only_languages_keep_their_sign():
    assert tokens("C++ c# F# i++ x#") == ["c++", "c#", "f#"]


def test_words_with_digits_are_not_stemmed():
    assert tokens("sessions2 sessions") == ["sessions2", "session"]


def test_a_single_han_character_stands_alone_and_a_run_gives_pairs():
    assert tokens("在 认证块") == ["在", "认证", "证块"]


def test_a_path_inside_han_text_is_a_unit_of_its_own():
    assert "src/auth.py" in tokens("请看src/auth.py文件")


def test_a_file_name_in_han_is_found_whole_and_by_its_pairs():
    assert {"日本", "本語", "日本語.py"} <= set(tokens("docs/日本語.py"))


def test_the_short_i_of_cyrillic_is_a_letter_of_its_own():
    assert tokens("й11") != tokens("и11")


def test_prose_punctuation_joins_nothing():
    assert tokens("wait... then, end.start") == ["wait", "then", "end", "start", "end.start"]
    assert "https://example.com" not in tokens("https://example.com")


def test_a_blob_is_no_token_beyond_the_longest_identifier():
    blob = "ab-" * COMPOSITE_MAX_CHARS
    assert max(map(len, tokens(blob))) <= COMPOSITE_MAX_CHARS


@pytest.mark.parametrize("text", ["", " ", "!!! ??? ...", "🚀🎉", "\ufffd\ud800", "\u0301", "a"])
def test_text_without_a_word_has_no_tokens(text):
    assert tokens(text) == []


def test_unique_keeps_the_first_different_tokens():
    assert unique("beta alpha beta gamma", 2) == ["beta", "alpha"]
    assert unique("beta alpha beta gamma", 9) == ["beta", "alpha", "gamma"]
    assert unique("beta", 0) == []


def test_unique_reads_no_further_than_it_must():
    assert unique("word other " * 300_000, 2) == ["word", "other"]


def test_stop_words_of_both_languages_are_known_by_their_tokens():
    for text in ("The because having doesn't", "это потому которые чтобы сделать"):
        assert all(is_stop_word(token) for token in tokens(text))
    for text in ("session deploy css", "сессия деплой", "认证"):
        assert not any(is_stop_word(token) for token in tokens(text))


@given(st.text(), st.text())
def test_a_word_is_tokenised_alike_wherever_it_stands(left, right):
    assert tokens(f"{left} \n {right}")[: len(tokens(left))] == tokens(left) or "r" in left.lower() + right.lower()


@given(st.text(st.characters(exclude_categories=[])))
def test_no_token_is_blank_or_has_blanks_or_upper_case_ascii(text):
    for token in tokens(text):
        assert token
        assert not any(char.isspace() for char in token)
        assert not any("A" <= char <= "Z" for char in token)


@given(st.text(st.sampled_from("aB1_-./\\:+#文カสр́ \n"), max_size=60))
def test_unique_agrees_with_tokens(text):
    assert unique(text, 1_000) == list(dict.fromkeys(tokens(text)))


CRAFTED = [
    "a",
    "A",
    "aA",
    "a_",
    "A.b/",
    "_",
    "文a",
    "a\u0323\u0301",
    "r ",
    "c+",
    "C/",
    "AAAAb",
    "\u0301",
    "a.",
    "文.",
    "::a",
]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("piece", CRAFTED)
def test_a_megabyte_of_crafted_text_is_tokenised_before_a_quadratic_scan_would_end(piece):
    assert isinstance(tokens(piece * (1_000_000 // len(piece))), list)
