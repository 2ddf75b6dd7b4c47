"""``apex-tui workflows play-text``: you type as the agent, and the caller answers, in simulated time.

Everything else is the product's own: the caller's policy, the observer, the workbench, the score. The call stands still while you type.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from apex_tui.cli.text import clean
from apex_tui.score.verdict import GATE_WORDS, Score
from apex_tui.timeline.agent_facts import ReplyClosed
from apex_tui.timeline.base import Json
from apex_tui.timeline.caller_facts import CallerTurnStarted
from apex_tui.timeline.errors import EXIT_FAILED, EXIT_OK, UserError
from apex_tui.timeline.events import Event
from apex_tui.timeline.messages import AnyNotice, Run
from apex_tui.timeline.session_facts import SessionEnded
from apex_tui.timeline.work_facts import ToolFinished
from apex_tui.trials.blind import PROMPT, written
from apex_tui.workflow.library import find_workflow
from apex_tui.workflow.lines import without_pauses
from apex_tui.workflow.model import Workflow

HELP = """You are the agent. Type what you say; an empty line listens on. Tools run before words:
  /tool name=value ...    or  /tool {"fields": {"name": "value"}}      /quit ends the call
"""
WIDEST = 64 * 1024
"""Characters of one thing that is shown: an agent gets a result whole, so whoever plays one does, too."""


def play_text(
    name: str,
    *,
    seed: int,
    reveal: bool,
    ask: Callable[[], str | None] | None = None,
    keep: Path | None = None,
    note: str = "",
) -> int:
    """Play a workflow at the keyboard (or through a pipe). Returns the exit code.

    ``reveal``: show the verdict's reasons at the end. ``keep``: the file into which the call is written, with ``note``.
    """
    from apex_tui.agents.instructions import build_instructions
    from apex_tui.agents.typed import TypedAgent
    from apex_tui.cli.narration import Narration
    from apex_tui.engine.control import Control
    from apex_tui.engine.headless import run_headless
    from apex_tui.engine.speech import tones_of

    workflow = find_workflow(name)
    if keep is not None:
        _check_free(keep)  # before a word is typed: a call is not played for nothing
    call = _Call(ask)
    call.print(build_instructions(workflow), "", "".join(_tools(workflow)), HELP)

    def show(item: Event | AnyNotice) -> None:
        if isinstance(item, Event):
            call.print(*told(item))

    agent = TypedAgent(call.ask)
    with tempfile.TemporaryDirectory(prefix="apex-tui-play-") as folder:
        command = Run(workflow=workflow.id, agent="typed", seed=seed, virtual=True, sound="none", out=folder)
        control = Control()
        narration = Narration(show, control.stop)
        speech = tones_of(workflow, seed)
        score = run_headless(command, narration, control, workflow=workflow, agent=agent, speech=speech).score
        narration.check()
    call.print(*_verdict(score, reveal=reveal))
    if keep is not None:
        _keep(keep, written(workflow.id, seed, note or "by hand", call.shown))
    return EXIT_OK if score.success else EXIT_FAILED


class _Call:
    """What is shown of a call, and what is typed; ``shown`` keeps both."""

    def __init__(self, ask: Callable[[], str | None] | None) -> None:
        self._ask = ask
        self.shown: list[str] = []

    def print(self, *lines: str) -> None:
        """Show lines, and remember them."""
        for line in lines:
            self.shown += line.split("\n")
            print(line, flush=True)

    def ask(self) -> str | None:
        """The next line of whoever plays; None: there is none."""
        line = self._ask() if self._ask is not None else _typed()
        if line is not None:
            self.shown.append(f"{PROMPT}{line.rstrip()}")
        return line


def _check_free(path: Path) -> None:
    if path.exists() or path.is_symlink():
        raise UserError(f"{path} is there already; name another file with --keep.")
    if not os.access(path.parent, os.W_OK):
        raise UserError(f"{path} cannot be written; name another file with --keep.")


def _keep(path: Path, text: str) -> None:
    try:
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        raise UserError(f"{path} is there already; name another file with --keep.") from None
    except OSError as error:
        raise UserError(f"{path} cannot be written ({error.strerror}); name another file with --keep.") from error


def _typed() -> str | None:
    """The next line of the keyboard or the pipe; what comes through a pipe is shown."""
    if sys.stdin.isatty():
        # The loop's own answer to Ctrl-C is to cancel the call once this line is there.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            return input(PROMPT)
        except EOFError:
            return None
        except KeyboardInterrupt:
            print()
            raise
        finally:
            signal.signal(signal.SIGINT, before)
    line = sys.stdin.readline()
    if not line:
        print("(the input has ended, so the agent hangs up)")
        return None
    print(f"{PROMPT}{line.rstrip()}")
    return line


def told(event: Event) -> Iterator[str]:
    """What a person at the keyboard must see of an event."""
    match event.fact:
        case CallerTurnStarted(act="BACKCHANNEL") as turn:
            yield f"        ({clean(turn.text, WIDEST)})"
        case CallerTurnStarted() as turn:
            yield f"caller  {clean(without_pauses(turn.text), WIDEST)}"
        case ReplyClosed(how="flushed") as reply:
            yield f"        (it cut you off after: {clean(reply.heard or '', WIDEST)!r})"
        case ToolFinished() as done:
            body = done.result if done.ok else {"error": done.error, "hint": done.hint}
            shown = json.dumps(body, ensure_ascii=False)
            yield f"  {'✓' if done.ok else '✗'} {clean(done.name, 80)}: {clean(shown, WIDEST)}"
        case SessionEnded() as ended:
            yield f"The call is over ({ended.outcome}): {clean(ended.reason, WIDEST)}"
        case _:
            return


def _tools(workflow: Workflow) -> Iterator[str]:
    from apex_tui.workbench.schemas import tool_schemas

    yield "Tools:\n"
    for tool in tool_schemas(workflow):
        properties, needed = tool["parameters"]["properties"], tool["parameters"]["required"]
        yield f"- {tool['name']}: {tool['description']}\n"
        for name, about in properties.items():
            yield f"    {name} {_argument(about, required=name in needed)}\n"
            for field, inner in about.get("properties", {}).items():
                yield f"      {field} {_argument(inner)}\n"


def _argument(schema: Json, *, required: bool = False) -> str:
    """What the schema of an argument says: ``(string; required; one of a, b): the day of departure``."""
    notes = [str(schema["type"]), *(["required"] if required else [])]
    if "enum" in schema:
        notes.append("one of " + ", ".join(map(str, schema["enum"])))
    words = f": {schema['description']}" if schema.get("description") else ""
    return f"({'; '.join(notes)}){words}"


def _verdict(score: Score, *, reveal: bool) -> Iterator[str]:
    yield "The work is done." if score.success else "The work is not done."
    for gate in score.gates:
        yield f"  {'✓' if gate.passed else '✗'} {GATE_WORDS[gate.gate]}" + (f": {gate.reason}" if reveal else "")
