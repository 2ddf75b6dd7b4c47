"""What the picker says: a workflow's card, the choice of the agent, and what will happen. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.text import Text

from apex_tui.tui.agent_cards import REHEARSAL_CARD, AgentCard
from apex_tui.tui.lines import fit, hanging, middle, row, wrap
from apex_tui.tui.plain import plain
from apex_tui.tui.render_results import listing_line
from apex_tui.tui.words import REHEARSAL

if TYPE_CHECKING:
    from apex_tui.store.listing import Listing
    from apex_tui.timeline.messages import Preset, Run
    from apex_tui.workflow.model import Workflow

SCHEMES = ("ws://", "wss://", "http://", "https://")
"""Voice agents have a websocket address, text agents and cascades an HTTP address; the engine knows which wants which."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What is chosen on the picker."""

    workflow: str | None = None
    title: str = ""
    agent: AgentCard = REHEARSAL_CARD
    seed: int = 1
    url: str = ""
    with_url: bool = False
    """An address is asked for: the agent has none of its own, or its own is to be replaced."""
    instructions: Preset = "neutral"
    by_microphone: bool = False
    """The person at this machine calls, not the recorded caller."""

    @property
    def problem(self) -> str | None:
        """Why enter would not run it, in one sentence."""
        if self.workflow is None:
            return "There is no workflow to run."
        wanted = self.with_url and (self.agent.needs_url or bool(self.url))
        if wanted and not self.url.startswith(SCHEMES):
            return "Type the server's URL first (u): it begins with ws:// or wss://, of a text agent with http:// or https://."
        return None

    @property
    def address(self) -> str | None:
        """The address that was typed for this agent; None: its own."""
        return self.url if self.with_url and self.url else None

    def command(self) -> Run:
        """The engine's command. Call it only without a `problem`."""
        from apex_tui.timeline.messages import Run

        return Run(
            workflow=self.workflow or "",
            agent=self.agent.name,
            seed=self.seed,
            url=self.address,
            instructions=self.instructions,
            caller="microphone" if self.by_microphone else "bank",
        )


def card_lines(workflow: Workflow | None, summary: str, width: int) -> list[Text]:
    """The highlighted workflow: summary, artifact, tools, caller, autonomy."""
    lines = wrap(row(plain(summary, 600)), width)
    if workflow is None:
        return lines
    fields = [f for spec in workflow.artifacts.values() if spec.shape for f in spec.shape.fields]
    commits = [plain(t.name, 60) for t in workflow.tools if t.commits]
    others = [plain(t.name, 60) for t in workflow.tools if not t.commits]
    corrections = sum(1 for e in workflow.events if e.delivery == "BARGE_IN")
    rows = [
        ("artifact", f"{', '.join(plain(a, 60) for a in workflow.artifacts) or 'none'} · {len(fields)} fields, "
                     f"{sum(1 for f in fields if f.required)} required"),
        ("tools", ", ".join(others) or "none"),
        ("commits", f"{', '.join(commits) or 'none'} · approval needed for "
                    f"{', '.join(plain(a, 60) for a in workflow.autonomy.approval_required_for) or 'nothing'}"),
        ("caller", f"scripted changes {len(workflow.events)}, {corrections} as barge-in · voice {plain(workflow.caller.voice, 40)}"),
        ("gates", "TS target state · PV process validity · AC action completion · AV artifact validity"),
    ]  # fmt: skip
    for label, text in rows:
        lines += hanging(row((f"{label:<10}", "quiet")), row(text), width)
    return lines


def archetype_words(archetype: str) -> str:
    """``FORM_FILL`` as ``form fill``."""
    return plain(archetype, 30).lower().replace("_", " ")


def agent_lines(choice: Choice, width: int, height: int) -> list[Text]:
    """The chosen agent, what is known of its keys, and its line of explanation, in ``height`` lines."""
    card = choice.agent
    name = plain(card.name, 120)
    label = REHEARSAL if card.rehearsal else name
    manner = f"  {name}" if card.rehearsal and card.name != REHEARSAL_CARD.name else ""
    note = f"  {plain(card.note, 120)}" if card.note else ""
    first = row(("agent ", "quiet"), (label, "strong"), manner, (note, "quiet" if card.ready else "bad"))
    about = [line.plain.rstrip() for line in wrap(Text(plain(card.about, 300)), width)]
    last = max(1, height - 1) - 1
    about = [*about[:last], " ".join(about[last:])]  # what does not fit is cut, and seen to be cut
    return [fit(first, width), *(fit(row((line, "quiet")), width) for line in about)]


PLAN_ROWS = 3
_LEAST_PATH = 12


def instructions_line(choice: Choice) -> Text:
    """Which prompt the agent is given, and the key that changes it."""
    return row(("prompt ", "quiet"), (choice.instructions, "strong"), ("  i changes it", "quiet"))


def plan_lines(choice: Choice, where: str, width: int) -> list[Text]:
    """What will happen on enter, in `PLAN_ROWS` lines: a long path gives way in its middle (`o` shows it whole)."""
    if choice.problem is not None:
        return wrap(row((f"✗ {choice.problem}", "warn")), width)
    name = plain(choice.title or choice.workflow or "", 80)
    text = f"One run of {name} against {_opponent(choice)}; {_caller(choice)}."
    text += "" if choice.instructions == "neutral" else f" It is given the {choice.instructions} prompt."
    first, path = wrap(row(text), width), plain(where, 1000)
    for room in range(max(len(path), _LEAST_PATH), _LEAST_PATH - 1, -1):
        told = f"Recorded to {middle(path, room)}. Nothing is sent until you press enter."
        if len(told) > (PLAN_ROWS - len(first)) * width and room > _LEAST_PATH:
            continue
        lines = [*first, *wrap(row((told, "quiet")), width)]
        if len(lines) <= PLAN_ROWS:
            break
    return lines


def _caller(choice: Choice) -> str:
    """Who calls, in the sentence of the plan."""
    if choice.by_microphone:
        return "you call, at the microphone: it is open from enter on (m: the recorded caller)"
    return f"caller from the speech bank, seed {choice.seed}"


def _opponent(choice: Choice) -> str:
    """The agent in the sentence of the plan."""
    name = plain(choice.agent.name, 120)
    if choice.agent.rehearsal:
        manner = name.partition(":")[2]
        return f"the agent {REHEARSAL}{f', {manner}' if manner else ''}"
    if choice.address is not None:
        return f"the agent {name} at {plain(choice.address, 120)}"
    return f"the agent {name} (its provider may charge for it)"


def recent_lines(rows: Sequence[Listing], workflow: str | None, width: int) -> list[Text]:
    """Last runs, those of the highlighted workflow first."""
    if not rows:
        return [row(("No session was recorded yet.", "quiet")), row(("o lists them when there are some.", "quiet"))]
    ordered = sorted(rows, key=lambda r: r.workflow != workflow)
    return [listing_line(listing, width) for listing in ordered[:30]]
