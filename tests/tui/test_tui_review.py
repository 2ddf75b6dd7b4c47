"""Reviewing a recorded call on the screen: every change is in the file at once, and only a whole review is made a scenario."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path

from test_tui_person import press
from tui_fakes import FakeLink, make_app
from tui_pilot import settle, showing, text_of

from apex_tui.timeline.messages import Listen, Opened, Pause, Play
from apex_tui.tui.app import ApexApp, Reviewing
from apex_tui.tui.own_command import Ran, spoken
from apex_tui.tui.render_review import gathered, list_lines, made_lines
from apex_tui.tui.screen_review import ReviewScreen
from apex_tui.workflow.review import Clip, Review, read_review, write_review

FOLDER = Path("/s/call-1")
DRAFT = Review(
    session="call-1",
    id="my-call",
    title="A call",
    base="day-off",
    clips=(
        Clip(turn=1, from_ms=1000, to_ms=2000, role="opening", words="Hello."),
        Clip(turn=2, from_ms=4000, to_ms=5200, role="answer", of="day", words="", says={"day": "2026-12-14"}),
        Clip(turn=3, from_ms=8000, to_ms=8900, why="nothing tells"),
    ),
    outcome={"day": "2026-12-14"},
)


class Commands:
    """Our command line, as the screen sees it."""

    def __init__(self, result: Ran) -> None:
        self.asked: list[tuple[str, ...]] = []
        self.result = result

    async def __call__(self, arguments: Sequence[str]) -> Ran:
        self.asked.append(tuple(arguments))
        if "--draft" not in arguments:
            return self.result
        heard = "--recognise" in arguments
        clips = [clip.model_copy(update={"words": clip.words or "The fourteenth."}) for clip in DRAFT.clips]
        write_review(Path(arguments[3]), DRAFT.model_copy(update={"clips": tuple(clips)}) if heard else DRAFT)
        return Ran(0, arguments[3], "")


def app_of(commands: Commands, state: Path, link: FakeLink | None = None) -> ApexApp:
    app = make_app(Reviewing(FOLDER), link=link, state=state)
    app.sources = dataclasses.replace(app.sources, own_command=commands)
    return app


async def test_an_utterance_is_decided_worded_valued_and_dropped_and_all_of_it_is_kept(tmp_path: Path) -> None:
    commands = Commands(Ran(2, "", "unused"))
    app = app_of(commands, tmp_path)
    file = tmp_path / "reviews" / "call-1.yaml"
    async with app.run_test(size=(100, 30)) as pilot:
        await settle(pilot)
        assert "3 utterances, 2 kept, 1 to decide" in text_of(app)
        await press(pilot, "a")
        assert "not yet: turn 2: no words" in text_of(app)
        await press(pilot, "down", "w", *"Monday", "enter", "v", "ctrl+u", *"day = 2026-12-15, seats = 02", "enter")
        await press(pilot, "right_square_bracket", "down", "r", "8")
        kept = read_review(file)
        assert kept.clips[1].words == "Monday"
        assert kept.clips[1].says == {"day": "2026-12-15", "seats": "02"}
        assert (kept.clips[1].from_ms, kept.clips[2].role) == (4020.0, "goodbye")
        await press(pilot, "d")
        assert read_review(file).clips[2].role == "drop"
        await press(pilot, "d", "r", "2", *"day", "enter")
        assert (read_review(file).clips[2].role, read_review(file).clips[2].of) == ("answer", "day")
        await press(pilot, "i", "ctrl+u", *"No Id", "enter")
        assert "an id has lower case letters" in text_of(app)
        assert len(commands.asked) == 1
    again = app_of(commands, tmp_path)
    async with again.run_test(size=(100, 30)) as pilot:
        await settle(pilot)
        assert "going on with the review" in text_of(again)
        assert "Monday" in text_of(again)
    assert len(commands.asked) == 1


async def test_values_with_commas_and_long_ones_are_edited_on_the_screen(tmp_path: Path) -> None:
    outcome = {"place": "Gate 3, west side", "digits": "5550142"} | {f"field_{n}": "x" * 30 for n in range(20)}
    long = DRAFT.model_copy(update={"outcome": outcome})
    file = tmp_path / "reviews" / "call-1.yaml"
    file.parent.mkdir()
    write_review(file, long)
    app = app_of(Commands(Ran(0, "", "")), tmp_path)
    async with app.run_test(size=(100, 30)) as pilot:
        await settle(pilot)
        await press(pilot, "o", "end", *", more = 1", "enter")
        assert read_review(file).outcome == {**outcome, "more": 1}
        await press(pilot, "v", "ctrl+u", *'place = "Hall 2, left", n = 3', "enter")
        assert read_review(file).clips[0].says == {"place": "Hall 2, left", "n": 3}
        await press(pilot, "v", "ctrl+u", *"place = Hall 2, left", "enter")
        assert "'left': write field = value, and commas between several (a comma inside: in quotes)" in text_of(app)
        assert read_review(file).clips[0].says == {"place": "Hall 2, left", "n": 3}


async def test_accepting_makes_it_and_shows_what_the_checks_found(tmp_path: Path) -> None:
    finding = {"check": "replayed 3 times", "ok": False, "detail": "2 different sessions"}
    record = {"recipe": "/w/my-call.yaml", "clips": 3, "stand_ins": {"ack.v1": "tones"}, "findings": [finding]}
    commands = Commands(Ran(1, json.dumps(record), ""))
    app = app_of(commands, tmp_path)
    async with app.run_test(size=(100, 30)) as pilot:
        await settle(pilot)
        await press(pilot, "l")
        await settle(pilot)
        assert "The fourteenth." in text_of(app)
        assert "read every word" in text_of(app)
        await press(pilot, "down", "down", "d", "a")
        await settle(pilot)
        shown = text_of(app)
        assert "/w/my-call.yaml" in shown
        assert "nobody recorded ack.v1 (tones)" in shown
        assert "✗ replayed 3 times  2 different sessions" in shown
        assert "made, but not everything holds: apex-tui run my-call" in shown
    assert commands.asked[-1][:3] == ("scenario", str(FOLDER.resolve()), "--review")


async def test_what_the_command_refuses_is_told(tmp_path: Path) -> None:
    async def refuse(_arguments: Sequence[str]) -> Ran:
        return Ran(2, "", "call-1 has no recording of its sound")

    app = make_app(Reviewing(FOLDER), state=tmp_path)
    app.sources = dataclasses.replace(app.sources, own_command=refuse)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        assert "has no recording of its sound" in text_of(app)
        await press(pilot, "space", "a", "w", "d")
        assert showing(app, ReviewScreen)


async def test_an_utterance_is_played_from_its_beginning_to_its_end(tmp_path: Path) -> None:
    link = FakeLink()
    app = app_of(Commands(Ran(0, "{}", "")), tmp_path, link)
    now = 0.0
    app._clock = lambda: now
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await press(pilot, "space")
        await settle(pilot)
        assert isinstance(link.sent[0], Listen)
        link.items.append(Opened(session="s", folder="/s", sound="played on the speaker"))
        await settle(pilot)
        assert link.sent[1] == Play(at_ms=1000.0, speed=1.0)
        now = 0.9
        await settle(pilot)
        assert "►" in text_of(app)
        now = 1.1
        await settle(pilot)
        assert link.sent[-1] == Pause()
        assert "►" not in text_of(app)


def test_hostile_words_stay_words() -> None:
    nasty = DRAFT.model_copy(update={"clips": (DRAFT.clips[0].model_copy(update={"words": "[red]x\x1b[2J"}),)})
    text = "\n".join(line.plain for line in list_lines(nasty, 0, None, 100))
    assert "[red]x" in text
    assert "\x1b" not in text
    told = "\n".join(
        line.plain for line in made_lines({"findings": [{"check": "\x1b[1m", "ok": True, "detail": "[b]"}]}, 60)
    )
    assert "[b]" in told
    assert "\x1b" not in told


def test_what_several_utterances_lack_is_said_once() -> None:
    faults = [
        "turn 1: no words yet; write",
        "turn 3: nothing tells",
        "turn 4: no words yet; write",
        "outcome: is empty",
    ]
    assert gathered(faults) == ["turns 1, 4: no words yet; write", "turn 3: nothing tells", "outcome: is empty"]


def test_a_command_does_not_say_its_own_name_on_a_screen() -> None:
    assert spoken("8 clips\napex-tui: the caller was erased from it.\n") == "8 clips\nthe caller was erased from it."
