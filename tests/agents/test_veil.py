"""A key in pieces: it is never passed on whole or in part, and no other word is lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apex_tui.agents.keys import HIDDEN, hide
from apex_tui.agents.registry import known_secrets
from apex_tui.agents.seam import AgentEvent, AgentText, Closed, ReplyEnded, Stamped, UserTranscript
from apex_tui.agents.veil import Veil, begun_key
from apex_tui.store.masking import Masker
from apex_tui.store.wire import WireLog

KEY = "sk-canary-0123456789"
OTHER = "sk-can-9876"


def shown(veil: Veil, *events: AgentEvent) -> list[AgentEvent]:
    return [out.event for event in events for out in veil.take(Stamped(1.0, event))]


def text_of(events: list[AgentEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, AgentText))


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.sampled_from(["s", "sk", "sk-", "k-can", "yes ", KEY, KEY[:9], KEY[9:], OTHER, OTHER[:7], "! "]), max_size=12
    ),
    st.lists(st.integers(1, 7), max_size=30),
)
def test_however_it_is_cut_no_key_passes_and_no_word_is_lost(parts: list[str], cuts: list[int]) -> None:
    said, veil, out = "".join(parts), Veil((KEY, OTHER)), list[AgentEvent]()
    rest = said
    for cut in [*cuts, max(1, len(said))]:
        piece, rest = rest[:cut], rest[cut:]
        out += shown(veil, AgentText("r", "i", piece)) if piece else []
    out += shown(veil, ReplyEnded("r", "completed"))
    assert text_of(out) == said.replace(KEY, HIDDEN).replace(OTHER, HIDDEN)
    assert KEY not in text_of(out)
    assert isinstance(out[-1], ReplyEnded)


def test_only_what_may_become_a_key_waits_and_only_for_its_own_item() -> None:
    veil = Veil((KEY,))
    assert shown(veil, AgentText("r", "i", "Yes, it i")) == [AgentText("r", "i", "Yes, it i")]
    assert shown(veil, AgentText("r", "i", "s")) == []
    assert shown(veil, AgentText("r", "other", "k-canary-0123456789")) == [
        AgentText("r", "other", "k-canary-0123456789")
    ]
    assert shown(veil, AgentText("r", "i", " so.")) == [AgentText("r", "i", "s so.")]
    assert shown(veil, AgentText("r", "i", "The key is sk-canary")) == [AgentText("r", "i", "The key is ")]
    assert shown(veil, AgentText("r", "i", "The key is sk-canary bird.", final=True)) == [
        AgentText("r", "i", "The key is sk-canary bird.", final=True)
    ]
    assert shown(veil, AgentText("r", "i", "sk-")) == []
    assert [out.event for out in veil.finish()] == [AgentText("r", "i", "sk-")]
    assert shown(veil, AgentText("r", "i", "s"), Closed(1000, KEY, True)) == [
        AgentText("r", "i", "s"),
        Closed(1000, HIDDEN, True),
    ]


def test_a_transcript_that_grows_shows_no_half_of_a_key() -> None:
    veil = Veil((KEY,))
    assert shown(veil, UserTranscript("t", "my key is sk-cana", final=False)) == [
        UserTranscript("t", "my key is ", final=False)
    ]
    assert shown(veil, UserTranscript("t", "this", final=False)) == [UserTranscript("t", "this", final=False)]
    assert shown(veil, UserTranscript("t", f"it is {KEY}.", final=True)) == [
        UserTranscript("t", f"it is {HIDDEN}.", final=True)
    ]


def test_without_keys_nothing_waits() -> None:
    stamped = Stamped(1.0, AgentText("r", "i", "sk-"))
    assert Veil(()).take(stamped) == [stamped]
    assert begun_key("sk-canary-012345678", (KEY,)) == 19
    assert begun_key(KEY, (KEY,)) == 0
    assert begun_key("", (KEY,)) == 0


def test_the_raw_messages_hold_no_piece_of_a_key(tmp_path: Path) -> None:
    wire = WireLog(tmp_path / "wire.jsonl", (KEY,))
    for piece in (f"It is {KEY[:12]}", f"{KEY[12:]}, really", KEY[:7], KEY[7:14], KEY[14:], "key", "and so on"):
        wire(0.0, "in", json.dumps({"type": "delta", "delta": piece}))
    wire.close()
    kept = [json.loads(line)["raw"]["delta"] for line in (tmp_path / "wire.jsonl").read_text().splitlines()]
    assert kept == ["It is ***", "***, really", "***", "***", "***", "key", "and so on"]
    assert Masker((KEY,)).text("sk-") == "sk-", "what every key begins with is none"


def test_a_stand_in_is_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    monkeypatch.setenv("XAI_API_KEY", KEY)
    assert known_secrets() == (KEY,)


def test_a_name_that_holds_a_key_is_the_same_name_without_it_in_every_event() -> None:
    veil = Veil((KEY,))
    events = shown(
        veil, AgentText(KEY, KEY, "Yes sk-"), AgentText(KEY, KEY, "ip"), UserTranscript(KEY, "no", final=False),
        AgentText(KEY, KEY, "sk-"), ReplyEnded(KEY, "completed"),
    )  # fmt: skip
    assert events == [
        AgentText(HIDDEN, HIDDEN, "Yes "),
        AgentText(HIDDEN, HIDDEN, "sk-ip"),
        UserTranscript(HIDDEN, "no", final=False),
        AgentText(HIDDEN, HIDDEN, "sk-"),
        ReplyEnded(HIDDEN, "completed"),
    ]


def test_a_key_is_known_in_every_spelling(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XAI_API_KEY", "hunter2/very+secret==")
    said = hide("at ws://h/?k=hunter2%2Fvery%2Bsecret%3D%3D, key hunter2/very+secret==", known_secrets())
    assert said == "at ws://h/?k=[key], key [key]"
