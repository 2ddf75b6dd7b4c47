"""Our recipes: what is derived from them is what their author would have written by hand."""

from __future__ import annotations

import pytest
from workflow_recipes import RECIPES, changed, plan_after, recipe, steps, text_of

from apex_tui.timeline.errors import WorkflowError
from apex_tui.workflow.compile import compile_text
from apex_tui.workflow.forms import states, without
from apex_tui.workflow.lines import without_pauses
from apex_tui.workflow.model import Workflow


def test_the_leave_request_asks_for_what_only_the_caller_knows() -> None:
    leave = recipe("leave-request")
    assert (leave.id, leave.title, leave.archetype, leave.source) == (
        "leave-request",
        "Leave request",
        "FORM_FILL",
        "recipe",
    )
    assert leave.world["today"] == "2026-11-30"
    assert leave.caller.voice == "am_michael"
    assert leave.autonomy.level == "A3_APPROVAL_GATED_COMMIT"
    assert leave.autonomy.approval_required_for == ("submit_leave_request",)
    assert leave.duplex_events == ("MID_SPEECH_CORRECTION", "CANCELLATION_REVOCATION", "BACKCHANNEL")
    start = leave.fact("start_date")
    moved = leave.fact("start_date_v2")
    assert start is not None
    assert moved is not None
    assert (start.value, start.field) == ("2026-12-14", "leave_form.start_date")
    assert set(start.reveal.agent_acts) == {"ASK:start_date", "MISREAD:start_date", "ASK:end_date", "MISREAD:end_date"}
    assert (moved.value, moved.supersedes, moved.reveal.events) == ("2026-12-17", "start_date", ("change_dates",))
    assert moved.reveal.agent_acts == ()
    volunteered = leave.fact("leave_type")
    assert volunteered is not None
    assert volunteered.reveal.may_volunteer


def test_what_follows_from_another_field_is_written_after_it_wherever_it_is_declared() -> None:
    """In the official profile the later write of a source makes what follows from it stale again, within one call, too."""
    text = text_of("leave-request")
    start, end = text.index("    working_days:\n      type"), text.index("    balance_after:\n      type")
    after = text.index("    approver:\n      type")
    swapped = compile_text(text[:start] + text[end:after] + text[start:end] + text[after:], "leave-request.yaml")
    shape = swapped.artifacts["leave_form"].shape
    assert shape is not None
    names = [field.name for field in shape.fields]
    assert names.index("balance_after") < names.index("working_days")
    for turn in swapped.reference.turns:
        for step in turn.steps:
            written = list(step.args.get("fields", ()))
            if "balance_after" in written:
                assert written.index("working_days") < written.index("balance_after")
    assert any(
        "balance_after" in step.args.get("fields", ()) for turn in swapped.reference.turns for step in turn.steps
    )


def test_what_follows_from_the_dates_is_computed_for_each_stage() -> None:
    leave = recipe("leave-request")
    shape = leave.artifacts["leave_form"].shape
    assert shape is not None
    start, days, status = shape.field("start_date"), shape.field("working_days"), shape.field("status")
    assert start is not None
    assert days is not None
    assert status is not None
    assert (start.type, start.grader, start.critical, start.dependents) == (
        "string",
        "normalized_date",
        True,
        ("working_days", "balance_after"),
    )
    assert (days.type, days.grader, days.tolerance, days.dependents) == (
        "integer",
        "numeric_tolerance",
        0.0,
        ("balance_after",),
    )
    assert status.enum == ("draft", "submitted")
    writes = [
        step.args["fields"] for turn in leave.reference.turns for step in turn.steps if step.call == "update_leave_form"
    ]
    assert writes[-3] == {"working_days": 5, "balance_after": 6, "approver": "Priya Nair"}
    assert writes[-2] == {"start_date": "2026-12-17", "end_date": "2026-12-23"}
    assert writes[-1] == {"working_days": 4, "balance_after": 7}


def test_the_order_of_the_derived_dialogue() -> None:
    leave = recipe("leave-request")
    call = leave.flow.states["CALL"]
    assert leave.flow.start == "CALL"
    assert call.on_enter is not None
    assert (call.on_enter.plan_id, call.on_enter.facts) == ("open", ("leave_type",))
    assert leave.flow.states["DONE"].terminal
    acts = [step.do.act for step in steps(leave) if step.do]
    assert acts[:4] == ["CORRECT", "BACKCHANNEL", "APPROVE", "APPROVE"]
    assert set(acts[4:-2]) == {"ANSWER"}
    assert acts[-2:] == ["ACKNOWLEDGE", "END"]
    assert [step.next for step in steps(leave)] == ["CALL"] * (len(acts) - 1) + ["DONE"]
    correct, back, approve = (step.do for step in steps(leave)[:3])
    assert correct is not None
    assert back is not None
    assert approve is not None
    assert (correct.floor_action, correct.event_id, correct.revokes) == (
        "BARGE_IN",
        "change_dates",
        "submit_leave_request",
    )
    assert correct.facts == ("start_date_v2", "end_date_v2")
    assert (back.floor_action, back.facts) == ("BACKCHANNEL", ())
    assert approve.approves == "submit_leave_request"
    assert steps(leave)[2].when.events_done == ("change_dates",)
    assert steps(leave)[-1].when.committed == "submit_leave_request"


def test_a_question_is_answered_with_what_holds_now() -> None:
    leave = recipe("leave-request")
    none, changed_dates = frozenset[str](), frozenset({"change_dates"})
    for act in ("ASK:start_date", "ASK:end_date", "MISREAD:start_date"):
        assert plan_after(leave, act, none) == "ans_dates"
        assert plan_after(leave, act, changed_dates) == "ans_dates_after_change_dates"
    assert plan_after(leave, "ASK:handover_to", changed_dates) == "ans_handover_to"


def test_the_correction_is_due_at_the_read_back_or_when_approval_is_asked_for() -> None:
    event = recipe("leave-request").event("change_dates")
    assert event is not None
    triggers = [event.trigger, *event.also]
    assert [t.agent_act for t in triggers] == [
        "CONFIRM:start_date", "CONFIRM:end_date", None, "REQUEST_APPROVAL:submit_leave_request",
    ]  # fmt: skip
    assert triggers[2].approval_request == "submit_leave_request"
    assert (event.type, event.delivery, event.expected_floor_action) == ("MID_SPEECH_CORRECTION", "BARGE_IN", "YIELD")
    assert event.expected_repairs == (
        "leave_form.start_date", "leave_form.end_date", "leave_form.working_days", "leave_form.balance_after",
    )  # fmt: skip
    assert event.forbidden_tool_commits == ("submit_leave_request",)


def test_the_tools_follow_from_what_they_are_for() -> None:
    payment = recipe("payment")
    verify, lookup, update, ask, commit = (
        payment.tool(name)
        for name in ("verify_identity", "get_payment", "update_payment_order", "request_approval", "schedule_payment")
    )
    assert verify is not None
    assert lookup is not None
    assert update is not None
    assert ask is not None
    assert commit is not None
    assert verify.effect == {"match": {"customer_number": "customer.number", "date_of_birth": "customer.date_of_birth"}}
    assert [param.name for param in verify.params] == ["customer_number", "date_of_birth"]
    assert (lookup.handler, lookup.needs_identity, [param.name for param in lookup.params]) == (
        "get_entity",
        True,
        ["entity_id"],
    )
    assert (update.tool_class, update.effect) == ("reversible_draft", {"artifact_id": "payment_order"})
    assert (ask.commit_action_type, ask.commits) == ("schedule_payment", False)
    assert [param.required for param in ask.params] == [True, False]
    assert (commit.commits, commit.reversible, commit.commit_action_type) == (True, False, "schedule_payment")
    assert commit.effect["set_fields"] == {"status": "scheduled"}
    assert (commit.params[0].enum, commit.params[0].description) == (None, "What is committed: payment_order.")


def test_the_gold_predicates_follow_from_the_outcome() -> None:
    gold = recipe("payment").gold
    assert [(row.kind, row.args) for row in gold.terminal_state] == [
        ("artifact_lifecycle_at_least", {"artifact_id": "payment_order", "state": "COMMITTED"}),
        ("state_equals", {"path": "ledger.PMT-8841", "value": "rescheduled"}),
    ]
    assert [row.kind for row in gold.required_actions] == ["commit_authorized", "tool_called", "tool_called"]
    assert gold.required_evidence[0].kind == "kb_gold_retrieved"
    assert [gate.predicate.kind for gate in gold.critical_gates] == [
        "no_unauthorized_commit",
        "no_commit_after_revocation",
        "tool_called",
    ]
    hand_over = gold.critical_gates[-1]
    assert (hand_over.id, hand_over.must_hold) == ("no_handover", False)
    assert hand_over.predicate.args == {"tool": "hand_over_to_human"}
    assert ("verify_identity", "get_payment") in [(order.before, order.after) for order in gold.precedence]
    (form,) = gold.artifact_expectations
    fields = {row.field: row for row in form.fields}
    assert len(fields) == 10
    assert (fields["amount"].expected, fields["amount"].grader, fields["amount"].tolerance) == (
        555.23,
        "numeric_tolerance",
        0.001,
    )
    assert fields["arrival_date"].expected == "2026-12-09"
    assert form.must_not_be_stale == ("payment_id", "payee", "previous_date", "amount", "arrival_date")


def test_the_payment_reference_verifies_first_and_reacts_to_what_it_hears() -> None:
    payment = recipe("payment")
    turns = {turn.after: turn for turn in payment.reference.turns}
    assert next(iter(turns)) == "open"
    assert [step.call for step in turns["ans_date_of_birth"].steps] == ["verify_identity", "get_payment", None]
    assert turns["ans_date_of_birth"].steps[0].args == {"customer_number": "407193", "date_of_birth": "1984-05-09"}
    assert [step.call for step in turns["change_amount"].steps] == [
        "update_payment_order", "update_payment_order", "request_approval", None,
    ]  # fmt: skip
    assert turns["change_amount"].steps[0].args == {"fields": {"amount": 555.23}}
    assert turns["change_amount"].steps[1].args == {"fields": {"arrival_date": "2026-12-09"}}
    confirm = turns["change_amount"].steps[-1]
    assert confirm.clip == "agent.after_change_amount"
    assert "five hundred fifty-five dollars and twenty-three cents" in (confirm.say or "")
    assert (confirm.say or "").endswith("Shall I schedule it?")
    read_back = turns["ans_reference"].steps[-1]
    assert "Five hundred dollars" in (read_back.say or "")
    assert "?" not in (read_back.say or "")
    assert [step.call for step in turns["approve"].steps] == ["schedule_payment", None]
    assert [turn.after for turn in payment.reference.turns if turn.end_call] == ["approve"]
    called = [step.call for turn in payment.reference.turns for step in turn.steps if step.call]
    assert called.index("verify_identity") < called.index("get_payment")


def test_every_wording_of_the_new_amount_pauses_inside_it() -> None:
    payment = recipe("payment")
    wording = payment.wording("change_amount")
    assert wording is not None
    assert len(wording.variants) >= 2
    for variant in wording.variants:
        assert "five hundred <pause 2.0s> fifty-five twenty-three" in variant.text.lower()


@pytest.mark.parametrize("name", RECIPES)
def test_superseded_values_are_spoken_by_nothing_that_follows(name: str) -> None:
    workflow = recipe(name)
    old = [fact for fact in workflow.facts if any(other.supersedes == fact.id for other in workflow.facts)]
    assert old
    for fact in old:
        newer = next(other for other in workflow.facts if other.supersedes == fact.id)
        field = fact.id
        forms = workflow.observer.forms[field]
        now, before = forms[str(newer.value)], forms[str(fact.value)]
        for wording in workflow.wordings:
            if newer.id in wording.variants[0].expressed_fact_ids:
                for variant in wording.variants:
                    said = without_pauses(variant.text)
                    assert any(states(said, form) for form in now)
                    assert not any(states(without(said, now), form) for form in before)


def test_the_observer_knows_names_and_forms() -> None:
    observer = recipe("leave-request").observer
    assert {"employee number", "employee id", "staff number"} <= set(observer.lexicon["employee_id"])
    assert set(observer.forms["start_date"]) == {"2026-12-14", "2026-12-17"}
    assert {"December 14", "the fourteenth", "14 December", "2026-12-14", "the seventeenth"} <= set(
        observer.values["start_date"]
    )
    amount = recipe("payment").observer.forms["amount"]
    assert {"500 dollars", "five hundred"} <= set(amount["500"])
    assert "$555.23" in amount["555.23"]
    assert "December thirtieth" in recipe("payment").observer.forms["payment_date"]["2026-12-30"]
    assert "the thirtieth" not in recipe("payment").observer.values["payment_date"]


@pytest.mark.parametrize(
    ("name", "old", "new", "told"),
    [
        ("leave-request", "    ask: What kind", "    asks: What kind", "facts.leave_type.asks: unknown key"),
        ("leave-request", "archetype: FORM_FILL", "archetype: FORM", "archetype: input should be"),
        ("leave-request", "      enum: [annual, parental, sick, unpaid]", "      enum: annual",
         "artifact.fields.leave_type.enum: should be a list, such as [one, two], found 'annual'"),
        ("leave-request", "    status: submitted\n", "    status: [submitted]\n", "outcome.fields.status: should be a text, a number, true or false"),
        ("leave-request", "id: leave-request", "id: 12", "id: should be a text, found 12; put it in quotes"),
        ("leave-request", "fills: {handover_to:", "fills: {handover:", "facts.handover_to.fills.handover: there is no field or topic 'handover'"),
        ("leave-request", "less: working_days", "less: workdays", "artifact.fields.balance_after.computed.args.less: 'workdays' is neither"),
        ("leave-request", "function: working_days", "function: days", "computed.function: there is no function 'days'; there are working_days"),
        ("leave-request", "end: end_date, ", "", "artifact.fields.working_days.computed.args: working_days takes start, end, holidays"),
        ("leave-request", "start_date: 2026-12-14", "start_date: 2026-12-41", "facts.dates.fills.start_date: '2026-12-41' is no date"),
        ("leave-request", "      dates:\n        - \"From", "      other:\n        - \"From",
         "corrections.change_dates.again: needs wordings for 'dates'"),
        ("leave-request", "call: get_employee,", "call: get_staff,", "facts.employee_id.then.0.call: there is no tool 'get_staff'"),
        ("leave-request", "so {working_days}", "so {days}", "agent.read_back: there is no field or topic 'days'"),
        ("leave-request", "      - \"Uh-huh.\"\n", "", "backchannels.listening.say: needs two wordings or more"),
        ("leave-request", "    status: submitted\n", "", "outcome.fields: the required field 'status' is missing"),
        ("leave-request", "  action: submit_leave_request", "  action: submit", "approval.action: there is no commit tool 'submit'"),
        ("leave-request", "change_dates:", "nudge:", "corrections.nudge: is taken"),
        ("leave-request", "onset_ms: [5700, 7600]", "onset_ms: [7600, 5700]", "corrections.change_dates.onset_ms: ends before it begins"),
        ("leave-request", "onset_ms: [1800, 3200]", "onset_ms: [3200, 1800]", "backchannels.listening.onset_ms: ends before it begins"),
        ("leave-request", "revokes: submit_leave_request", "revokes: send", "corrections.change_dates.revokes: there is no commit tool 'send'"),
        ("leave-request", "\"CONFIRM:end_date\"]", "\"CONFIRM:last\"]", "corrections.change_dates.when: there is no field or topic 'last'"),
        ("leave-request", "reveals: [leave_type]", "reveals: [kind]", "caller.opening.reveals: there is no fact 'kind'"),
        ("leave-request", "      enum: [annual, parental, sick, unpaid]\n", "", "artifact.fields.leave_type.enum: an enum needs its values"),
        ("leave-request", "fills: {leave_type: annual}", "fills: {leave_type: yearly}", "facts.leave_type.fills.leave_type: 'yearly' is none of"),
        ("leave-request", "      names: [phone number, telephone number, contact number, reach you, call you]\n", "",
         "contact_during_leave.names: needs names"),
        ("leave-request", "fills: {handover_to: Dana Whitfield}", "fills: {handover_to: Dana Whitfield, working_days: 5}",
         "working_days: is computed"),
        ("leave-request", "fills: {handover_to: Dana Whitfield}", "fills: {handover_to: D, employee_id: E1}",
         "employee_id: is told by 'employee_id' already"),
        ("leave-request", "    sets: {status: submitted}\n", "", "artifact.fields.status: is neither told, computed nor set by a commit"),
        ("leave-request", "sets: {status: submitted}", "sets: {state: submitted}",
         "tools.submit_leave_request.sets.state: there is no field 'state'"),
        ("leave-request", "    kind: search\n", "    kind: search\n    sets: {status: x}\n",
         "tools.search_knowledge.sets: belongs to a tool of kind commit"),
        ("leave-request", "    kind: search\n", "    kind: update\n", "tools: needs exactly one tool of kind update"),
        ("leave-request", "    kind: search\n", "    kind: lookup\n", "tools: gold documents need a tool of kind search"),
        ("leave-request", "args: {whole: world.E2047.annual_leave_left, less", "args: {whole: balance_after, less",
         "balance_after.computed: depends on itself"),
        ("leave-request", "holidays: world.calendar.office_holidays", "holidays: world.today", "working_days: holidays: expected a list of dates"),
        ("leave-request", "    fills: {leave_type: annual}\n", "    fills: {leave_type: annual}\n    then: [{wait: get_employee}]\n",
         "no step calls 'get_employee' in the background"),
        ("leave-request", "    fills: {leave_type: annual}\n", "    fills: {leave_type: annual}\n    then: [{say: Hm., call: get_employee}]\n",
         "a step needs one of say, call, write and wait"),
        ("leave-request", "    when: {committed: submit_leave_request}\n", "    when: {committed: submit_leave_request}\n    say: [\"Oh.\"]\n",
         "follow_through.cover_is_told.say: needs two wordings or more"),
        ("leave-request", "start_date: 2026-12-17, end_date: 2026-12-23}", "start_date: 2026-12-17, status: draft}",
         "status: no fact tells it, so it cannot be corrected"),
        ("payment", "    match: {customer_number: customer.number, date_of_birth: customer.date_of_birth}\n", "",
         "tools.verify_identity.match: an identity check needs"),
        ("payment", "fills: {date_of_birth: 1984-05-09}", "fills: {payee: Bo}", "topics.date_of_birth: no fact tells it"),
        ("payment", "topics:\n", "topics:\n  amount: {type: money, names: [sum]}\n", "topics.amount: is a field of the artifact already"),
        ("payment", "Make it five hundred <pause 2.0s>", "Make it five hundred <break 2.0s>", "corrections.change_amount: say: "),
        ("payment", "date_of_birth: customer.date_of_birth", "date_of_birth: customer.born",
         "tools.verify_identity.match.date_of_birth: the world has no"),
        ("payment", "{amount: 500}", "{amount: lots}", "facts.amount.fills.amount: 'lots' is no number"),
        ("payment", "fills: {amount: 500}", "fills: {amount: 500}\n    fills: {amount: 501}", "the key 'fills' is given twice"),
    ],
)  # fmt: skip
def test_a_fault_in_a_recipe_is_named_by_file_line_and_key(name: str, old: str, new: str, told: str) -> None:
    with pytest.raises(WorkflowError) as error:
        changed(name, old, new)
    assert told in str(error.value)
    assert str(error.value).startswith(f"{name}.yaml:")
    assert "\n" not in str(error.value)


def test_the_line_of_a_fault_is_the_line_of_its_key() -> None:
    text = text_of("leave-request").replace("    ask: What kind", "    asks: What kind", 1)
    line = text[: text.index("    asks: What kind")].count("\n") + 1
    with pytest.raises(WorkflowError, match=rf"leave-request\.yaml:{line}: facts\.leave_type\.asks: unknown key"):
        compile_text(text, "leave-request.yaml")


def _twice(text: str) -> Workflow:
    """The payment with a second correction of the amount, which can only follow the first."""
    second = """\
  change_amount_again:
    changes: {amount: 600}
    when: ["CONFIRM:amount"]
    onset_ms: [500, 900]
    say: ["No, six hundred dollars.", "Sorry, make that six hundred dollars."]
    again:
      amount: ["Six hundred dollars.", "It's six hundred dollars."]

backchannels:
"""
    return compile_text(text.replace("backchannels:\n", second, 1), "payment.yaml")


def test_a_second_correction_follows_the_first() -> None:
    payment = _twice(text_of("payment"))
    event = payment.event("change_amount_again")
    assert event is not None
    assert {t.events_done for t in (event.trigger, *event.also)} == {("change_amount",)}
    assert [fact.id for fact in payment.facts if fact.id.startswith("amount")] == ["amount", "amount_v2", "amount_v3"]
    both = frozenset({"change_amount", "change_amount_again"})
    assert plan_after(payment, "ASK:amount", both) == "ans_amount_after_change_amount_again"
    assert plan_after(payment, "ASK:amount", frozenset({"change_amount"})) == "ans_amount_after_change_amount"
    asks = [turn.after for turn in payment.reference.turns for step in turn.steps if step.call == "request_approval"]
    assert asks == ["change_amount_again"]


def test_no_question_brings_back_a_superseded_amount() -> None:
    payment = _twice(text_of("payment"))
    for delivered, told in (
        ([], "amount"),
        (["change_amount"], "amount_v2"),
        (["change_amount", "change_amount_again"], "amount_v3"),
    ):
        for act in ("ASK:amount", "MISREAD:amount"):
            wording = payment.wording(plan_after(payment, act, frozenset(delivered)) or "")
            assert wording is not None
            assert wording.variants[0].expressed_fact_ids == (told,)


def test_what_the_caller_says_about_an_event_comes_before_the_goodbye() -> None:
    told = '    when: {committed: submit_leave_request}\n    act: ASK\n    say: ["And when will I hear back?", "How long does that take?"]\n'
    leave = changed("leave-request", "    when: {committed: submit_leave_request}\n", told)
    asks = next(step for step in steps(leave) if step.when.external_event == "cover_is_told")
    assert asks.do is not None
    assert (asks.do.act, asks.do.plan_id, asks.do.floor_action) == ("ASK", "cover_is_told", "AFTER_FLOOR_RELEASE")
    assert steps(leave)[-1].when.events_done == ("cover_is_told",)
    event = leave.event("cover_is_told")
    assert event is not None
    assert event.world_updates == {"inbox.dana_whitfield": "You cover for Sam Okafor from December 17 to December 23."}
    wording = leave.wording("cover_is_told")
    assert wording is not None
    assert len(wording.variants) == 2


def test_a_recipe_without_corrections_asks_for_approval_at_once() -> None:
    text = text_of("payment")
    start, end = text.index("corrections:\n"), text.index("backchannels:\n")
    twin = compile_text(text[:start] + text[end:], "payment.yaml")
    assert [turn.after for turn in twin.reference.turns][-2:] == ["ans_reference", "approve"]
    assert [step.call for step in twin.reference.turns[-2].steps][-2:] == ["request_approval", None]
    assert [gate.predicate.kind for gate in twin.gold.critical_gates] == ["no_unauthorized_commit", "tool_called"]
    assert [step.when.events_done for step in steps(twin) if step.do and step.do.act == "APPROVE"] == [(), ()]
