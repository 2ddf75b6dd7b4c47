"""What a session on the page of results shows: all words that were said, and nothing that a link in a recording points at."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from campaign_kit import copied, recorded

from apex_tui.store.layout import SessionFolder
from apex_tui.store.recording import Recording, open_recording
from apex_tui.timeline import agent_facts as a
from apex_tui.timeline.base import Fact
from apex_tui.timeline.errors import RecordingError
from apex_tui.timeline.events import Event
from apex_tui.trials.html_report_lanes import sound, transcript
from apex_tui.trials.results_model import Provenance, Table
from apex_tui.trials.tables import remarks


def test_words_that_were_never_heard_are_struck_out_however_long_the_reply_is(tmp_path: Path) -> None:
    heard, unheard = "word " * 100, "<b>lost</b> " * 50
    told = open_recording(recorded())
    facts: list[Fact] = [
        a.ReplyStarted(reply="r"),
        a.AgentSaid(reply="r", item="i", text=heard + unheard, final=True),
        a.AgentSpeechStarted(reply="r", onset_ms=500.0),
        a.ReplyClosed(
            reply="r", how="flushed", played_ms=900.0, generated_ms=5000.0, text=heard + unheard, heard=heard
        ),
    ]
    events = [Event(seq, 1000.0, 0, fact, "agent") for seq, fact in enumerate(facts)]  # type: ignore[arg-type]
    page = transcript(Recording(told.folder, told.meta, told.workflow, events))
    assert heard in page
    assert f"<s>{unheard.replace('<', '&lt;').replace('>', '&gt;')}</s>" in page


def test_what_must_be_said_is_whole_and_no_terminal_obeys_it() -> None:
    told = remarks(Table.model_construct(
        k=3, agents=(), notes=("\x1b]0;mine\x07" + "note " * 60 + "end",), too_few={}, uncommon=(), skipped={},
        provenance=Provenance(
            app_versions=(), workflows={}, callers=("synthetic, from the bank: \x9b2J" + "v" * 300,), clock_bases=(), profiles=(),
            seeds=(), clips=0,
        ),
    ))  # fmt: skip
    assert told[0].endswith("note end")
    assert "v" * 300 in told[1]
    assert not [line for line in told if not line.isprintable()]


def test_no_file_that_a_link_names_goes_into_the_page(tmp_path: Path) -> None:
    place = copied(recorded(), tmp_path / recorded().name)
    SessionFolder(place).audio.unlink()
    secret = tmp_path / "id_rsa"
    secret.write_bytes(b"OggS and then a key")
    ogg = place / "audio.ogg"
    ogg.symlink_to(secret)
    with pytest.raises(RecordingError, match="is a link"):
        sound(place)
    ogg.unlink()
    ogg.write_bytes(b"a key")
    with pytest.raises(RecordingError, match="no Ogg file"):
        sound(place)
    ogg.write_bytes(b"OggS...")
    assert base64.b64encode(b"OggS...").decode() in (sound(place) or "")
