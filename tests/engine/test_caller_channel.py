"""Whole sessions over every channel of the caller: the work goes on, the same caller speaks at the same time, only the samples sent differ."""

from __future__ import annotations

from pathlib import Path

import pytest
from session_kit import Session, session
from shared_sessions import run_session_in, shared_session

from apex_tui.engine.headless import run_headless
from apex_tui.store.recording import open_recording
from apex_tui.timeline import agent_facts as a
from apex_tui.timeline import caller_facts as c
from apex_tui.timeline.errors import UserError
from apex_tui.timeline.messages import Run
from apex_tui.timeline.session_facts import SessionEnded, SessionStarted

CHANNELS = {"telephone": "payment", "babble:snr=10": "leave-request", "loss:rate=0.03,burst=3": "payment"}
"""Channel -> the workflow that is run over it: amounts and codes suffer most where a line is narrow or loses packets."""


def spoken(ran: Session) -> list[tuple[str, str]]:
    return [(planned.plan, planned.pcm_sha256) for planned in ran.facts(c.CallerPlanned)]


@pytest.mark.parametrize(("channel", "workflow"), CHANNELS.items())
def test_the_reference_succeeds_over_every_channel(channel: str, workflow: str) -> None:
    ran, clean = shared_session(workflow, channel=channel), session(workflow)
    assert ran.result.score.success, [(g.gate, g.reason) for g in ran.result.score.gates if not g.passed]
    assert spoken(ran) == spoken(clean)
    ended = ran.facts(SessionEnded)[0]
    assert ended.caller_clean_sha256 != ended.caller_sha256
    assert (ended.lost_packets is not None) == channel.startswith("loss")
    # The edges are the manifest's: neither noise nor the line moves them, and the agent stops as it does without.
    onsets = [turn.onset_ms for turn in ran.facts(c.CallerTurnStarted)]
    assert onsets == [turn.onset_ms for turn in clean.facts(c.CallerTurnStarted)]
    assert ended.caller_clean_sha256 == clean.facts(SessionEnded)[0].caller_sha256
    assert [b.stop_delay_ms for b in ran.facts(a.BargeInClosed)] == [
        b.stop_delay_ms for b in clean.facts(a.BargeInClosed)
    ]


def test_the_same_seed_sends_the_same_bytes_and_the_session_says_over_what(tmp_path: Path) -> None:
    spec = "loss:rate=0.05,burst=2,conceal=repeat+telephone+babble:snr=15"
    one, two = (run_session_in(tmp_path / name, "leave-request", channel=spec, max_s=25) for name in "ab")
    sent = [ran.facts(SessionEnded)[0] for ran in (one, two)]
    assert sent[0].caller_sha256 == sent[1].caller_sha256
    assert sent[0].lost_packets == sent[1].lost_packets
    assert sent[0].lost_packets
    started = one.facts(SessionStarted)[0]
    assert started.parameters["channel"] == "babble:snr=15+telephone+loss:rate=0.05,burst=2,conceal=repeat"
    assert len(started.parameters["babble_sha256"]) == 64
    meta = open_recording(one.result.folder).meta
    assert meta.parameters["channel"] == started.parameters["channel"]
    assert f"channel {started.parameters['channel']}" in meta.labels
    assert meta.caller_clean_sha256 == sent[0].caller_clean_sha256


def test_a_clean_channel_sends_the_callers_own_samples() -> None:
    ran = session("leave-request")
    ended = ran.facts(SessionEnded)[0]
    assert (ended.caller_clean_sha256, ended.lost_packets) == (ended.caller_sha256, None)
    assert ran.facts(SessionStarted)[0].parameters["channel"] == "clean"
    assert not [label for label in open_recording(ran.result.folder).meta.labels if "channel" in label]


def test_an_unknown_channel_leaves_no_session_behind(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no channel 'fog'"):
        run_headless(Run(workflow="payment", virtual=True, out=str(tmp_path), channel="fog"), lambda item: None)
    assert not list(tmp_path.iterdir())
