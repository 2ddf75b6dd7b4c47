"""The review of a recorded session: every utterance with what it is taken for, and the outcome, as a file that a person edits.

In here: the file's schema, reading and writing it (YAML, as recipes are), and its faults in sentences. Deliberately not in here: how a draft is
made from a session (``trials.scenario``) and how a recipe follows from it (``recorded_recipe``).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import Field, ValidationError, model_validator

from apex_tui.timeline.errors import UserError, WorkflowError
from apex_tui.workflow.files import line_of, parse_yaml, read_text
from apex_tui.workflow.lines import PAUSE
from apex_tui.workflow.part import Part, Value
from apex_tui.workflow.problems import problems, told
from apex_tui.workflow.takes import NEEDS_OF, Role

SKELETON = "skeleton"
"""As ``base``: the recipe is made of what the session shows, instead of the workflow that was open."""
SHORTEST_MS, LONGEST_MS = 100.0, 60_000.0
"""Of an utterance that is kept."""

MOST_CLIPS, MOST_TITLE, MOST_OF, MOST_WORDS, MOST_WHY = 500, 200, 200, 4000, 400
"""Utterances of a review, and characters of its texts."""

HEAD = """\
# What was said, to be made a scenario. Edit it, then:  apex-tui scenario {session} --review {file}
# role: opening, answer, correction, approval, backchannel, yes, nudge, goodbye; more (goes on with the one before), drop (not kept).
# of: the fact that is answered, the field that is corrected, what a back-channel follows (CALL:tool or an act such as ASK:day).
# says: the values that the words state. from_ms, to_ms: where it lies in the session's recording. outcome: the right end.
"""


ID = r"^[a-z0-9][a-z0-9-]{0,60}$"
"""What the id of a recipe looks like."""


class Clip(Part):
    """One utterance. ``role`` None: nobody has decided. ``why``: the sign for the proposal, for the reader."""

    turn: int
    from_ms: Annotated[float, Field(ge=0, le=86_400_000)]
    to_ms: Annotated[float, Field(ge=0, le=86_400_000)]
    role: Role | None = None
    of: Annotated[str, Field(max_length=MOST_OF)] = ""
    words: Annotated[str, Field(max_length=MOST_WORDS)] = ""
    says: dict[str, Value] = {}
    why: Annotated[str, Field(max_length=MOST_WHY)] = ""

    @model_validator(mode="after")
    def _in_order(self) -> Clip:
        if self.to_ms <= self.from_ms:
            raise ValueError(f"turn {self.turn}: to_ms is not after from_ms")
        return self


class Review(Part):
    """A whole review. ``base``: id or path of the recipe that gives documents, tools and world, or ``skeleton``."""

    schema_version: Literal[1] = 1
    session: Annotated[str, Field(min_length=1, max_length=400)]
    id: Annotated[str, Field(pattern=ID)]
    title: Annotated[str, Field(min_length=1, max_length=MOST_TITLE)]
    base: Annotated[str, Field(min_length=1, max_length=1000)]
    clips: Annotated[tuple[Clip, ...], Field(max_length=MOST_CLIPS)]
    outcome: dict[str, Value]

    def faults(self) -> list[str]:
        """Why no recipe can be made of it yet, one sentence each."""
        found = []
        roles = [clip.role for clip in self.clips]
        for index, clip in enumerate(self.clips):
            name = f"turn {clip.turn}"
            if clip.role is None:
                found.append(f"{name}: nothing tells what it is; give it a role, or drop it")
            if clip.role in (None, "drop"):
                continue
            if not any(char.isalnum() for char in clip.words):
                found.append(
                    f"{name}: no words yet; write what is said, drop it, or let a recogniser listen (--recognise, on the screen l)"
                )
            elif PAUSE.search(clip.words) or "<" in clip.words or ">" in clip.words:
                found.append(f"{name}: words hold a mark; the pauses are in the sound already")
            if clip.role in NEEDS_OF and not clip.of:
                found.append(f"{name}: {clip.role} of what? fill in of")
            if clip.role == "more" and not any(role not in (None, "drop", "more") for role in roles[:index]):
                found.append(f"{name}: goes on with nothing; give it another role")
            elif clip.role == "more" and roles[index - 1] == "drop":
                found.append(
                    f"{name}: goes on over turn {self.clips[index - 1].turn}, which is not kept and would be heard in it; give it another role"
                )
            if not SHORTEST_MS <= clip.to_ms - clip.from_ms <= LONGEST_MS:
                found.append(
                    f"{name}: takes {clip.to_ms - clip.from_ms:.0f} ms; a clip takes {SHORTEST_MS:.0f} ms to {LONGEST_MS / 1000:.0f} s"
                )
        if "opening" not in roles:
            found.append("there is no opening: one utterance must begin the call")
        if not self.outcome:
            found.append("outcome: is empty; state the fields of the right end")
        return found


@dataclass(frozen=True, slots=True)
class Utterance:
    """One or more clips that are one thing said: from the beginning of the first to the end of the last. ``also``: the turns of the others."""

    role: Role
    of: str
    words: str
    says: dict[str, Any]
    from_ms: float
    to_ms: float
    turn: int
    also: tuple[int, ...] = ()


def utterances(clips: Sequence[Clip]) -> list[Utterance]:
    """What is kept, each continuation joined to what it goes on with."""
    found: list[Utterance] = []
    for clip in clips:
        if clip.role in (None, "drop"):
            continue
        if clip.role == "more" and found:
            last = found[-1]
            words, says = f"{last.words} {clip.words}".strip(), {**last.says, **clip.says}
            also = (*last.also, clip.turn)
            found[-1] = Utterance(last.role, last.of, words, says, last.from_ms, clip.to_ms, last.turn, also)
        elif clip.role is not None:
            found.append(
                Utterance(clip.role, clip.of, clip.words.strip(), dict(clip.says), clip.from_ms, clip.to_ms, clip.turn)
            )
    return found


def changed(review: Review, index: int, **changes: object) -> Review:
    """The review with another clip ``index``. ``UserError``: a value does not fit; one sentence."""
    clips = list(review.clips)
    try:
        clips[index] = Clip.model_validate({**clips[index].model_dump(), **changes})
    except ValidationError as error:
        raise UserError(told(*problems(error)[0])) from None
    return review.model_copy(update={"clips": tuple(clips)})


_QUOTED = r'"(?:[^"\\]|\\.)*"'
_PART = re.compile(rf'[\s,]*+(?P<name>{_QUOTED}|[^,="]*?)\s*=\s*+(?P<value>{_QUOTED}|(?!")[^,]*?)\s*(?:,|$)')


def values_of(text: str) -> dict[str, Value]:
    """``day = 2026-12-14, seats = 2, note = "two, by the door"`` as values; nothing gives none. What stands in quotes is text, commas and all.

    Raises:
        UserError: a part without ``=``, or a quote that is not closed.
    """
    found: dict[str, Value] = {}
    at = 0
    while text[at:].strip(", \t"):
        part = _PART.match(text, at)
        name = _unquoted(part["name"]) if part is not None else None
        if part is None or not name:
            near = text[at:].strip(", ")[:30]
            raise UserError(f"{near!r}: write field = value, and commas between several (a comma inside: in quotes)")
        value = part["value"]
        found[name] = _unquoted(value) if value.startswith('"') else _scalar(value)
        at = part.end()
    return found


def values_text(values: dict[str, Value]) -> str:
    """The inverse of ``values_of``, for a line that is edited."""
    return ", ".join(f"{_name_text(name)} = {_value_text(value)}" for name, value in values.items())


def _unquoted(text: str) -> str:
    if not text.startswith('"'):
        return text
    try:
        return str(json.loads(text, strict=False))
    except ValueError:
        raise UserError(f'{text[:60]}: in quotes a backslash is written twice, and a quote as \\".') from None


def _name_text(name: str) -> str:
    return name if name == name.strip() and not set(',="') & set(name) and name.isprintable() else _quoted(name)


def _value_text(value: Value) -> str:
    if not isinstance(value, str):
        return "" if value is None else json.dumps(value)
    plain = value.isprintable() and "," not in value and not value.startswith('"') and value == value.strip()
    return value if plain and _scalar(value) == value else _quoted(value)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=not text.replace("\n", "").isprintable())


def _scalar(text: str) -> Value:
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            value = kind(text)
        except ValueError:
            continue
        if str(value) == text and math.isfinite(
            value
        ):  # 0142 is a number to dial, not to count with; nan is somebody's name
            return value
    return text or None


def write_review(path: Path, review: Review, *, replace: bool = False) -> None:
    """Write the file for a person to edit. ``UserError``: it is there already (and is not to be replaced), or the disk refuses."""
    # One line that YAML takes: a comment ends with it.
    session = "".join(char if char.isprintable() else " " for char in review.session)
    text = HEAD.format(session=session, file=path.name) + yaml.safe_dump(
        review.model_dump(mode="json"), sort_keys=False, allow_unicode=True, width=120
    )
    try:
        if replace:
            part = path.with_name(path.name + ".new")
            part.write_text(text, encoding="utf-8")
            part.replace(path)
            return
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UserError(f"{path} is there already; name another file, or read it with --review.") from None
    except OSError as error:
        raise UserError(f"{path} cannot be written ({error.strerror or error}); name another file.") from None


def read_review(path: Path) -> Review:
    """The review in a file.

    Raises:
        UserError: it cannot be read or does not fit; one sentence with file, line and key.
    """
    try:
        text = read_text(path, path.name)
        return Review.model_validate(parse_yaml(text, path.name, as_written=True))
    except WorkflowError as error:
        raise UserError(str(error)) from None
    except ValidationError as error:
        key, wrong = problems(error)[0]
        line = line_of(text, key)
        raise UserError(f"{path.name}{f':{line}' if line else ''}: {told(key, wrong)}.") from None
