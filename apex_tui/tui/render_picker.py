"""What the picker says: a workflow's card, the choice of the agent, and what will happen. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.text import Text

from apex_tui.timeline.messages import Run
from apex_tui.tui.lines import hanging, row, wrap
from apex_tui.tui.plain import plain
from apex_tui.tui.render_score import listing_line
from apex_tui.tui.words import REHEARSAL

if TYPE_CHECKING:
    from apex_tui.store.listing import Listing
    from apex_tui.workflow.model import Workflow

AGENTS = ("rehearsal", "openai", "url")
"""What `a` goes through; ``url`` is any server that speaks the OpenAI realtime protocol."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What is chosen on the picker."""

    workflow: str | None = None
    title: str = ""
    agent: str = "rehearsal"
    seed: int = 1
    url: str = ""

    @property
    def problem(self) -> str | None:
        """Why enter would not run it, in one sentence."""
        if self.workflow is None:
            return "There is no workflow to run."
        if self.agent == "url" and not self.url.startswith(("ws://", "wss://")):
            return "Type the server's URL first (u): it begins with ws:// or wss://."
        return None

    def command(self) -> Run:
        """The engine's command. Call it only without a `problem`."""
        agent = "openai" if self.agent == "url" else self.agent
        url = self.url if self.agent == "url" else None
        return Run(workflow=self.workflow or "", agent=agent, seed=self.seed, url=url)


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


def agent_lines(choice: Choice, key_found: bool, width: int) -> list[Text]:
    """The agents with a mark at the chosen one, and what it needs."""
    words = {
        "rehearsal": REHEARSAL,
        "openai": "openai",
        "url": "server by URL",
    }
    parts = [(f"{'(●)' if agent == choice.agent else '( )'} {words[agent]}  ", "strong" if agent == choice.agent else "quiet")
             for agent in AGENTS]  # fmt: skip
    notes = {
        "rehearsal": "knows the solution: it tests the instrument and is never ranked",
        "openai": "OPENAI_API_KEY "
        + ("found in the environment (not shown)" if key_found else "not found in the environment"),
        "url": "any server that speaks the OpenAI realtime protocol",
    }
    note_role = "bad" if choice.agent == "openai" and not key_found else "quiet"
    return [row(*parts), *wrap(row((notes[choice.agent], note_role)), width)]


def plan_lines(choice: Choice, where: str, width: int) -> list[Text]:
    """What will happen on enter."""
    if choice.problem is not None:
        return wrap(row((f"✗ {choice.problem}", "warn")), width)
    agent = {
        "rehearsal": f"the agent {REHEARSAL}",
        "openai": "the openai agent (its provider charges for it)",
        "url": f"the server at {plain(choice.url, 120)}",
    }[choice.agent]
    name = plain(choice.title or choice.workflow or "", 80)
    text = f"One run of {name} against {agent}; caller from the speech bank, seed {choice.seed}."
    return [
        *wrap(row(text), width),
        *wrap(row((f"Recorded to {plain(where, 200)}. Nothing is sent until you press enter.", "quiet")), width),
    ]


def recent_lines(rows: Sequence[Listing], workflow: str | None, width: int) -> list[Text]:
    """Last runs, those of the highlighted workflow first."""
    if not rows:
        return [row(("No session was recorded yet.", "quiet")), row(("o lists them when there are some.", "quiet"))]
    ordered = sorted(rows, key=lambda r: r.workflow != workflow)
    return [listing_line(listing, width) for listing in ordered[:30]]
