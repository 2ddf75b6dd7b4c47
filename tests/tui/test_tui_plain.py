import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from tui_hostile import HOSTILE

from apex_tui.tui.lines import clip, fit, pad, row, wrap
from apex_tui.tui.plain import LIMIT, arguments, compact, plain


@given(st.text(max_size=300))
def test_plain_leaves_nothing_that_a_terminal_obeys(text: str) -> None:
    shown = plain(text)
    assert not any(unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") for c in shown)
    assert plain(shown) == shown
    shown.encode("utf-8")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain words", "plain words"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07after", "after"),
        ("\x1b]52;c;aGVsbG8=\x1b\\after", "after"),
        ("a\tb\nc", "a    b c"),
        ("\u202eabc", "abc"),
        ("a\u0301\u0301\u0301", "a\u0301\u0301"),
        ("✌\ufe0f", "✌"),
        ("\ud800", "?"),
        ("[/bold]", "[/bold]"),
    ],
)
def test_plain_of_known_texts(text: str, shown: str) -> None:
    assert plain(text) == shown


def test_plain_bounds_length_and_says_so() -> None:
    assert len(plain("x" * 60_000)) == LIMIT
    assert plain("x" * 60_000).endswith("…")
    assert plain("abcdef", 4) == "abc…"


def test_values_are_worded() -> None:
    assert compact(None) == "(none)"
    assert compact(True) == "true"
    assert compact("") == '""'
    assert compact(555.23) == "555.23"
    assert compact(["a", 1]) == '["a", 1]'
    assert arguments({"end": "05-14", "days": 3}) == "end=05-14, days=3"


@given(st.sampled_from(HOSTILE), st.integers(min_value=1, max_value=120))
def test_lines_have_exactly_the_asked_width(text: str, width: int) -> None:
    shown = plain(text)
    assert fit(row(shown), width).cell_len == width
    assert cell_len(pad(shown, width)) == width
    assert cell_len(clip(shown, width)) <= width


@given(st.sampled_from(HOSTILE), st.integers(min_value=12, max_value=80))
def test_wrapped_lines_fit(text: str, width: int) -> None:
    assert all(line.cell_len <= width for line in wrap(row(plain(text)), width))


def test_a_long_text_is_not_kept_for_having_been_shown() -> None:
    text = "é" * 1_000_000
    before = sys.getrefcount(text)
    assert len(plain(text)) == LIMIT
    assert sys.getrefcount(text) == before, "a reply that grows word by word would be remembered with every word"
