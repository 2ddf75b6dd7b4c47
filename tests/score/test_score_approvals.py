"""Approvals against the words that they answered, and critical values against the words that confirmed them."""

from __future__ import annotations

from typing import Any

import pytest
from work_scenes import Call, Scene, begun, measured, order, written_late

from apex_tui.cli.scoring import work_lines
from apex_tui.score.known_values import KnownValues
from apex_tui.score.unknown_values import made_up, values_of
from apex_tui.score.verdict_work import MISREAD_APPROVAL
from apex_tui.score.work_approvals import Misread, approval_flags, misread
from apex_tui.timeline import agent_facts as a
from apex_tui.timeline import work_facts as w
from apex_tui.timeline.view import SessionView
from apex_tui.workflow.work_model import FieldSpec

KNOWN = KnownValues(order())

# --- approvals ---------------------------------------------------------------------------------------------------------------------------

COVERED = {"order.amount": 555.23, "order.day": "2026-12-03", "order.account": "checking"}


@pytest.mark.parametrize(
    ("heard", "unheard", "wrong"),
    [
        ("So that's $555.23 on December third.", "", []),
        ("It was $500 and now it is $555.23.", "", []),
        ("Shall I pay it?", "", []),  # what is left out is no fault of the words
        ("So that's five hundred dollars.", "", [("amount", 500)]),
        ("$500 on the thirtieth from checking.", "", [("amount", 500), ("day", "2026-12-30")]),
        ("So that's $555.23", " on December third. Shall I?", [("day", None)]),
        ("So that's $555.23 on December third.", " Shall I pay it?", []),
        ("$500", " on December third", [("amount", 500), ("day", None)]),
        ("Thank you, 407193.", "", []),  # the version holds no number
        ("So that's $555.23 on December nineteenth.", "", [("day", "December 19")]),  # a day that nobody knows
        ("$555.23 on December third; we close on December nineteenth.", "", []),  # no field is left out for it
    ],
)
def test_a_read_back_against_what_it_covers(heard: str, unheard: str, wrong: list[tuple[str, Any]]) -> None:
    assert misread(heard, unheard, COVERED, KNOWN) == [Misread(f"order.{name}", value) for name, value in wrong]


PHONE = FieldSpec(name="phone", type="string", grader="normalized_phone")


@pytest.mark.parametrize(
    ("heard", "strange"),
    [
        ("I reach you on five five five, oh one four three.", [("form.phone", "5550143")]),
        ("I reach you on five five five, oh one four two.", []),  # it is the field's value
        ("That is ticket four four one seven zero two nine.", []),  # known from elsewhere
        ("On 5550143 or 5550144.", []),  # two: which one stands for the field is not known
        ("In 2026, for 1250 dollars.", []),  # too short to be told from other numbers
    ],
)
def test_a_made_up_number_in_place_of_a_field(heard: str, strange: list[tuple[str, str]]) -> None:
    covered = {"form.phone": "555-0142", "form.name": "Ana"}
    known = values_of("5550142") | {"4417029"}
    assert list(made_up(heard, covered, (), {"form.phone": PHONE}, lambda: known)) == strange


def test_an_approval_after_another_value_was_read_back() -> None:
    work = Scene(read_back="So that's five hundred dollars on December third. Shall I pay it?").work()
    (row,) = work.misread_approvals
    assert (row.approval, row.action, row.kind, row.field) == ("apr25000", "pay", "other_value", "order.amount")
    assert (row.read_back, row.covered) == (500, 555.23)
    assert row.reason == "amount was read back as 500, and the approved version 6 holds 555.23"
    assert [u.field for u in work.confirmations.unconfirmed] == ["order.amount"]


def test_an_approval_of_words_that_were_cut_off() -> None:
    work = Scene(read_back_heard="So that's five hundred fifty-five dollars and twenty-three cents on").work()
    assert [(row.kind, row.field) for row in work.misread_approvals] == [
        ("cut_off", "order.day"),
        ("cut_off", "order.arrival"),
    ]
    assert work.misread_approvals[0].reason == (
        "the read-back was cut off before day was heard, and the approved version 6 holds 2026-12-03"
    )
    whole = Scene().read_back
    assert Scene(read_back_heard=whole.removesuffix(" Shall I pay it?")).work().misread_approvals == ()


@pytest.mark.parametrize(
    ("how", "played_ms", "wrong", "confirmed"),
    [("played", 2000, [], 3), ("flushed", 500, [], 1), ("flushed", 0, ["cut_off"] * 3, 1)],
)
def test_words_written_after_their_reply_closed_are_unheard_only_where_nothing_of_it_was_heard(
    how: str, played_ms: float, wrong: list[str], confirmed: int
) -> None:
    """Heard to its end: all its words were. Cut off somewhere: nobody knows how far into them. Cut off before its first sound: none."""
    log = written_late(Scene().log(), "r4", how, played_ms)
    work = measured(log)
    assert [row.kind for row in work.misread_approvals] == wrong
    assert flags(log) == [(MISREAD_APPROVAL,) if wrong else ()]
    assert work.confirmations.confirmed == confirmed
    assert {row.field: row.claimed for row in work.drift}["order.amount"] == (555.23 if how == "played" else None)


def flags(log: Call) -> list[tuple[str, ...]]:
    """As the engine derives them: at the grant, from what was known then."""
    view, known, found = SessionView(), KnownValues(order()), []
    for event in log.events:
        if isinstance(event.fact, w.ApprovalGranted):
            found.append(approval_flags(view.state, event.fact, known))
        view.apply(event)
    return found


@pytest.mark.parametrize(
    "scene",
    [
        Scene(), Scene(read_back="So that's $500."), Scene(read_back_heard="So that's"), Scene(read_back="Shall I?"),
        Scene(amounts=(555.23, 500)), Scene(amounts=()),
    ],
)  # fmt: skip
def test_the_live_flag_and_the_score_find_the_same(scene: Scene) -> None:
    rows = scene.work().misread_approvals
    assert flags(scene.log()) == [(MISREAD_APPROVAL,) if rows else ()]


def asked(*, reads: str | None, closes: bool) -> Call:
    """The caller says yes while the read-back still sounds, or (``closes``) after it."""
    log = begun()
    log.says(1000, 1, {"amount": 500}, None)
    log.writes(2500, amount=500)
    log.asks(3000)
    log.reply(3200, "r1")
    text = "That is five hundred dollars. Shall I?"
    log.add(3300, a.AgentSaid(reply="r1", item="ir1", text=text, final=True))
    if reads is not None:
        log.add(4000, a.AgentActed(key="CONFIRM:amount", source="lexical", reply="r1", evidence=reads))
    if closes:
        log.closed(5000, "r1", text=text)
    log.caller(2, 5500, 5900, "BACKCHANNEL")
    log.approves(6000, 3, 3000)
    return log


def test_a_yes_while_the_read_back_still_sounds_counts_what_was_read_by_then() -> None:
    assert measured(asked(reads="That is five hundred dollars.", closes=False)).misread_approvals == ()
    (row,) = measured(asked(reads=None, closes=False)).misread_approvals
    assert (row.kind, row.field) == ("cut_off", "order.amount")
    assert measured(asked(reads=None, closes=True)).misread_approvals == ()


def test_an_approval_of_nothing_that_is_known() -> None:
    log = begun()
    log.speaks(1000, "r1", "Five hundred dollars?")
    log.approves(4000, 1, 3000, version=7)  # neither the request nor the version is in the log
    assert measured(log).misread_approvals == ()


# --- confirmations -----------------------------------------------------------------------------------------------------------------------


def test_a_critical_value_that_was_never_spoken_back() -> None:
    told = Scene(read_back="So it goes out on December third. Shall I?").work().confirmations
    assert (told.confirmed, told.n) == (2, 3)
    (row,) = told.unconfirmed
    assert (row.field, row.value, row.call) == ("order.amount", 555.23, "t10")
    assert row.reason == "amount 555.23 was committed by pay and never spoken back before"
    assert work_lines(Scene(read_back="It goes out on December third.").work())[0] == (
        "work            2 of 3 critical values confirmed"
    )


def test_words_after_the_commit_confirm_nothing() -> None:
    scene = Scene(read_back="Shall I?", closing="Done: $555.23 on December third.")
    assert [row.field for row in scene.work().confirmations.unconfirmed] == ["order.day", "order.amount"]


def test_a_commit_that_was_refused_needs_no_confirmation() -> None:
    assert Scene(decision="PREMATURE").work().confirmations.n == 0


@pytest.mark.parametrize(
    ("source", "at", "confirmed"), [("pattern", 3000.0, 1), ("lexical", 3000.0, 0), ("pattern", 1500.0, 0)]
)
def test_a_packages_own_pattern_confirms_what_the_caller_said_before(source: Any, at: float, confirmed: int) -> None:
    log = begun()
    log.caller(1, 1000, 2000, values={"amount": 500})
    if at < 2000:
        log.add(at, a.AgentActed(key="CONFIRM:amount", source=source))
    log.writes(2500, amount=500)
    if at > 2000:
        log.add(at, a.AgentActed(key="CONFIRM:amount", source=source))
    log.commits(4000)
    told = measured(log).confirmations
    assert (told.confirmed, told.n) == (confirmed, 1)


def test_a_reply_that_still_sounds_confirms_what_was_read_of_it() -> None:
    log = begun()
    log.writes(1000, amount=500)
    log.reply(2000, "r1")
    log.add(3000, a.AgentActed(key="CONFIRM:amount", source="lexical", reply="r1", evidence="five hundred dollars"))
    log.commits(4000)
    assert measured(log).confirmations.confirmed == 1


@pytest.mark.parametrize(("remark_at", "confirmed"), [(500.0, 0), (3000.0, 1)])
def test_what_the_agent_says_of_a_value_before_the_caller_does_confirms_nothing(
    remark_at: float, confirmed: int
) -> None:
    log = begun()
    if remark_at < 1000:
        log.speaks(remark_at, "r1", "I see five hundred dollars here.", length=400)
    log.says(1000, 1, {"amount": 500}, None)
    log.writes(2500, amount=500)
    if remark_at > 1000:
        log.speaks(remark_at, "r1", "I see five hundred dollars here.", length=400)
        log.says(3500, 2, {"amount": 500}, None)  # yes, five hundred
    log.commits(5000)
    told = measured(log).confirmations
    assert (told.confirmed, told.n) == (confirmed, 1)
