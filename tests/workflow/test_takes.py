"""What an utterance is taken for: by key, by what was asked, by what was written; and the brief that a person speaks by."""

from __future__ import annotations

from dataclasses import replace

from apex_tui.timeline import agent_facts as a
from apex_tui.timeline import caller_facts as c
from apex_tui.timeline import work_facts as w
from apex_tui.timeline.events import AnyFact, Event
from apex_tui.timeline.view import SessionView
from apex_tui.workflow.brief import brief
from apex_tui.workflow.library import find_workflow
from apex_tui.workflow.takes import role_words, takes

LEAVE = find_workflow("leave-request")


class Log:
    """A session written down fact by fact; ``at`` in ms."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.turn = 0

    def add(self, at: float, *facts: AnyFact) -> None:
        for fact in facts:
            self.events.append(Event(len(self.events), at, int(at * 1e6), fact, fact.actor))

    def say(self, at: float, until: float, words: str = "", floor: str = "AFTER_FLOOR_RELEASE") -> None:
        self.turn += 1
        started = c.CallerTurnStarted(
            turn=self.turn, plan="person", act="SPEECH", text="", floor=floor,
            onset_ms=at, ends_ms=at, value_end_ms=at, detected=True,
        )  # fmt: skip
        self.add(at, started)
        self.add(until, c.CallerTurnEnded(turn=self.turn, offset_ms=until))
        if words:
            self.add(until, a.AgentHeardCaller(item=f"i{self.turn}", text=words, final=True))

    def ask(self, at: float, *keys: str, reply: str = "r") -> None:
        self.add(at - 900, a.AgentSpeechStarted(reply=f"{reply}{at}", onset_ms=at - 900))
        self.add(at, a.AgentSpeechEnded(reply=f"{reply}{at}", offset_ms=at))
        self.add(at, *(a.AgentActed(key=key, source="pattern", reply=f"{reply}{at}") for key in keys))

    def write(self, at: float, version: int, **fields: object) -> None:
        changes = tuple(w.FieldChange(field=name, new=value, kind="added") for name, value in fields.items())
        made = w.ArtifactVersion(
            artifact="leave_form",
            version=version,
            digest="d",
            author="agent",
            lifecycle="DRAFT",
            fields=dict(fields),
            changes=changes,
        )
        self.add(at, made)

    def roles(self) -> list[str]:
        state = SessionView.fold(self.events).state
        return [role_words(take.role, take.of) for take in takes(state, LEAVE)]


def test_the_question_before_an_utterance_tells_what_it_answers() -> None:
    log = Log()
    log.say(1000, 2000, "Hello.")
    log.ask(4000, "CONFIRM:employee_id", "ASK:end_date")
    log.say(5000, 6000, "The fourteenth to the eighteenth.")
    log.ask(8000, "CONFIRM:start_date")
    log.say(9000, 9900, "That is right, yes.")
    assert log.roles() == ["opening", "answer to dates", "yes"]


def test_what_was_written_after_it_tells_when_nobody_saw_a_question() -> None:
    log = Log()
    log.say(1000, 2000)
    log.add(3000, a.AgentSpeechStarted(reply="r", onset_ms=3000), a.AgentSpeechEnded(reply="r", offset_ms=4000))
    log.say(5000, 6000)
    log.write(6500, 1, handover_to="Dana Whitfield", working_days=4)
    state = SessionView.fold(log.events).state
    take = takes(state, LEAVE)[1]
    assert (role_words(take.role, take.of), dict(take.says)) == (
        "answer to handover_to",
        {"handover_to": "Dana Whitfield"},
    )


def test_keys_are_certain_and_what_is_said_again_is_not_kept() -> None:
    log = Log()
    log.say(1000, 2000)
    log.add(2500, c.PersonDecided(what="retake", turn=1, key_ms=2500))
    log.say(3000, 4000)
    log.ask(6000, "ASK:employee_id")
    log.say(7000, 8000)
    log.add(
        8100, c.PersonDecided(what="corrected", field="leave_form.start_date", value="2026-12-17", turn=3, key_ms=8100)
    )
    log.write(8500, 1, start_date="2026-12-17", end_date="2026-12-23")
    log.say(9000, 9900)
    log.add(9950, c.PersonDecided(what="approve", action="submit_leave_request", turn=4, key_ms=9950))
    assert log.roles() == ["not kept", "opening", "correction of start_date", "approval"]
    correction = takes(SessionView.fold(log.events).state, LEAVE)[2]
    assert dict(correction.says) == {"start_date": "2026-12-17", "end_date": "2026-12-23"}


def test_a_short_sound_over_the_agent_listens_and_a_second_piece_goes_on() -> None:
    log = Log()
    log.say(1000, 2000)
    log.say(2600, 3500)  # the agent said nothing in between
    log.ask(5000, "ASK:employee_id")
    log.say(6000, 7000)
    log.add(7100, w.ToolCalled(call="c1", name="get_employee", arguments={}, reply=None))
    log.say(8000, 8500, "Mm-hm.", floor="BARGE_IN")
    log.say(9000, 9700, "No, wait, stop that now.", floor="BARGE_IN")
    state = SessionView.fold(log.events).state
    assert log.roles()[:4] == ["opening", "goes on", "answer to employee_id", "back-channel"]
    assert log.roles()[4] != "back-channel"  # as short, but words that claim the floor
    assert takes(state, LEAVE)[3].of == "CALL:get_employee"


def test_what_was_decided_of_a_sound_holds_against_its_length() -> None:
    """Back-channels by words or key stay back-channels, a short "no" that claimed the floor is none, and an echo is no utterance."""
    log = Log()
    log.say(1000, 2000)
    log.ask(5000, "ASK:employee_id")
    for at in (6000, 8000, 10_000, 12_000):
        log.say(at, at + 500, "No.", floor="BARGE_IN")
    log.events = [
        replace(e, fact=e.fact.model_copy(update={"pending": True})) if isinstance(e.fact, c.CallerTurnStarted) else e
        for e in log.events
    ]
    log.add(12_600, c.CallerTurnDecided(turn=2, kind="backchannel", by="words"))
    log.add(12_600, c.PersonDecided(what="listening", turn=3, key_ms=12_600))
    log.add(12_600, c.CallerTurnDecided(turn=3, kind="backchannel", by="key"))
    log.add(12_600, c.PersonDecided(what="interruption", turn=4, key_ms=12_600))
    log.add(12_600, c.CallerTurnDecided(turn=4, kind="turn", by="key"))
    assert log.roles() == ["opening", "back-channel", "back-channel", "answer to employee_id", "back-channel"]
    first = log.events[0]
    assert isinstance(first.fact, c.CallerTurnStarted)
    log.events[0] = replace(first, fact=first.fact.model_copy(update={"pending": False, "echo_suspect": True}))
    assert log.roles()[0] == "not kept"


def test_a_goodbye_follows_the_work_and_no_refusal() -> None:
    refused = w.CommitDecided(call="c", action="submit", target="t", decision="PREMATURE", at="call")
    for fact, role in (
        (refused, "answer to employee_id"),
        (refused.model_copy(update={"decision": "AUTHORIZED", "at": "completion"}), "goodbye"),
    ):
        log = Log()
        log.say(1000, 2000)
        log.ask(5000, "ASK:employee_id")
        log.add(5500, fact)
        log.say(6000, 7000)
        assert log.roles() == ["opening", role]


def test_the_brief_holds_back_what_may_not_be_said_yet() -> None:
    log = Log()
    log.say(1000, 2000)
    log.ask(4000, "ASK:start_date")
    log.say(5000, 6000)
    card = brief(LEAVE, SessionView.fold(log.events).state)
    told = {tell.name: tell.told for tell in card.tell}
    assert (told["leave_type"], told["start_date"], told["end_date"], told["employee_id"]) == (True, True, True, False)
    assert card.not_yet == (("start_date", "2026-12-17"), ("end_date", "2026-12-23"))
    assert card.changes[0].when == "when the agent reads back start_date or end_date"
    log.ask(8000, "CONFIRM:start_date")
    due = brief(LEAVE, SessionView.fold(log.events).state)
    assert (due.not_yet, due.changes[0].due, due.changes[0].done) == ((), True, False)
    log.say(9000, 9900)
    log.add(9950, c.PersonDecided(what="corrected", field="leave_form.start_date", turn=3, key_ms=9950))
    after = brief(LEAVE, SessionView.fold(log.events).state)
    assert after.changes[0].done


def test_a_value_that_was_corrected_is_not_to_be_told_any_more() -> None:
    log = Log()
    log.say(1000, 2000)
    log.ask(3000, "CONFIRM:start_date")
    log.say(4000, 4900)
    before = brief(LEAVE, SessionView.fold(log.events).state)
    assert ("start_date", "2026-12-14", False) in [(tell.name, tell.value, tell.told) for tell in before.tell]
    log.add(4950, c.PersonDecided(what="corrected", field="leave_form.start_date", turn=2, key_ms=4950))
    after = {tell.name: tell.told for tell in brief(LEAVE, SessionView.fold(log.events).state).tell}
    assert (after["start_date"], after["end_date"], after["employee_id"]) == (True, True, False)
