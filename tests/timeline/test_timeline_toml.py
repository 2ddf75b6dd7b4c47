"""What cannot be TOML, or what nothing could write again, is a sentence."""

from __future__ import annotations

import pytest

from apex_tui.timeline.toml import parse_toml


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"a = " + b"9" * 5000, "a number beyond 64 bits"),
        (b"a = [{b = 0x" + b"f" * 5000 + b"}]", "a number beyond 64 bits"),
        (b"a = 9223372036854775808", "a number beyond 64 bits"),
        (b"a = " + b"[" * 5000, "nested too deeply"),
        (b"a = '\xff'", "not UTF-8 .byte 5."),
        (b"a = ", "Invalid value .at end of document."),
    ],
)
def test_what_is_no_toml_is_told(raw: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        parse_toml(raw)


def test_a_mark_of_the_byte_order_is_no_key() -> None:
    assert parse_toml(b"\xef\xbb\xbfa = 9223372036854775807") == {"a": 2**63 - 1}
