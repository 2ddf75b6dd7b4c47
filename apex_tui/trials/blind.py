"""Blind solves: calls that somebody typed who saw only what an agent sees, kept as text and played again against the workflow.

A transcript is what ``workflows play-text --keep`` writes: ``name: value`` lines (``workflow``, ``seed``, ``solved``), an empty line, then the
call as it was shown. Only what stands behind ``agent> `` is typed again. A workflow that such a call no longer solves is another workflow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from apex_tui.agents.typed import TypedAgent
from apex_tui.engine.speech import tones_of
from apex_tui.timeline.errors import ApexError, UserError
from apex_tui.trials.check import Finding, spoken_too_early
from apex_tui.trials.throwaway import play
from apex_tui.workflow.library import find_workflow

PROMPT = "agent> "
CHECK = "blind solve"
MAX_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Transcript:
    """A kept call. ``solved``: how, in the words of whoever typed it."""

    workflow: str
    seed: int
    solved: str
    typed: tuple[str, ...]


def written(workflow: str, seed: int, solved: str, shown: Sequence[str]) -> str:
    """The text of a transcript; ``shown``: the lines of the call."""
    head = [f"workflow: {workflow}", f"seed: {seed}", f"solved: {solved}", ""]
    return "\n".join([*head, *(line.rstrip() for line in shown)]) + "\n"


def read(path: Path) -> Transcript:
    """Read a transcript. Raises ``UserError``: it is missing, too large, or none."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise UserError(
            f"{path} cannot be read ({error.strerror}); name a call that play-text --keep wrote."
        ) from error
    text = raw[:MAX_BYTES].decode("utf-8", "replace")
    head, _, call = text.partition("\n\n")
    values = dict(line.split(": ", 1) for line in head.splitlines() if ": " in line)
    seed = values.get("seed", "")
    if len(raw) > MAX_BYTES or "workflow" not in values or not seed.isdecimal():
        raise UserError(f"{path}: it begins with no 'workflow:' and 'seed:'; keep a call with play-text --keep.")
    typed = tuple(line[len(PROMPT) :] for line in call.splitlines() if line.startswith(PROMPT.rstrip()))
    return Transcript(values["workflow"], int(seed), values.get("solved", ""), typed)


def transcripts(folder: Path) -> list[Path]:
    """The transcripts in a folder, by name. Raises ``UserError``: there is no such folder."""
    if not folder.is_dir():
        raise UserError(f"{folder} is no folder of transcripts; play-text --keep writes them.")
    return sorted(folder.glob("*.txt"))


def replay(path: Path) -> tuple[str, Finding]:
    """Type a kept call again; returns the workflow and whether it still succeeds."""
    kept = read(path)
    try:
        workflow = find_workflow(kept.workflow)
        lines: Iterator[str] = iter(kept.typed)
        speech = tones_of(workflow, kept.seed)
        score, events = play(workflow, kept.seed, typed=lambda _: TypedAgent(lambda: next(lines, None)), speech=speech)
    except ApexError as error:
        return kept.workflow, Finding(CHECK, False, f"{path.name}: {error}")
    failed = "; ".join(f"{gate.gate}: {gate.reason}" for gate in score.gates if not gate.passed)
    early = spoken_too_early(workflow, events)
    if score.success and not early:
        return kept.workflow, Finding(CHECK, True, f"succeeds again with {len(kept.typed)} lines ({kept.solved})")
    return kept.workflow, Finding(CHECK, False, f"{path.name}: {failed or (early or [score.outcome])[0]}")
