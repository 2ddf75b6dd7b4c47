"""The picker: which workflow, which agent, which seed, and what will happen on enter."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.events import Click, DescendantBlur, Resize, ScreenResume
from textual.widget import Widget
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from apex_tui.timeline.errors import ApexError
from apex_tui.tui.agent_cards import REHEARSAL_CARD, URL_CARD, AgentCard, card_for
from apex_tui.tui.background import background
from apex_tui.tui.keys import EVERYWHERE, PICKER, Key, bindings
from apex_tui.tui.lines import pad, row, teach
from apex_tui.tui.plain import plain
from apex_tui.tui.render_picker import (
    Choice,
    agent_lines,
    archetype_words,
    card_lines,
    instructions_line,
    plan_lines,
    recent_lines,
)
from apex_tui.tui.render_results import agent_of, failed_gates, outcome_word
from apex_tui.tui.render_rows import title_plain
from apex_tui.tui.screen_base import ApexScreen
from apex_tui.tui.sources import Card
from apex_tui.tui.widgets.painted import FixedLines, Pane
from apex_tui.tui.widgets.prompt import Entry
from apex_tui.tui.words import counted

if TYPE_CHECKING:
    from apex_tui.store.listing import Listing
    from apex_tui.timeline.messages import Preset, Run
    from apex_tui.workflow.model import Workflow

_WIDE, _TALL = 100, 30
_SEED_DIGITS = 9


class PickerBody(Widget):
    """List and recent runs at the left, card and choices at the right, the plan below; one column when there is little room."""

    def __init__(self, left: Sequence[Widget], right: Sequence[Widget], below: Widget) -> None:
        super().__init__(id="picker")
        self._left, self._right, self._below = left, right, below

    def compose(self) -> ComposeResult:
        """Two columns and a row."""
        with Horizontal(id="picker-columns"):
            with Vertical(id="picker-left"):
                yield from self._left
            with Vertical(id="picker-right"):
                yield from self._right
        yield self._below


class WorkflowList(OptionList):
    """The workflows. A click chooses one: a run, which may cost money, begins with enter alone."""

    def on_click(self, event: Click) -> None:
        """In place of Textual's, which takes a click for enter."""
        event.prevent_default()
        clicked = event.style.meta.get("option")
        if clicked is not None:
            self.highlighted = clicked


SEED = re.compile(r"[0-9]{1,18}")


class PickerScreen(ApexScreen):
    """Pick a workflow and run it."""

    KEYS: ClassVar[tuple[Key, ...]] = PICKER
    NAME = "PICKER"
    BINDINGS: ClassVar[list[BindingType]] = bindings((*PICKER, *EVERYWHERE))

    def __init__(self, agent: str = "rehearsal", seed: int = 1, instructions: Preset = "neutral") -> None:
        super().__init__()
        self.choice = Choice(agent=card_for(agent), seed=seed, instructions=instructions)
        self._before: Choice | None = None
        """What was chosen before a field was opened, while it is open."""
        self.cards: list[Card] = []
        self.words = ""
        self.recent: list[Listing] = []
        self._details: dict[str, Workflow] = {}
        self.list = WorkflowList(id="workflows", markup=False)
        self.recent_pane = Pane(7, "last runs")
        self.card = Pane(8, "workflow")
        self.agent_rows = FixedLines(id="agent-rows")
        self.seed_input = Entry(
            str(seed), id="seed", restrict="[0-9]*", max_length=_SEED_DIGITS, compact=True, select_on_focus=True
        )
        self.url_input = Entry("", id="url", placeholder="ws://127.0.0.1:8765", max_length=400, compact=True)
        self.prompt_row = FixedLines(id="prompt-row")
        self.prompt_row.source = lambda _width: (instructions_line(self.choice),)
        self.plan = FixedLines(id="plan")
        self.recent_pane.source = lambda width: recent_lines(self.recent, self.choice.workflow, width)
        self.card.source = self._card_lines
        self.agent_rows.source = lambda width: agent_lines(self.choice, width, self.agent_rows.size.height)
        self.plan.source = lambda width: plan_lines(self.choice, self._where(), width)

    def body(self) -> Sequence[Widget]:
        """The picker's columns."""
        labels = {name: FixedLines(classes="label") for name in ("seed", "url")}
        labels["seed"].source = lambda _width: (row(("seed", "quiet")),)
        labels["url"].source = lambda _width: (row(("url", "quiet")),)
        run_with = Vertical(
            self.agent_rows,
            Horizontal(labels["seed"], self.seed_input, self.prompt_row, id="seed-row"),
            Horizontal(labels["url"], self.url_input, id="url-row"),
            id="run-with",
        )
        run_with.border_title = Content("run with")
        self.list.border_title = Content("workflows")
        self.plan.border_title = Content("what will happen")
        return (PickerBody((self.list, self.recent_pane), (self.card, run_with), self.plan),)

    def on_mount(self) -> None:
        """Load workflows and recordings once the first paint is out: the imports would hold it up, in a thread too."""
        self.list.focus()
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        background(self, self._load, name="picker-load")
        if (
            self.choice.agent != REHEARSAL_CARD
        ):  # one that the settings name; the list is not read at the start otherwise
            background(self, self._load_agent, name="picker-agent")

    async def _load(self) -> None:
        try:
            self.cards = list(await asyncio.to_thread(self.apex.sources.cards))
        except ApexError as error:
            self.say(str(error), "bad")
        await self._load_recent()
        self._fill()
        self.refresh_all()
        # Enter shows it at once: nobody waits for imports that the first paint did without.
        await asyncio.to_thread(import_module, "apex_tui.tui.screen_live")

    def _fill(self) -> None:
        """The workflows that fit the filter, in lines as wide as the list; the one that is chosen stays in sight."""
        cells = max(20, self.list.size.width - 2)
        shown = [card for card in self.cards if self._fits(card)]
        names = [card.id for card in shown]
        self.list.clear_options()
        for card in shown:
            line = f"{pad(plain(card.title, 60), max(10, cells - 15))} {archetype_words(card.archetype)}"
            self.list.add_option(Option(Content(line), id=card.id))
        told = f" · filter: {plain(self.words, 60)}" if self.words else ""
        self.list.border_title = Content(f"workflows{told}")
        self.list.border_subtitle = Content(f"{len(shown)} of {len(self.cards)}" if self.words else "")
        if shown:
            self.list.highlighted = names.index(self.choice.workflow) if self.choice.workflow in names else 0
            self.call_after_refresh(self.list.scroll_to_highlight)
        elif self.words:
            self.choice = replace(self.choice, workflow=None)
            self.card.set_titles("workflow")

    def _fits(self, card: Card) -> bool:
        """Every word of the filter is in the card, or in its runs: agent, outcome, failed gates."""
        runs = " ".join(
            f"{agent_of(r)} {outcome_word(r).word} {' '.join(failed_gates(r))}"
            for r in self.recent
            if r.workflow == card.id
        )
        hay = f"{card.id} {card.title} {archetype_words(card.archetype)} {runs}".casefold()
        return all(word in hay for word in self.words.casefold().split())

    def _filter(self, words: str) -> None:
        if words != self.words:
            self.words = words
            self._fill()
            self.refresh_all()

    def action_filter(self) -> None:
        """Type words; the list follows."""
        self.prompt.ask("filter:", self._filter, self.words, self._filter)

    def action_results(self) -> None:
        """All recorded sessions."""
        from apex_tui.tui.screen_results import ResultsScreen

        self.app.push_screen(ResultsScreen(self.recent))

    async def _load_recent(self) -> None:
        try:
            self.recent = list(await asyncio.to_thread(self.apex.sources.recordings))
        except ApexError as error:
            self.say(str(error), "bad")
        self.recent_pane.set_titles("last runs", counted(len(self.recent), "session"))
        self.recent_pane.reload()
        self.title_row.reload()

    def on_screen_resume(self, _event: ScreenResume) -> None:
        """Back from a run: it belongs to the last runs now."""
        if self.cards:
            background(self, self._load_recent, name="picker-recent")

    def on_resize(self, event: Resize) -> None:
        """One column or two."""
        super().on_resize(event)
        self.set_class(event.size.width < _WIDE or event.size.height < _TALL, "-compact")
        if self.cards:
            self.call_after_refresh(self._fill)

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Another workflow: show its card, load its details."""
        card = next((c for c in self.cards if c.id == event.option.id), None)
        if card is None:
            return
        self.choice = replace(self.choice, workflow=card.id, title=card.title)
        self.card.set_titles(f"{plain(card.id, 60)} · {archetype_words(card.archetype)}")
        self.refresh_all()
        if card.id not in self._details:
            background(
                self, partial(self._load_details, card.id), name="picker-details", group="details", exclusive=True
            )

    async def _load_details(self, name: str) -> None:
        try:
            self._details[name] = await asyncio.to_thread(self.apex.sources.workflow, name)
        except ApexError as error:
            self.say(str(error), "bad")
        self.card.reload()

    def refresh_all(self) -> None:
        """Ask every part again."""
        for pane in (self.recent_pane, self.card):
            pane.reload()
        for rows in (self.agent_rows, self.plan, self.title_row):
            rows.reload()
        self.set_class(self.choice.with_url, "-url")

    def _card_lines(self, width: int) -> list[Text]:
        card = next((c for c in self.cards if c.id == self.choice.workflow), None)
        if card is None and self.words:
            return teach(
                width,
                f'No workflow fits "{plain(self.words, 60)}": / changes the filter, and escape there takes it away.',
            )
        if card is None:
            return teach(width, "No workflow was found: `apex-tui workflows list` says where they are looked for.")
        return card_lines(self._details.get(card.id), card.summary, width)

    def _where(self) -> str:
        return str(self.apex.sources.root())

    def title_line(self, width: int) -> Text:
        """How much there is to choose from."""
        found = f"{counted(len(self.cards), 'workflow')} · {counted(len(self.recent), 'session')}"
        return title_plain("APEX  pick a workflow", found, width)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Seed or URL was typed."""
        if event.input is self.seed_input:
            typed = event.value.strip()
            self.choice = replace(self.choice, seed=int(typed) if SEED.fullmatch(typed) else 1)
        else:
            self.choice = replace(self.choice, url=plain(event.value, 400).strip())
        self.plan.reload()

    def on_input_submitted(self, _event: Input.Submitted) -> None:
        """Enter in a field goes back to the list."""
        self.list.focus()

    def key_escape(self) -> None:
        """Escape in a field goes back to the list, and to what was chosen before."""
        if self.focused not in (self.seed_input, self.url_input):
            return
        if self._before is not None:
            self.choice = self._before
            self.seed_input.value, self.url_input.value = str(self.choice.seed), self.choice.url
            self.refresh_all()
        self.list.focus()

    def on_descendant_blur(self, event: DescendantBlur) -> None:
        """A field that was left keeps what was typed."""
        if isinstance(event.widget, Input):
            self._before = None

    def on_option_list_option_selected(self, _event: OptionList.OptionSelected) -> None:
        """Enter on a workflow runs it."""
        self.action_run()

    def action_run(self) -> None:
        """Start the run that is described."""
        problem = self.choice.problem
        if problem is not None:
            self.say(problem, "warn")
            return
        self.say("")
        command = self.choice.command()
        if command.caller == "microphone":
            background(self, partial(self._call, command), name="picker-call", group="call", exclusive=True)
        else:
            self.apex.start_run(command)

    async def _call(self, command: Run) -> None:
        """A call needs a microphone: without one the picker stays, and says why."""
        self.say("looking for the microphone …")
        why_not = await self.apex.sources.no_microphone(command)
        if why_not is not None:
            self.say(why_not, "bad")
        elif self.is_current:
            self.say("")
            self.apex.start_run(command)

    def action_agent(self) -> None:
        """The list of agents."""
        from apex_tui.tui.dialog_agents import AgentScreen

        self.app.push_screen(AgentScreen(self.apex.sources.agents, self.choice.agent.name), self._agent_chosen)

    def _agent_chosen(self, card: AgentCard | None) -> None:
        """Take it; one that has no address of its own asks for it."""
        if card is None:
            return
        self.say("")
        self._before = self.choice if card.needs_url else None
        self.choice = replace(self.choice, agent=card, with_url=card.needs_url)
        self.refresh_all()
        if card.needs_url:
            self.call_after_refresh(self.url_input.focus)

    async def _load_agent(self) -> None:
        """What the list says of the agent that the settings name."""
        try:
            cards = await asyncio.to_thread(self.apex.sources.agents)
        except ApexError as error:
            self.say(str(error), "bad")
            return
        card = card_for(self.choice.agent.name, cards)
        self.choice = replace(self.choice, agent=card, with_url=self.choice.with_url or card.needs_url)
        self.refresh_all()

    def action_seed(self) -> None:
        """Type the seed."""
        self._before = self.choice
        self.set_focus(self.seed_input)  # at once: what is typed ahead is the field's

    def action_url(self) -> None:
        """Type the server's URL. The rehearsal agent has none: it makes way for any server that speaks the protocol."""
        self._before = self.choice
        card = URL_CARD if self.choice.agent.rehearsal else self.choice.agent
        self.choice = replace(self.choice, agent=card, with_url=True)
        self.refresh_all()
        self.set_focus(self.url_input)

    def action_instructions(self) -> None:
        """The neutral prompt, or advice for the test."""
        told: Preset = "coaching" if self.choice.instructions == "neutral" else "neutral"
        self.choice = replace(self.choice, instructions=told)
        self.prompt_row.reload()
        self.plan.reload()

    def action_caller(self) -> None:
        """The recorded caller, or the person at this machine."""
        self.choice = replace(self.choice, by_microphone=not self.choice.by_microphone)
        self.plan.reload()

    def action_open(self) -> None:
        """The list of recorded sessions."""
        from apex_tui.tui.dialogs import RecordingsScreen

        self.app.push_screen(RecordingsScreen(self.recent, self._where()), self._opened)

    def _opened(self, path: Path | None) -> None:
        if path is not None:
            background(self, partial(self.apex.open_recording, path), name="open")
