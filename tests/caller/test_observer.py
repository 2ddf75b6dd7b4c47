"""What the observer reads from words and tools."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stage import booking

from apex_tui.caller.observer import ActObserver, read_tool
from apex_tui.caller.sentences import is_request, split
from apex_tui.timeline.errors import WorkflowError
from apex_tui.workflow.caller_model import ActPattern, CallerFact, Observer
from apex_tui.workflow.spoken_numbers import canonical, signature, spoken_value
from apex_tui.workflow.work_model import Autonomy

OLD = {"form.amount": 500.0, "form.start": "2026-12-14", "form.end": "2026-12-18"}
WORDS = (
    "what",
    "is",
    "the",
    "amount",
    "?",
    "$500",
    "five",
    "hundred",
    "fifty",
    ".",
    "start",
    "date",
    "december",
    "14",
    "shall",
    "I",
    "submit",
)
NEW = {**OLD, "form.amount": 555.23}


def keys(text: str, wants: dict[str, object] = OLD, *, final: bool = True) -> list[str]:
    return [reading.key for reading in ActObserver(booking()).read_words("r", text, final, wants)]


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("the fourteenth of December", "the December 14"),
        ("December the fourteenth", "December 14th"),
        ("14 December", "Dec 14"),
        ("December 14th, 2026", "2026-12-14"),
        ("December fourteen", "12/14"),
        ("December fourteenth, twenty twenty-six", "12/14/2026"),
        ("five hundred dollars", "$500"),
        ("five hundred", "$500.00"),
        ("five hundred fifty-five twenty-three", "$555.23"),
        ("five hundred and fifty-five dollars and twenty-three cents", "555.23"),
        ("five fifty-five twenty-three", "555.23"),
        ("twelve hundred and fifty", "1,250"),
        ("two thousand and six", "2006"),
        ("a million", "1,000,000"),
        ("a hundred and five dollars", "$105"),
        ("a thousand two hundred", "1200"),
        ("make it a hundred", "make it 100"),
        ("three million two hundred thousand", "3,200,000"),
        ("5 hundred", "500"),
        ("E one zero four two", "E-1042"),
        ("E ten forty-two", "e1042"),
        ("two oh six", "206"),
        ("C C three thirty", "CC-330".replace("330", "3 30")),
        ("ninetieth", "90"),
        ("December 17 through 23", "December 17 through December 23"),
        ("December 14–18", "Dec 14 to Dec 18"),
        ("17 to 23 December", "December 17 to December 23"),
    ],
)
def test_said_and_written_are_one(said: str, written: str) -> None:
    assert canonical(said) == canonical(written)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("the fourteenth to the eighteenth", "the fourteenth"),
        ("fourteen, eighteen", "1418"),
        ("five hundred", "five hundred fifty-five"),
        ("December 14 2026", "December 142026"),
        ("13/45/2026", "2026-13-45"),
        ("oh well", "0 well"),
        ("December 3 to 500 people", "December 3 to December 500 people"),
    ],
)
def test_what_differs_stays_apart(one: str, other: str) -> None:
    assert canonical(one) != canonical(other)


@pytest.mark.parametrize(
    "said",
    [
        "E, two, zero, four, seven",
        "E, two, oh, four, seven",
        "E two zero, four seven",
        "E-2047",
        "E 20 47",
        "E; 2 0 4 7",
    ],
)
def test_a_code_that_is_spelt_out_is_one(said: str) -> None:
    assert canonical(said, commas=False) == " e 2047 "


def test_commas_keep_other_numbers_apart() -> None:
    assert canonical("fourteen, eighteen") == " 14 18 "
    assert canonical("fourteen, eighteen", commas=False) == " 1418 "


def test_values_of_every_type() -> None:
    assert spoken_value("2026-12-14") == (" december 14 2026 ", " december 14 ")
    assert spoken_value(555.23) == (" 55523 ",)
    assert spoken_value(2.5) == (" 250 ", " 25 ")
    assert spoken_value(7) == (" 7 ",)
    assert spoken_value("Dana") == (" dana ",)
    assert [spoken_value(v) for v in (True, None, "", [1])] == [(), (), (), ()]
    assert signature(" the december 14 ") == {"december", "14"}


@given(st.integers(0, 999_999))
def test_written_numbers_survive(number: int) -> None:
    assert canonical(f"{number:,}") == f" {number} "


@given(st.text(max_size=300))
def test_any_text_is_read_and_each_act_is_told_once(text: str) -> None:
    observer = ActObserver(booking())
    text = f"{text} What is the amount?"
    told = [r.key for cut in range(0, len(text), 7) for r in observer.read_words("r", text[:cut], False, OLD)]
    told += [r.key for r in observer.read_words("r", text, True, OLD)]
    assert len(told) == len(set(told))
    assert observer.read_words("r", text, True, OLD) == []


@pytest.mark.parametrize(
    ("text", "wants", "expected"),
    [
        ("What is the amount?", OLD, ["ASK:amount"]),
        ("Could you give me the start date and the end date", OLD, ["ASK:start", "ASK:end"]),
        ("I need your end date, please.", OLD, ["ASK:end"]),
        ("And your start date?", OLD, ["ASK:start"]),
        ("What date?", OLD, ["ASK:date"]),
        ("I have noted the amount.", OLD, []),
        ("Is the amount five hundred?", OLD, ["CONFIRM:amount"]),
        ("So that's five hundred dollars.", OLD, ["CONFIRM:amount"]),
        (
            "That is $500, from the fourteenth to the eighteenth.",
            OLD,
            ["CONFIRM:amount", "CONFIRM:start", "CONFIRM:end"],
        ),
        ("So that's five hundred dollars.", NEW, ["MISREAD:amount"]),
        ("It was $500 and now it is $555.23.", NEW, ["CONFIRM:amount"]),
        ("Five hundred fifty-five twenty-three.", NEW, ["CONFIRM:amount"]),
        ("Five hundred fifty-five twenty-three.", OLD, []),
        ("Is the amount 700 dollars?", OLD, ["ASK:amount"]),
        ("I have 14 here.", OLD, []),
        ("Shall I submit it?", OLD, ["REQUEST_APPROVAL:pay"]),
        ("Would you like me to send this now", OLD, ["REQUEST_APPROVAL:pay"]),
        ("Do you want me to pay five hundred dollars?", OLD, ["CONFIRM:amount", "REQUEST_APPROVAL:pay"]),
        ("Ready to submit?", OLD, ["REQUEST_APPROVAL:pay"]),
        ("May I go ahead?", OLD, ["REQUEST_APPROVAL:pay"]),
        ("Would you like me to look up the amount?", OLD, []),
        ("Thanks. What is the amount? And the start date?", OLD, ["ASK:amount", "ASK:start"]),
        ("", OLD, []),
    ],
)
def test_readings(text: str, wants: dict[str, object], expected: list[str]) -> None:
    assert keys(text, wants) == expected


def test_each_key_once_per_reply() -> None:
    observer = ActObserver(booking())
    assert [r.key for r in observer.read_words("r1", "What is the amount? The amount?", True, OLD)] == ["ASK:amount"]
    assert observer.read_words("r1", "What is the amount? The amount? The amount?", True, OLD) == []
    assert [r.key for r in observer.read_words("r2", "What is the amount?", True, OLD)] == ["ASK:amount"]


def first_seen(text: str, wants: dict[str, object]) -> dict[str, str]:
    """Key -> the heard prefix at which it was first reported."""
    observer = ActObserver(booking())
    seen: dict[str, str] = {}
    for cut in range(len(text) + 1):
        for reading in observer.read_words("r", text[:cut], False, wants):
            seen[reading.key] = text[:cut]
    return seen


def test_read_back_counts_as_soon_as_the_value_is_complete_and_a_question_when_its_sentence_is() -> None:
    seen = first_seen("So from the fourteenth to the eighteenth, right? What is the amount? Well", OLD)
    assert seen["CONFIRM:start"] == "So from the fourteenth to"
    assert seen["CONFIRM:end"].startswith("So from the fourteenth to the eighteenth,")
    assert seen["ASK:amount"] == "So from the fourteenth to the eighteenth, right? What is the amount?"


@pytest.mark.parametrize(
    "text",
    [
        "So five hundred fifty-five twenty-three it is. Yes",
        "So $555.23 it is. Yes",
        "So five hundred and fifty-five dollars. Yes",
    ],
)
def test_number_that_goes_on_is_not_taken_for_a_shorter_one(text: str) -> None:
    assert "CONFIRM:amount" not in first_seen(text, OLD)


def test_wrong_value_is_judged_only_when_the_sentence_is_over() -> None:
    assert "MISREAD:amount" not in first_seen("It was $500 before, and now it is $555.23. Okay", NEW)
    assert first_seen("It is $500 in all. Okay", NEW)["MISREAD:amount"] == "It is $500 in all."


def test_text_that_was_rewritten_is_read_again() -> None:
    observer = ActObserver(booking())
    observer.read_words("r", "Hello there. ", False, OLD)
    assert [r.key for r in observer.read_words("r", "What is the amount?", True, OLD)] == ["ASK:amount"]


def test_evidence_value_and_source() -> None:
    reading = ActObserver(booking()).read_words("r", "Hm. So the amount is $500?", True, OLD)[0]
    assert (reading.source, reading.evidence, reading.value, reading.confidence) == (
        "lexical",
        "So the amount is $500?",
        "500",
        1.0,
    )
    unnamed = ActObserver(booking()).read_words("r", "So $500?", True, OLD)[0]
    assert unnamed.confidence == 0.8


def test_shared_value_needs_the_fields_name() -> None:
    wants = {**OLD, "form.end": "2026-12-14"}
    assert keys("That is December 14.", wants) == []
    assert keys("The start date is December 14.", wants) == ["CONFIRM:start"]


def test_wanted_value_unknown_to_the_facts_still_counts() -> None:
    assert keys("That is 720 dollars.", {**OLD, "form.amount": 720}) == ["CONFIRM:amount"]


def test_field_with_one_value_owns_every_form_of_it() -> None:
    base = booking()
    observer = Observer(lexicon={"kind": ("kind",), "lost": ("lost",)}, values={"kind": ("vacation", "annual leave")})
    wf = booking(observer=observer, facts=(CallerFact(id="kind", value="annual"), *base.facts))
    read = ActObserver(wf).read_words("r", "So a vacation.", True, {"kind": "annual"})
    assert [(r.key, r.value) for r in read] == [("CONFIRM:kind", "vacation")]
    assert ActObserver(wf).read_words("r", "So a vacation.", True, {}) == []


def patterns(*entries: ActPattern, **more: dict[str, str]) -> ActObserver:
    return ActObserver(booking(observer=Observer(patterns=entries, **more)))


def test_package_patterns() -> None:
    observer = patterns(
        ActPattern(act="ASK", field="amount", pattern="total amount"),
        ActPattern(act="CONFIRM", pattern=r"confirming the (?P<field>\w+) is (?P<value>\d+)"),
        ActPattern(act="GREET", pattern="hello"),
    )
    assert observer.read_words("r", "HELLO, the TOTAL amount", False, {}) == []
    got = observer.read_words("r", "Hello, the total amount is? Confirming the total is 240 do", False, {})
    assert [(r.key, r.value, r.source) for r in got] == [
        ("ASK:amount", None, "pattern"), ("CONFIRM:total", "240", "pattern"), ("GREET", None, "pattern"),
    ]  # fmt: skip
    assert observer.read_words("r2", "Shall I submit the amount?", True, OLD) == []


def test_many_matches_and_long_texts_are_bounded() -> None:
    observer = patterns(ActPattern(act="A", pattern=r"(?P<field>x\d+)"))
    text = " ".join(f"x{n}" for n in range(3000))
    assert len(observer.read_words("r", text, True, {})) == 64
    late = patterns(ActPattern(act="A", pattern="needle"))
    assert late.read_words("r", "h" * 4000 + " needle", True, {}) == []


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("(a+)+$", "repeats a group"),
        ("(?:x*y?){2,}", "repeats a group"),
        ("(", "not a regular expression"),
        ("a" * 501, "longer than 500"),
    ],
)
def test_bad_patterns_are_refused_by_name(pattern: str, words: str) -> None:
    with pytest.raises(WorkflowError, match=f"pattern of ASK:amount {words}|pattern of ASK:amount is {words}"):
        patterns(ActPattern(act="ASK", field="amount", pattern=pattern))


@pytest.mark.parametrize(
    ("result", "key"),
    [
        ({"requested_action": "pay", "target_id": "form"}, "REQUEST_APPROVAL:form"),
        ({"action_type": "pay", "target_id": "form"}, "REQUEST_APPROVAL:pay"),
        ({"action_type": "", "artifact_id": "form"}, "REQUEST_APPROVAL:form"),
        ({}, "REQUEST_APPROVAL"),
        (None, "REQUEST_APPROVAL"),
        ("text", "REQUEST_APPROVAL"),
    ],
)
def test_tool_evidence(result: object, key: str) -> None:
    acts = {"ask_ok": "REQUEST_APPROVAL"}
    assert [(r.key, r.source) for r in read_tool(acts, "ask_ok", result)] == [(key, "tool")]
    assert read_tool(acts, "other", result) == []


def test_approval_names_the_action_that_fits_best() -> None:
    several = booking(autonomy=Autonomy(approval_required_for=("submit_form", "send_invoice")))
    read = ActObserver(several).read_words("r", "Shall I send the invoice?", True, OLD)
    assert [r.key for r in read] == ["REQUEST_APPROVAL:send_invoice"]
    nothing = booking(autonomy=Autonomy(), tools=())
    assert [r.key for r in ActObserver(nothing).read_words("r", "Shall I submit?", True, OLD)] == ["REQUEST_APPROVAL"]


def test_sentences() -> None:
    text = 'See Dr. Ott at 3 p.m. today. It costs $5.50! "Really?" Plan B. And'
    assert [s.text for s in split(text, final=True)] == [
        "See Dr. Ott at 3 p.m. today.",
        "It costs $5.50!",
        '"Really?"',
        "Plan B.",
        "And",
    ]
    assert [s.complete for s in split("One. Two", final=False)] == [True, False]
    assert [s.complete for s in split("It is $5.", final=False)] == [False]
    assert split("  ", final=True) == []


@pytest.mark.parametrize(
    ("sentence", "asks"),
    [
        ("What time", True), ("I wonder when", False), ("Okay, and which one", True), ("Please confirm your name.", True),
        ("May I have your name.", True), ("Tell me your name.", True), ("I'll tell them.", False), ("Really?", True),
    ],
)  # fmt: skip
def test_requests(sentence: str, asks: bool) -> None:
    assert is_request(sentence) is asks


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                "what",
                "is",
                "the",
                "amount",
                "?",
                "$500",
                "five",
                "hundred",
                "fifty",
                ".",
                "start",
                "date",
                "december",
                "14",
                "the",
                "shall",
                "I",
                "submit",
            ]
        ),
        max_size=40,
    )
)
def test_growing_prefixes_find_what_the_whole_text_finds_but_never_a_key_twice(words: list[str]) -> None:
    text = " ".join(words)
    observer = ActObserver(booking())
    grown: list[str] = []
    for cut in range(len(text) + 1):
        grown += [r.key for r in observer.read_words("r", text[:cut], False, OLD)]
    grown += [r.key for r in observer.read_words("r", text, True, OLD)]
    assert len(grown) == len(set(grown))
    assert set(keys(text)) <= set(grown)


def test_reading_is_fast_enough_for_every_frame() -> None:
    observer = ActObserver(booking())
    text = "So from the fourteenth to the eighteenth, that is five hundred dollars, is that right? " * 8
    started = time.process_time()
    for cut in range(0, len(text), 3):
        observer.read_words("r", text[:cut], False, OLD)
    assert (time.process_time() - started) / (len(text) / 3) < 0.01
