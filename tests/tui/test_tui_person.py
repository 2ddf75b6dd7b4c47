"""The screen of a call at the microphone: what its keys send, and that nothing is approved by accident."""

from __future__ import annotations

from typing import Any

import pytest
import tui_sample as sample
from textual.pilot import Pilot
from tui_fakes import FakeLink, make_app, opened
from tui_pilot import settle, text_of

from apex_tui.timeline import agent_facts as a
from apex_tui.timeline import caller_facts as c
from apex_tui.timeline import session_facts as s
from apex_tui.timeline import work_facts as w
from apex_tui.timeline.events import AnyFact
from apex_tui.timeline.messages import AnyCommand, Decide, HangUp, Mark, Run, Stop
from apex_tui.timeline.view import SessionView
from apex_tui.tui.app import ApexApp
from apex_tui.tui.dialog_approve import ApproveScreen, content_lines
from apex_tui.tui.keys import EVERYWHERE, LIVE, PERSON
from apex_tui.tui.render_transcript import block_lines, blocks
from apex_tui.tui.screen_person import PersonScreen, pending, person_line
from apex_tui.tui.screen_picker import PickerScreen

RUN = Run(workflow="leave-request", caller="microphone")
ASKED = w.ApprovalRequested(
    request="req-2",
    action="submit_leave_request",
    target="leave_form",
    artifact="leave_form",
    version=3,
    digest=sample.SHA,
)
PULSE = c.MicrophonePulse(
    noise_db=-62.0, snr_db=40.0, error_ms=10.0, echo="gate", closed_ms=400.0, input_latency_ms=20, output_latency_ms=60
)


class Call:
    """The app with a call on it, on a clock that the test moves."""

    def __init__(self, *, asked: bool = True) -> None:
        events = sample.until_stale()
        last = events[-1]
        more: list[AnyFact] = [ASKED, PULSE] if asked else [PULSE]
        events += sample.to_events([(last.media_ms + 100, fact) for fact in more], first=last.seq + 1)
        self.link = FakeLink(opened(events))
        self.app = make_app(RUN, link=self.link)
        self.now = 0.0
        self.app._clock = lambda: self.now

    @property
    def sent(self) -> list[AnyCommand]:
        return [command for command in self.link.sent if not isinstance(command, Run)]


async def press(pilot: Pilot[int], *keys: str) -> None:
    for key in keys:
        await pilot.press(key)
        await pilot.pause()


def front(app: ApexApp) -> type:
    return type(app.screen)


async def test_only_y_on_an_armed_question_approves_exactly_what_was_shown() -> None:
    call = Call()
    async with call.app.run_test(size=(120, 36)) as pilot:
        await settle(pilot)
        assert front(call.app) is PersonScreen
        assert "shut while the agent speaks" in text_of(call.app)
        assert "submit_leave_request for leave_form: a shows it" in text_of(call.app)
        await press(pilot, "a")
        shown = text_of(call.app)
        assert "leave_form version 3" in shown
        assert "2026-12-18 → 2026-12-16" in shown
        assert "employee_id" not in shown  # approved before, and the same since
        call.now = 0.4
        await press(pilot, "y", "enter", "space", "a")
        assert front(call.app) is ApproveScreen
        assert call.sent == []
        call.now = 0.6
        await press(pilot, "y")
        assert front(call.app) is PersonScreen
        [sent] = call.sent
        assert isinstance(sent, Decide)
        assert (sent.what, sent.request, sent.digest) == ("approve", "req-2", sample.SHA)
        assert 590 <= sent.shown_ms <= 610


async def test_a_question_that_went_away_is_not_answered() -> None:
    call = Call()
    async with call.app.run_test(size=(100, 30)) as pilot:
        await settle(pilot)
        await press(pilot, "a")
        assert front(call.app) is ApproveScreen
        pending(call.app.screen_stack[-2].feed.state)[0].state = "revoked"  # type: ignore[attr-defined]
        call.now = 5.0
        await pilot.pause(0.3)
        assert front(call.app) is PersonScreen
        assert call.sent == []


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        (
            "microphone",
            "the microphone USB Headset is gone or sends nothing; the session goes on with silence in its place",
        ),
        (
            "timing-degraded",
            "this machine is too slow for trustworthy timings: frames late by 24.0 ms at p99, 17 of them",
        ),
    ],
)
async def test_a_warning_is_said_in_full(code: str, sentence: str) -> None:
    call = Call()
    async with call.app.run_test(size=(120, 36)) as pilot:
        await settle(pilot)
        warning = s.SessionWarning(code=code, message=sentence)
        call.link.items += sample.to_events([(90_000, warning)], first=5000)
        await settle(pilot)
        assert sentence in text_of(call.app)


async def test_a_microphone_and_a_loudspeaker_that_are_gone_at_once_are_both_said() -> None:
    call = Call()
    async with call.app.run_test(size=(120, 36)) as pilot:
        await settle(pilot)
        warnings = [
            s.SessionWarning(code="microphone", message="the microphone x is gone or sends nothing"),
            s.SessionWarning(code="sound-device", message="the sound device y is gone"),
        ]
        call.link.items += sample.to_events([(90_000, warning) for warning in warnings], first=5000)
        await settle(pilot)
        assert "the microphone x is gone or sends nothing · the sound device y is gone" in text_of(call.app)


async def test_no_stop_and_corrections_are_said_by_key() -> None:
    call = Call()
    async with call.app.run_test(size=(120, 36)) as pilot:
        await settle(pilot)
        await press(pilot, "o", "r", "e")
        await press(pilot, *"end_dat", "enter")
        assert "did you mean end_date" in text_of(call.app)
        await press(pilot, "e", *"end_date=7", "enter", "t", *"hm", "enter")
        assert call.sent == [
            Decide(what="deny", request="req-2", digest=sample.SHA, action="submit_leave_request"),
            Decide(what="revoke", action="submit_leave_request"),
            Decide(what="corrected", field="leave_form.end_date", value="7"),
            Mark(note="hm"),
        ]


async def test_hanging_up_ends_in_order_and_leaving_closes_the_microphone() -> None:
    call = Call(asked=False)
    async with call.app.run_test(size=(100, 30)) as pilot:
        await settle(pilot)
        await press(pilot, "a")
        assert "asked for no approval" in text_of(call.app)
        await press(pilot, "g", "g")
        assert call.sent == [HangUp()]
        await press(pilot, "q")
        assert "the microphone closes" in text_of(call.app)
        await press(pilot, "q")
    assert call.sent == [HangUp(), Stop()]
    assert call.link.detached


async def test_m_on_the_picker_makes_you_the_caller() -> None:
    link = FakeLink(opened([]))
    app = make_app(link=link)
    async with app.run_test(size=(120, 36)) as pilot:
        await settle(pilot)
        assert "caller from the speech bank" in text_of(app)
        await press(pilot, "m")
        assert "you call, at the microphone" in text_of(app)
        await press(pilot, "enter")
        await settle(pilot)
        assert front(app) is PersonScreen
        assert [c.caller for c in link.sent if isinstance(c, Run)] == ["microphone"]


async def test_without_a_microphone_the_picker_stays_and_says_why() -> None:
    async def none(_command: Run) -> str | None:
        return "no microphone: no input device"

    link = FakeLink(opened([]))
    app = make_app(link=link)
    object.__setattr__(app.sources, "no_microphone", none)
    async with app.run_test(size=(120, 36)) as pilot:
        await settle(pilot)
        await press(pilot, "m", "enter")
        await settle(pilot)
        assert front(app) is PickerScreen
        assert "no microphone: no input device" in text_of(app)
    assert link.sent == []


def test_no_key_of_a_call_has_two_meanings() -> None:
    named = [key for table in (PERSON, LIVE, EVERYWHERE) for entry in table for key in entry.keys.split(",")]
    assert len(named) == len(set(named))


def test_a_persons_words_are_the_agents_transcript() -> None:
    turn = c.CallerTurnStarted(
        turn=1, plan="person", act="SPEECH", text="", onset_ms=0, ends_ms=0, value_end_ms=0, detected=True
    )
    unheard = SessionView.fold(sample.to_events([(100, turn), (900, c.CallerTurnEnded(turn=1, offset_ms=800))])).state
    said = "\n".join(line.plain for block in blocks(unheard) for line in block_lines(block, 80))
    assert "(spoken; the agent told no words)" in said
    heard = a.AgentHeardCaller(item="i", text="the tenth please", final=True)
    told = SessionView.fold(sample.to_events([(100, turn), (900, heard)])).state
    said = "\n".join(line.plain for block in blocks(told) for line in block_lines(block, 80))
    assert said.count("the tenth please") == 1


def test_the_first_approval_shows_everything_and_hostile_text_stays_text() -> None:
    fields = {"reason": "[bold]\x1b[2J", "days": 3}
    version = w.ArtifactVersion(
        artifact="form", version=1, digest="d", author="agent", lifecycle="DRAFT", fields=fields, stale={"days": "x"}
    )
    asked = w.ApprovalRequested(request="r", action="send", target="form", artifact="form", version=1, digest="d")
    state = SessionView.fold(sample.to_events([(0, version), (10, asked)])).state
    text = "\n".join(line.plain for line in content_lines(state, pending(state)[0], 80))
    assert "the first approval of this: all of it" in text
    assert "[bold]" in text
    assert "\x1b" not in text
    assert "days does not hold any more" in text
    assert "days" in person_line(state, True, 200).plain or "send for form" in person_line(state, True, 200).plain
    assert person_line(state, False, 80).plain.strip() == "○ the microphone is closed"
    assert person_line(state, True, 200).plain.startswith(" ● YOU listening")
    state.undecided_sound = True
    assert person_line(state, True, 200).plain.startswith(" ● YOU a sound …")
    state.microphone = PULSE.model_copy(update={"silent": True})
    assert person_line(state, True, 200).plain.startswith(" ▲ YOU are not heard: the microphone is gone or muted")


def test_values_that_part_late_do_not_look_alike() -> None:
    fields = [{"reason": "word " * 200 + end} for end in ("buys one.", "buys a thousand.")]
    facts: list[tuple[float, Any]] = []
    for number, held in enumerate(fields, 1):
        version = w.ArtifactVersion(
            artifact="form", version=number, digest=f"d{number}", author="agent", lifecycle="DRAFT", fields=held
        )
        asked = w.ApprovalRequested(
            request=f"r{number}", action="send", target="form", artifact="form", version=number, digest=f"d{number}"
        )
        facts += [(number, version), (number, asked)]
    given = w.ApprovalGranted(
        approval="a1",
        request="r1",
        action="send",
        target="form",
        artifact="form",
        version=1,
        digest="d1",
        granted_ms=1.0,
    )
    state = SessionView.fold(sample.to_events([*facts[:2], (1, given), *facts[2:]])).state
    text = " ".join(line.plain.strip() for line in content_lines(state, pending(state)[0], 80))
    assert "since version 1" in text
    assert "buys one." in text
    assert "buys a thousand." in text


async def test_the_keys_that_approve_stay_in_sight_however_much_is_approved() -> None:
    call = Call()
    async with call.app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        version = call.app.screen.feed.state.artifacts["leave_form"].versions[-1]  # type: ignore[attr-defined]
        version.fields.update({f"further_field_{n}": n for n in range(20)})
        await press(pilot, "a")
        await settle(pilot)
        shown = text_of(call.app)
        assert "y       approve" in shown
        assert "escape  decide nothing" in shown
        assert "there is more" in shown
        assert "further_field_19" not in shown
        await press(pilot, "end")
        await settle(pilot)
        assert "further_field_19" in text_of(call.app)
