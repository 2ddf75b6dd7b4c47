"""The worked example of docs/authoring.md, followed to its end: new, check, show, and a call that somebody types without seeing the solution."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from apex_tui.agents.typed import Typed, read_line
from apex_tui.cli.about_workflows import list_all, new, show
from apex_tui.cli.main import main
from apex_tui.cli.playing import play_text, told
from apex_tui.engine.speech import load_speech, need_speech
from apex_tui.timeline.errors import BankError, UserError
from apex_tui.timeline.events import Event
from apex_tui.timeline.work_facts import ToolFinished
from apex_tui.trials.check import check_workflow
from apex_tui.workflow.compile import OWN_SPEECH
from apex_tui.workflow.library import find_workflow

DOCS = Path(__file__).resolve().parents[1] / "docs" / "authoring.md"
CALL = Path(__file__).resolve().parent / "data" / "parcel_call.txt"


@pytest.fixture(scope="module")
def recipe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return new("parcel-delivery", tmp_path_factory.mktemp("recipes"))


def test_a_new_recipe_passes_every_check(recipe: Path) -> None:
    found = check_workflow(find_workflow(str(recipe)), seeds=(1,), tones=True)
    assert [row.detail for row in found if not row.ok] == []
    assert [row.check for row in found] == [
        "holds together", "reference, strict, seed 1", "gold values", "reference, official, seed 1", "do-nothing agent",
        "agent that answers everything in the first turn", "agent that copies every default", "agent that submits at once",
        "agent that guesses without asking",
    ]  # fmt: skip


def test_the_list_has_straight_columns(capsys: pytest.CaptureFixture[str]) -> None:
    list_all(as_json=False)
    starts = {re.match(r"\S+ +\S+ +(?=\S)", line).end() for line in capsys.readouterr().out.splitlines()}  # type: ignore[union-attr]
    assert len(starts) == 1


def test_show_draws_the_dialogue_and_the_outcome(recipe: Path, capsys: pytest.CaptureFixture[str]) -> None:
    show(str(recipe), as_json=False)
    text = capsys.readouterr().out
    assert "CALL (the call begins here)" in text
    assert "├─ ASK:place for the first time" in text
    assert "CORRECT other_day tells day_v2 = 2026-12-05 takes back arrange_delivery" in text
    assert "APPROVE approve approves arrange_delivery" in text
    assert "records.parcels.KX4073.status = 'arranged'" in text


def test_somebody_who_sees_what_an_agent_sees_can_do_the_work(recipe: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = iter(CALL.read_text(encoding="utf-8").splitlines())
    assert play_text(str(recipe), seed=1, reveal=True, ask=lambda: next(lines, None)) == 0
    text = capsys.readouterr().out
    assert "The work is done." in text
    assert "it cut you off after" in text
    assert re.search(r"^    number \(string; required\)", text, re.MULTILINE), "what a tool takes is shown"
    assert re.search(r"^      city \(string\)", text, re.MULTILINE), "and what each field that it writes may be"
    assert "2026-12-05" not in text.partition("You are the agent.")[0], (
        "what an agent is told must not tell the outcome"
    )


def test_a_tool_result_is_shown_whole_as_an_agent_gets_it() -> None:
    hits = [{"doc_id": f"d{n}", "text": "word " * 400} for n in range(3)]
    done = ToolFinished(call="c", name="search", ok=True, result={"hits": hits}, latency_ms=1.0)
    (line,) = told(Event(1, 0.0, 0, done, "environment"))
    assert json.loads(line.partition(": ")[2]) == {"hits": hits}


def test_a_call_that_commits_without_asking_is_not_done(recipe: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = iter(["/arrange_delivery target_id=delivery", "/nothing_like_it", "/quit"])
    assert play_text(str(recipe), seed=1, reveal=True, ask=lambda: next(lines, None)) == 1
    text = capsys.readouterr().out
    assert "nobody has approved arrange_delivery" in text
    assert "there is no tool 'nothing_like_it'" in text


@pytest.mark.parametrize(
    ("line", "typed"),
    [
        ("Hello there.", Typed(say="Hello there.")),
        ("", Typed()),
        ("/quit", Typed(quit=True)),
        ("/find number=KX4073", Typed(call="find", args={"number": "KX4073"})),
        ("/find_rooms guests=3 arrival=2027-03-13 rate=1.5", Typed(call="find_rooms", args={"guests": 3, "arrival": "2027-03-13", "rate": 1.5})),
        ("/search query=price of a second delivery", Typed(call="search", args={"query": "price of a second delivery"})),
        ('/search query="price of a parcel" top_k=2', Typed(call="search", args={"query": "price of a parcel", "top_k": 2})),
        ("/find number=0042", Typed(call="find", args={"number": "0042"})),
        ('/write {"fields": {"a": 1}}', Typed(call="write", args={"fields": {"a": 1}})),
    ],
)  # fmt: skip
def test_what_is_typed(line: str, typed: Typed) -> None:
    assert read_line(line) == typed


def test_what_a_tool_takes_as_text_stays_text() -> None:
    tool = {"name": "verify", "parameters": {"properties": {"card": {"type": "string"}, "guests": {"type": "integer"}}}}
    assert read_line("/verify card=5512 guests=3", [tool]).args == {"card": "5512", "guests": 3}
    assert read_line("/other card=5512", [tool]).args == {"card": 5512}
    fields = {"type": "object", "properties": {"account": {"type": "string"}, "parts": {"type": "integer"}}}
    update = {"name": "update", "parameters": {"properties": {"fields": fields}}}
    assert read_line("/update account=814027 parts=15", [update]).args == {"fields": {"account": "814027", "parts": 15}}
    assert read_line("/update colour=red", [update]).args == {"colour": "red"}


def test_json_that_cannot_be_read_is_told_to_the_agent() -> None:
    assert (read_line("/write {oh").error or "").startswith("not JSON")


def test_a_name_that_is_no_id_and_a_file_that_is_there_are_one_sentence(recipe: Path) -> None:
    with pytest.raises(UserError, match=r"is there already"):
        new("parcel-delivery", recipe.parent)
    for name in ("Parcel", "a b", "../x", "x-uncorrected", ""):
        with pytest.raises(UserError, match=r"is no id of a workflow"):
            new(name, recipe.parent)
    with pytest.raises(UserError, match=r"^payment is a workflow already"):
        new("payment", recipe.parent)


def test_the_page_names_every_kind_of_tool_and_the_commands() -> None:
    text = DOCS.read_text(encoding="utf-8")
    kinds = re.findall(r"^\| `(\w+)` \|", text.partition("## Tools")[2].partition("## Be")[0], re.MULTILINE)
    assert kinds == [
        "search",
        "lookup",
        "query",
        "act",
        "update",
        "identity",
        "approval",
        "commit",
        "ready",
        "hand_over",
    ]
    assert "apex-tui workflows new parcel-delivery" in text


def test_without_speech_one_sentence_says_what_works(
    recipe: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(recipe.parent)
    for command in (["check"], ["check", "--faults"], ["check", "--ci"]):
        assert main(["workflows", *command, recipe.name]) == 2
        said = capsys.readouterr()
        assert not said.out
        (line,) = said.err.splitlines()
        assert all(way in line for way in ("parcel-delivery has no speech", "bank import", "play-text", "--tones"))
        assert "render" not in line
    assert main(["bank", "render", recipe.name]) == 2
    assert "bank import LIST --for parcel-delivery.yaml" in capsys.readouterr().err
    assert main(["workflows", "show", recipe.stem]) == 2
    assert "did you mean parcel-delivery.yaml?" in capsys.readouterr().err


def test_from_the_first_clip_on_it_can_be_run(recipe: Path, tmp_path: Path) -> None:
    mine = tmp_path / recipe.name
    mine.write_text(recipe.read_text(encoding="utf-8"), encoding="utf-8")
    with pytest.raises(BankError, match="has no speech"):
        need_speech(find_workflow(str(mine)))
    mine.with_suffix(OWN_SPEECH).mkdir()
    spoken = load_speech(find_workflow(str(mine)), 1)
    assert spoken.kind == "recorded"
    assert spoken.caller
