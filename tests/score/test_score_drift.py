"""Where a value left the way from the caller's mouth to the commit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from score_logs import Log
from work_scenes import Call, Scene, order

from apex_tui.score.verdict_work import Drift
from apex_tui.score.work_drift import drift_of
from apex_tui.timeline.view import SessionView

RIGHT_WORDS = "So that's five hundred fifty-five dollars and twenty-three cents on December third."


def row(scene: Scene, field: str = "amount") -> Drift:
    return next(d for d in scene.work().drift if d.field == f"order.{field}")


def values(drift: Drift) -> tuple[Any, ...]:
    return drift.heard, drift.claimed, drift.in_artifact, drift.approved, drift.committed


def test_nothing_drifts_when_everything_is_right() -> None:
    rows = Scene().work().drift
    assert [d.field for d in rows] == ["order.customer", "order.amount", "order.day", "order.account"]
    assert all((d.first_disagreement, d.klass) == (None, None) for d in rows)
    amount = rows[1]
    assert (amount.said, *values(amount)) == (555.23,) * 6
    assert amount.reason == "the caller said 555.23 for amount at 17.5 s, and nothing disagrees"
    assert list(amount.evidence) == ["said", "heard", "claimed", "artifact", "approved", "committed"]
    log = Scene().log()
    types = {stage: [log.events[seq].type for seq in seqs] for stage, seqs in amount.evidence.items()}
    assert types == {
        "said": ["caller.turn_started"],
        "heard": ["agent.heard_caller"],
        "claimed": ["agent.reply_closed"],
        "artifact": ["artifact.version"],
        "approved": ["artifact.version", "approval.granted"],
        "committed": ["artifact.version", "commit.decided"],
    }
    assert rows[3].claimed is None  # nobody read the account back, which is no disagreement


@pytest.mark.parametrize(
    ("scene", "first", "klass", "stages"),
    [
        (
            Scene(heard_amount="make it five hundred and fifty", amounts=(550,), read_back="So that's $550."),
            "heard", "misheard", (550, 550, 550, 550, 550),
        ),
        (
            Scene(amounts=(), read_back="So that's five hundred dollars."),
            "claimed", "misplanned", (555.23, 500, 500, 500, 500),
        ),
        (Scene(amounts=(555.32,), read_back="Shall I?"), "artifact", "misplanned", (555.23, None, 555.32, 555.32, 555.32)),
        (Scene(amounts=(555.32,), read_back=RIGHT_WORDS), "artifact", "miswritten", (555.23, 555.23, 555.32, 555.32, 555.32)),
        (Scene(heard_amount=None, amounts=(555.32,), read_back=RIGHT_WORDS), "artifact", "miswritten", (None, 555.23, 555.32, 555.32, 555.32)),
        (Scene(amounts=(555.23, 500), read_back=RIGHT_WORDS), "artifact", "overwritten", (555.23, 555.23, 500, 500, 500)),
        (Scene(heard_amount=None, amounts=(), read_back="Shall I?"), "artifact", "unknown", (None, None, 500, 500, 500)),
        (Scene(heard_amount="mumble", amounts=(), read_back="Shall I?"), "artifact", "unknown", (None, None, 500, 500, 500)),
        (Scene(read_back="So that's five hundred dollars."), "claimed", None, (555.23, 500, 555.23, 555.23, 555.23)),
        (Scene(heard_amount="five hundred"), "heard", None, (500, 555.23, 555.23, 555.23, 555.23)),
    ],
)  # fmt: skip
def test_where_a_critical_value_went_wrong(
    scene: Scene, first: str, klass: str | None, stages: tuple[Any, ...]
) -> None:
    drift = row(scene)
    assert (drift.first_disagreement, drift.klass, values(drift)) == (first, klass, stages)
    others = [d.first_disagreement for d in scene.work().drift if d.field != "order.amount"]
    assert others == [None] * 3


def test_the_reason_names_the_words_the_place_and_the_class() -> None:
    assert row(Scene(amounts=(555.23, 500), read_back=RIGHT_WORDS)).reason == (
        "the caller said 555.23 for amount at 17.5 s, and the artifact holds 500: written right and overwritten later"
    )
    assert row(Scene(read_back="So that's five hundred dollars.")).reason == (
        "the caller said 555.23 for amount at 17.5 s, and the agent said 500"
    )


def call() -> Call:
    log = Call()
    log.start()
    return log


def test_a_field_that_is_not_critical_has_no_class_and_a_missing_one_counts_at_the_end() -> None:
    log = call()
    log.says(1000, 1, {"account": "checking", "customer": "407193"}, "from checking, four zero seven one nine three")
    log.writes(3000, account="savings")
    open_rows = drift_of(SessionView.fold(log.events).state, order())
    assert [(d.field, d.first_disagreement, d.klass) for d in open_rows] == [
        ("order.customer", None, None),  # the agent may still write it
        ("order.account", "artifact", None),
    ]
    log.end(5000)
    rows = drift_of(SessionView.fold(log.events).state, order())
    assert [(d.field, d.first_disagreement, d.klass) for d in rows] == [
        ("order.customer", "artifact", "misplanned"),
        ("order.account", "artifact", None),
    ]
    assert rows[0].reason.endswith("and the artifact holds nothing: heard right and not acted upon")


def test_nothing_written_at_all() -> None:
    log = call()
    log.says(1000, 1, {"customer": "407193", "unknown_field": 3}, None)
    assert drift_of(SessionView.fold(log.events).state, order())[0].first_disagreement is None
    log.end(3000)
    (drift,) = drift_of(SessionView.fold(log.events).state, order())
    assert (drift.first_disagreement, drift.klass, drift.in_artifact) == ("artifact", "unknown", None)


def test_an_approval_of_an_older_version_disagrees_first_where_it_was_given() -> None:
    log = call()
    log.says(1000, 1, {"amount": 500}, "five hundred")
    log.writes(2500, amount=600)
    log.asks(3000)
    log.writes(3500, amount=500)
    log.approves(5000, 2, 3000, version=1)
    log.commits(6000)
    log.end(8000)
    (drift,) = drift_of(SessionView.fold(log.events).state, order())
    assert (drift.first_disagreement, drift.approved, drift.committed) == ("approved", 600, 500)


def test_an_approval_that_came_before_the_words_says_nothing_of_them() -> None:
    log = call()
    log.says(1000, 1, {"amount": 500}, None)
    log.writes(2500, amount=500)
    log.asks(3000)
    log.approves(5000, 2, 3000)
    log.says(7000, 3, {"amount": 555.23}, None)
    (drift,) = drift_of(SessionView.fold(log.events).state, order())
    assert (drift.approved, drift.in_artifact, drift.first_disagreement) == (None, 500, "artifact")


def test_live_a_statement_counts_from_the_end_of_its_words() -> None:
    log = Scene().log()

    def amount(at: float) -> tuple[Any, Any, Any]:
        state = SessionView.at(log.events, at).state
        found = next(d for d in drift_of(state, order()) if d.field == "order.amount")
        return found.said, found.in_artifact, found.first_disagreement

    assert amount(17600) == (500, 500, None)  # the new amount is still being spoken
    assert amount(18500) == (555.23, 500, "artifact")
    assert amount(19150) == (555.23, 555.23, None)


def test_words_said_before_the_correction_are_no_claim_after_it() -> None:
    log: Log = Scene(read_back="Shall I?").log()
    found = next(d for d in drift_of(SessionView.fold(log.events).state, order()) if d.field == "order.amount")
    assert found.claimed is None


def repeated(*, mended: bool) -> Drift:
    """The caller changes the amount, hears the old one read back, says yes, and then says the new one again."""
    log = call()
    log.says(1000, 1, {"amount": 500}, "five hundred")
    log.writes(2500, amount=500)
    log.says(4000, 2, {"amount": 555.23}, "five hundred fifty-five dollars and twenty-three cents", act="CORRECT")
    log.asks(6000)
    log.speaks(6500, "r1", "So that's five hundred dollars. Shall I pay it?")
    log.approves(9000, 3, 6000)
    log.says(10_500, 4, {"amount": 555.23}, "five hundred fifty-five dollars and twenty-three cents")
    if mended:
        log.writes(12_000, amount=555.23)
        log.asks(12_500)
        log.approves(14_000, 5, 12_500)
    log.commits(15_000)
    log.end(18_000)
    (drift,) = drift_of(SessionView.fold(log.events).state, order())
    return drift


def test_a_wrong_read_back_that_made_the_caller_say_it_again_is_where_it_went_wrong() -> None:
    drift = repeated(mended=False)
    assert (drift.first_disagreement, drift.klass, values(drift)) == (
        "claimed",
        "misplanned",
        (555.23, 500, 500, 500, 500),
    )
    assert drift.reason == (
        "the caller said 555.23 for amount at 4.0 s and at 10.5 s, and the agent said 500: heard right and not acted upon"
    )
    assert len(drift.evidence["said"]) == 2


def test_a_wrong_read_back_that_was_put_right_when_the_caller_said_it_again_is_no_drift() -> None:
    drift = repeated(mended=True)
    assert (drift.first_disagreement, values(drift)) == (None, (555.23, None, 555.23, 555.23, 555.23))
    assert drift.reason == "the caller said 555.23 for amount at 10.5 s, and nothing disagrees"


def test_a_value_that_is_said_once_more_at_the_end_was_claimed_and_approved_before() -> None:
    log = call()
    log.says(1000, 1, {"amount": 500}, "five hundred")
    log.writes(2500, amount=500)
    log.asks(3000)
    log.speaks(3500, "r1", "So that's five hundred dollars. Shall I pay it?")
    log.approves(6000, 2, 3000)
    log.says(7500, 3, {"amount": 500}, "five hundred")
    log.commits(9000)
    (drift,) = drift_of(SessionView.fold(log.events).state, order())
    assert (drift.first_disagreement, values(drift)) == (None, (500,) * 5)
    assert drift.reason == "the caller said 500 for amount at 1.0 s and at 7.5 s, and nothing disagrees"


def test_a_write_that_changes_nothing_is_not_what_put_the_value_there() -> None:
    log = call()
    log.says(1000, 1, {"amount": 500}, None)
    log.writes(2500, amount=500)
    written = len(log.events) - 2
    log.writes(3000, amount=500)
    event = log.events[-2]
    same = event.fact.changes[0].model_copy(update={"kind": "same"})  # type: ignore[union-attr]
    log.events[-2] = replace(event, fact=event.fact.model_copy(update={"changes": (same,)}))
    (drift,) = drift_of(SessionView.fold(log.events).state, order())
    assert drift.evidence["artifact"] == (written,)
