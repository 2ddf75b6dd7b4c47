"""Choosing an agent on the picker: from the list, as typed, with an address, and with everything hostile in it."""

import io
import threading
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

import pytest
from rich.console import Console
from test_tui_hostile import SHORT, assert_clean
from textual.pilot import Pilot
from textual.widgets import Input
from tui_fakes import AGENTS, make_app
from tui_pilot import running, settle, showing, text_of

from apex_tui.agents.rehearsal.faults import FAULTS
from apex_tui.agents.rehearsal.presets import PRESETS
from apex_tui.cli.screen import agent_cards
from apex_tui.store.settings import Settings
from apex_tui.timeline.errors import UserError
from apex_tui.timeline.messages import Preset, Run
from apex_tui.tui.agent_cards import REHEARSAL_CARD, URL_CARD, AgentCard, card_for, fitting
from apex_tui.tui.app import ApexApp
from apex_tui.tui.dialog_agents import AgentScreen
from apex_tui.tui.lines import middle
from apex_tui.tui.pictures import self_contained
from apex_tui.tui.render_picker import PLAN_ROWS, Choice, agent_lines, plan_lines
from apex_tui.tui.screen_picker import PickerScreen
from apex_tui.tui.sources import Sources

Driver = Callable[[ApexApp, Pilot[int]], Awaitable[None]]


async def drive(app: ApexApp, driver: Driver, size: tuple[int, int] = (120, 36)) -> None:
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        await driver(app, pilot)


def with_agents(app: ApexApp, load: Callable[[], Sequence[AgentCard]]) -> ApexApp:
    app.sources = replace(app.sources, agents=load)
    return app


async def type_words(pilot: Pilot[int], words: str) -> None:
    """Letter by letter, as a person does."""
    names = {":": "colon", "-": "minus", "=": "equals_sign", ",": "comma"}
    await pilot.press(*(names.get(letter, letter) for letter in words))
    await settle(pilot)


# --- the whole way -----------------------------------------------------------------------------------------------------------------------


async def test_a_manner_is_chosen_by_keys_and_run() -> None:
    link = running()

    async def driver(app: ApexApp, pilot: Pilot[int]) -> None:
        await pilot.press("a")
        await settle(pilot)
        assert showing(app, AgentScreen)
        assert "rehearsal:fault=discloses" in text_of(app)
        await type_words(pilot, "slow")
        assert "rehearsal:fault=discloses" not in text_of(app)
        await type_words(pilot, "-to-y")
        await pilot.press("enter")
        await settle(pilot)
        assert showing(app, PickerScreen)
        shown = text_of(app)
        assert "agent rehearsal (scripted)  rehearsal:slow-to-yield" in shown
        assert "speaks on for 900 ms when it is interrupted" in shown
        assert "the agent rehearsal (scripted), slow-to-yield" in " ".join(shown.split())
        await pilot.press("enter")
        await settle(pilot)
        assert link.sent[0] == Run(workflow="leave-request", agent="rehearsal:slow-to-yield", seed=1)

    await drive(make_app(link=link), driver)


async def test_the_arrows_walk_the_list_and_escape_changes_nothing() -> None:
    async def driver(app: ApexApp, pilot: Pilot[int]) -> None:
        screen = app.screen
        assert isinstance(screen, PickerScreen)
        await pilot.press("a")
        await settle(pilot)
        await pilot.press("down", "down", "down", "up", "up", "enter")
        await settle(pilot)
        assert screen.choice.agent.name == "openai"
        assert "agent openai  OPENAI_API_KEY not found" in text_of(app)
        await pilot.press("a")
        await settle(pilot)
        await pilot.press("down", "escape")
        await settle(pilot)
        assert screen.choice.agent.name == "openai"

    await drive(make_app(), driver)


@pytest.mark.parametrize("name", ["rehearsal:stop=600,answer=1200", "mine"])
async def test_what_is_not_in_the_list_is_taken_as_typed(name: str) -> None:
    link = running()

    async def driver(app: ApexApp, pilot: Pilot[int]) -> None:
        await pilot.press("a")
        await settle(pilot)
        await type_words(pilot, name)
        await pilot.press("enter")
        await settle(pilot)
        assert ("rehearsal (scripted)" in text_of(app)) == name.startswith("rehearsal:")
        await pilot.press("enter")
        await settle(pilot)
        assert link.sent[0] == Run(workflow="leave-request", agent=name, seed=1)

    await drive(make_app(link=link), driver, (80, 24))


async def test_an_agent_without_an_address_asks_for_it() -> None:
    link = running()

    async def driver(app: ApexApp, pilot: Pilot[int]) -> None:
        await pilot.press("a")
        await settle(pilot)
        await type_words(pilot, "realtime")
        await pilot.press("enter")
        await settle(pilot)
        field = app.screen.query_one("#url", Input)
        assert app.focused is field
        await pilot.press("enter", "enter")
        await settle(pilot)
        assert "begins with ws:// or wss://" in text_of(app)
        assert link.sent == []
        await pilot.press("u")
        field.value = "ws://h:"
        await pilot.press("end", "1", "enter", "enter")
        await settle(pilot)
        assert link.sent[0] == Run(workflow="leave-request", agent="realtime", url="ws://h:1", seed=1)

    await drive(make_app(link=link), driver)


async def test_u_replaces_the_address_of_a_network_agent_and_takes_the_place_of_the_rehearsal_agent() -> None:
    async def driver(app: ApexApp, pilot: Pilot[int]) -> None:
        screen = app.screen
        assert isinstance(screen, PickerScreen)
        await pilot.press("u")
        await settle(pilot)
        assert screen.choice.agent == URL_CARD
        screen.query_one("#url", Input).value = "http://h/v1"
        await pilot.press("enter", "a")
        await settle(pilot)
        await type_words(pilot, "cascade")
        await pilot.press("enter")
        await settle(pilot)
        assert screen.choice.command().url is None, "an address that was typed for another agent is not sent"
        await pilot.press("u", "enter")
        await settle(pilot)
        assert screen.choice.command() == Run(workflow="leave-request", agent="cascade", url="http://h/v1", seed=1)
        await pilot.press("u", "x", "escape")
        await settle(pilot)
        assert app.focused is screen.list
        assert screen.choice.command().url == "http://h/v1", "escape leaves a field as it was"
        await pilot.press("s", "7", "escape")
        await settle(pilot)
        assert (screen.choice.seed, screen.seed_input.value) == (1, "1")
        await pilot.press("s", "7", "enter", "s", "escape")
        await settle(pilot)
        assert screen.choice.seed == 7
        await pilot.press("s", "1", "enter")
        await pilot.press("i")
        assert "coaching" in " ".join(line.plain for line in screen.plan.lines)
        assert screen.choice.command().instructions == "coaching"
        await pilot.press("i")
        assert screen.choice.command().instructions == "neutral"

    await drive(make_app(), driver)


@pytest.mark.parametrize("key", [None, "a"])
async def test_the_marked_line_of_a_list_is_seen_without_colour(key: str | None) -> None:
    async def driver(app: ApexApp, pilot: Pilot[int]) -> None:
        if key is not None:
            await pilot.press(key)
            await settle(pilot)
        marked = "rehearsal  " if key else "Leave request"
        styles = {
            segment.style.underline
            for strip in app.screen._compositor.render_strips()
            for segment in strip
            if segment.style is not None and segment.text.startswith(marked)
        }
        assert styles == {True}

    await drive(make_app(mono=True), driver)


# --- reading the list --------------------------------------------------------------------------------------------------------------------


async def test_the_list_is_read_when_it_is_opened_and_enter_waits_for_it() -> None:
    gate, asked = threading.Event(), threading.Event()

    def load() -> Sequence[AgentCard]:
        asked.set()
        assert gate.wait(10)
        return AGENTS

    async def driver(app: ApexApp, pilot: Pilot[int]) -> None:
        screen = app.screen
        assert isinstance(screen, PickerScreen)
        assert not asked.is_set()
        await pilot.press("a", *"slow", "enter")
        await pilot.pause(0.05)
        assert asked.is_set()
        assert showing(app, AgentScreen)
        gate.set()
        await settle(pilot)
        assert screen.choice.agent.name == "rehearsal:slow-to-yield"

    await drive(with_agents(make_app(), load), driver)


async def test_a_list_that_cannot_be_read_says_so_and_the_rehearsal_agent_remains() -> None:
    def load() -> Sequence[AgentCard]:
        raise UserError("agents.toml is not TOML")

    async def driver(app: ApexApp, pilot: Pilot[int]) -> None:
        await pilot.press("a")
        await settle(pilot)
        assert "agents.toml is not TOML" in text_of(app)
        assert "knows the solution" in text_of(app)

    await drive(with_agents(make_app(), load), driver)


async def test_the_agent_of_the_settings_is_explained_from_the_list() -> None:
    settings = Settings()
    settings.values["agent"] = "openai"

    async def driver(app: ApexApp, _pilot: Pilot[int]) -> None:
        assert "agent openai  OPENAI_API_KEY not found" in text_of(app)

    await drive(make_app(settings=settings), driver)


def test_without_sources_there_is_the_rehearsal_agent_alone() -> None:
    assert Sources().agents() == (REHEARSAL_CARD,)


def test_the_command_line_hands_in_every_agent_manner_and_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-secret")
    cards = {card.name: card for card in agent_cards()}
    assert len(cards) == len(agent_cards())
    assert {f"rehearsal:{name}" for name in PRESETS} | {f"rehearsal:fault={name}" for name in FAULTS} < set(cards)
    assert {"openai", "gemini", "cascade", "chat"} < set(cards)
    assert [name for name, card in cards.items() if card.needs_url] == ["realtime"]
    assert {name for name, card in cards.items() if card.rehearsal} == {n for n in cards if n.startswith("rehearsal")}
    assert cards["openai"].note == "OPENAI_API_KEY found (not shown)"
    assert "secret" not in repr(cards)


# --- the pure parts ----------------------------------------------------------------------------------------------------------------------


def test_the_filter_wants_every_word_and_puts_names_first() -> None:
    cards = (AgentCard("b", "like openai"), AgentCard("openai-mini", "small"), AgentCard("openai", "OpenAI"))
    assert [card.name for card in fitting(cards, "OpenAI")] == ["openai", "openai-mini", "b"]
    assert [card.name for card in fitting(cards, "open small")] == ["openai-mini"]
    assert [card.name for card in fitting(AGENTS, "scripted caller")] == ["rehearsal:slow-to-answer"]
    assert fitting(AGENTS, "") == list(AGENTS)


def test_a_typed_rehearsal_agent_carries_the_label() -> None:
    assert card_for("rehearsal:stop=1").rehearsal
    assert not card_for("rehearsals").rehearsal
    assert card_for(" rehearsal ") == REHEARSAL_CARD
    assert card_for("openai", AGENTS) == AGENTS[1]


def test_the_box_never_grows_and_a_cut_is_seen() -> None:
    card = AgentCard("long", "word " * 40)
    lines = agent_lines(Choice(agent=card), 40, 2)
    assert len(lines) == 2
    assert lines[1].plain.rstrip().endswith("…")
    assert len(agent_lines(Choice(agent=card), 40, 3)) == 3


async def test_hostile_names_are_shown_as_text() -> None:
    cards = tuple(AgentCard(text, text, needs_url=n % 2 == 0, note=text, ready=False) for n, text in enumerate(SHORT))

    async def driver(app: ApexApp, pilot: Pilot[int]) -> None:
        screen = app.screen
        assert isinstance(screen, PickerScreen)
        await pilot.press("a")
        await settle(pilot)
        assert "[bold red]x[/bold red]" in text_of(app)
        for _ in cards:
            assert_clean(app)
            await pilot.press("down")
        await pilot.press("escape")
        for card in cards:
            screen._agent_chosen(card)
            await pilot.pause()
            assert_clean(app)

    await drive(with_agents(make_app(), lambda: cards), driver)
    for text in SHORT:
        choice = Choice(workflow="w", agent=card_for(text))
        for line in (*agent_lines(choice, 60, 3), *plan_lines(choice, "/s", 60)):
            assert "\x1b" not in line.plain
            assert line.cell_len <= 60


@pytest.mark.parametrize("width", [40, 74, 114])
@pytest.mark.parametrize("instructions", ["neutral", "coaching"])
def test_a_long_path_gives_way_in_its_middle_and_what_follows_it_stays(width: int, instructions: Preset) -> None:
    path = "/home/someone" + "/measurements" * 20 + "/leave/sessions"
    choice = Choice(workflow="w", title="Leave request", instructions=instructions)
    lines = plan_lines(choice, path, width)
    told = "".join(line.plain for line in lines)
    assert "…" in told
    assert told.rstrip().endswith("enter.")
    if width > 40:
        assert len(lines) == PLAN_ROWS
        assert "/sessions." in told
    assert path in "".join(line.plain for line in plan_lines(choice, path, 400))
    assert middle("日本語/日本語/日本語", 10) == "日…/日本語"


def test_a_picture_links_no_font_and_keeps_the_words_on_the_screen() -> None:
    console = Console(record=True, width=60, file=io.StringIO())
    console.print("the font-family:Fira Code of this line is text")
    drawn = console.export_svg(title="t")
    assert "@font-face" in drawn
    picture = self_contained(drawn)
    assert "@font-face" not in picture
    assert "cdnjs" not in picture
    assert "font-family: monospace;" in picture
    style, _, text = picture.partition("</style>")
    assert "Fira" not in style
    assert "font-family:Fira&#160;Code" in text
    assert picture.endswith(drawn.partition("</style>")[2])
