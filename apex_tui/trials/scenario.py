"""A session with a person at the microphone as a scenario: a recipe and the person's own clips, which replay the same way every time.

In here: the draft of a review (what was said, cut at its edges), and making recipe and clips of a reviewed one. Deliberately not in here: the
guesses (``workflow.takes``), the recipe's text (``workflow.recorded_recipe``), how clips are kept (``bank.own``).
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from apex_tui.audio.frames import Pcm, to_ms, to_samples
from apex_tui.audio.recording import read_lanes
from apex_tui.bank import shape
from apex_tui.bank.own import NewClip, add_clips, remove_clips, shaped
from apex_tui.bank.recognise import Hear
from apex_tui.engine.headless import run_headless
from apex_tui.engine.own_speech import clips_of
from apex_tui.engine.speech import spec_of
from apex_tui.store.layout import slug
from apex_tui.store.meta import ERASED
from apex_tui.store.recording import Recording
from apex_tui.timeline.caller_facts import MicrophonePulse
from apex_tui.timeline.errors import ApexError, BankError, UserError, WorkflowError
from apex_tui.timeline.events import Event
from apex_tui.timeline.messages import AnyNotice, Run
from apex_tui.timeline.paths import user_path
from apex_tui.timeline.session_facts import SessionEnded
from apex_tui.timeline.state import State
from apex_tui.timeline.view import SessionView
from apex_tui.timeline.work_facts import ArtifactVersion
from apex_tui.trials.check import Finding
from apex_tui.trials.tables import clean
from apex_tui.workflow.compile import OWN_SPEECH, compile_text
from apex_tui.workflow.files import parse_yaml, read_text
from apex_tui.workflow.library import LIBRARY, is_ours, own_place, own_recipes
from apex_tui.workflow.lines import spoken_lines
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.part import Value
from apex_tui.workflow.recorded_recipe import recipe_data
from apex_tui.workflow.review import (
    MOST_CLIPS,
    MOST_OF,
    MOST_TITLE,
    MOST_WHY,
    MOST_WORDS,
    SKELETON,
    Clip,
    Review,
    utterances,
)
from apex_tui.workflow.skeleton import skeleton
from apex_tui.workflow.takes import Take, takes

AROUND_MS = (150.0, 250.0)
"""Before the found onset and after the found end: room in which the clip's own edges are looked for."""
PAD_MS = (40.0, 80.0)
"""Kept around the stated edges when a clip is cut; it is trimmed again to what is speech."""

TIMES = 3
"""How often a new scenario is replayed unless told: every time must give the same sound on both lanes."""


@dataclass(frozen=True, slots=True)
class Built:
    """What was made: the recipe, its clips, and the caller's lines for which nobody was recorded (line id -> who speaks it instead)."""

    recipe: Path
    clips: int
    stand_ins: dict[str, str]


def draft(
    recording: Recording, hear: Hear | None = None, scenario_id: str | None = None, base: str | None = None
) -> Review:
    """What a person reviews: every utterance with its place in the recording, a role, words and values.

    Raises:
        UserError: nobody was at the microphone, nothing was said, or there is no sound.
    """
    meta = recording.meta
    if meta.caller != "microphone":
        raise UserError(
            f"{meta.session} had no person at the microphone: only what a person said can be made a scenario; "
            "for a failed session of the recorded caller there is 'regress'."
        )
    if ERASED in meta.labels:
        raise UserError(
            f"{meta.session}: the caller was erased from it, so there is nothing left to make a scenario of."
        )
    lane = _lane(recording)
    state = SessionView.fold(recording.events).state
    found = takes(state, recording.workflow)
    if not found:
        raise UserError(f"{meta.session}: nobody said anything, so there is nothing to make a scenario of.")
    if len(found) > MOST_CLIPS:
        raise UserError(
            f"{meta.session}: the caller speaks {len(found)} times; a scenario is made of {MOST_CLIPS} utterances at most."
        )
    late = _lateness(recording.events)
    clips = tuple(_clip(take, lane, late, hear) for take in found)
    return Review(
        session=meta.session,
        id=scenario_id or free_id(f"{meta.workflow}-recorded"),
        title=f"{meta.title[: MOST_TITLE - 10]}, recorded",
        base=base or _base_of(recording),
        clips=clips,
        outcome=_outcome(state, recording.workflow),
    )


def free_id(wanted: str) -> str:
    """An id that neither our workflows nor the user's own have: ``wanted``, or with ``-2``, ``-3`` ..."""
    stem = slug(wanted).replace("_", "-")[:56]
    number = 1
    while is_ours(name := stem if number == 1 else f"{stem}-{number}") or name in own_recipes():
        number += 1
    return name


def _base_of(recording: Recording) -> str:
    """The workflow that was open, when its recipe is still at hand."""
    name = recording.meta.workflow
    return name if is_ours(name) or name in own_recipes() else SKELETON


def _lane(recording: Recording) -> Pcm:
    audio = recording.folder.find_audio()
    if audio is None:
        raise UserError(f"{recording.meta.session} has no recording of its sound: there is nothing to cut clips from.")
    return read_lanes(audio)[0]


def _lateness(events: list[Event]) -> Callable[[float], float]:
    """How far behind the voice the recorded lane lies at a media time (ms), as the devices told once a second."""
    pulses = [
        (event.media_ms, event.fact.input_latency_ms) for event in events if isinstance(event.fact, MicrophonePulse)
    ]

    def at(media_ms: float) -> float:
        return next((ms for when, ms in pulses if when >= media_ms), pulses[-1][1] if pulses else 0.0)

    return at


def _clip(take: Take, lane: Pcm, late: Callable[[float], float], hear: Hear | None) -> Clip:
    """A take with the edges of its sound in the recording."""
    begin = take.onset_ms + late(take.onset_ms)
    end = (take.offset_ms if take.offset_ms is not None else take.onset_ms + 1000.0) + late(take.onset_ms)
    if to_samples(begin) >= len(lane):
        raise UserError(
            f"turn {take.turn} of the caller lies beyond the end of the recorded sound: the recording was cut off"
        )
    at = max(0, to_samples(begin - AROUND_MS[0]))
    window = lane[at : to_samples(end + AROUND_MS[1])]
    try:
        first, last = shape.spoken_edges(window)
    except ValueError:
        first, last = (
            to_samples(AROUND_MS[0]),
            max(len(window) - to_samples(AROUND_MS[1]), to_samples(AROUND_MS[0]) + 1),
        )
    words = take.words.strip()
    if not words and hear is not None and take.role != "drop":
        words = " ".join(hear(window).split())
    return Clip(
        turn=take.turn,
        from_ms=round(to_ms(at + first), 1),
        to_ms=round(to_ms(at + last), 1),
        role=take.role,
        of=take.of[:MOST_OF],
        words=words.replace("<", " ").replace(">", " ")[:MOST_WORDS],
        says={name: value for name, value in take.says if isinstance(value, Value.__args__)},
        why=take.why[:MOST_WHY],
    )


def _outcome(state: State, workflow: Workflow) -> dict[str, Any]:
    """The final artifact: the one that the gold speaks of, else the first that was written."""
    wanted = [expected.artifact_id for expected in workflow.gold.artifact_expectations]
    held = next((state.artifacts[name] for name in (*wanted, *state.artifacts) if name in state.artifacts), None)
    current = held.current if held is not None else None
    fields = current.fields if current is not None else {}
    return {name: value for name, value in fields.items() if isinstance(value, Value.__args__) and value is not None}


def sound_of(lane: Pcm, from_ms: float, to_ms_: float) -> Pcm:
    """An utterance of the lane, a little more than its stated edges."""
    begin, end = to_samples(from_ms - PAD_MS[0]), to_samples(to_ms_ + PAD_MS[1])
    return np.ascontiguousarray(lane[max(0, begin) : end])


def build(review: Review, recording: Recording, place: Path | None = None) -> Built:
    """Write ``<place>/<id>/<id>.yaml`` and its clips; an earlier one of the same id and session is replaced.

    Raises:
        UserError: the review has faults, does not fit the base, or names an id that is taken; BankError: a clip cannot be used.
    """
    found = review.faults()
    if found:
        more = f"; and {len(found) - 5} more" if len(found) > 5 else ""
        raise UserError(f"the review of {review.session}: {'; '.join(found[:5])}{more}.")
    folder = (place or own_place()) / review.id
    recipe = folder / f"{review.id}.yaml"
    _refuse_taken(review, recipe)
    state = SessionView.fold(recording.events).state
    base = skeleton(review, state, recording.workflow) if review.base == SKELETON else base_data(review.base)
    text = _text(review, recipe_data(review, base))
    try:
        workflow = compile_text(text, recipe.name)
    except WorkflowError as error:
        raise UserError(
            f"the review of {review.session} and its base {review.base} do not fit together: {str(error).rstrip('.')}; "
            "change the review, or name another base."
        ) from None
    clips = _cut(review, recording)
    speech = recipe.with_suffix(OWN_SPEECH)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        part = recipe.with_suffix(".yaml.new")
        part.write_text(text, encoding="utf-8")
        person = recording.meta.parameters.get("person")
        consent = person.get("consent") if isinstance(person, dict) else None
        kept = add_clips(speech, clips, stands_in=_bank_of(review.base), consent=str(consent) if consent else None)
        texts = {clip.text for clip in clips}
        taken_out = [clip for clip in kept.clips if clip.session == review.session and clip.text not in texts]
        if taken_out:  # of an earlier review: dropped since, or worded otherwise
            kept = remove_clips(speech, taken_out)
        os.replace(part, recipe)
    except OSError as error:
        raise UserError(
            f"{folder} cannot be written ({error.strerror or error}); name another place with --out."
        ) from None
    return Built(recipe, len(kept.clips), stand_ins(workflow, speech))


def _refuse_taken(review: Review, recipe: Path) -> None:
    if is_ours(review.id):
        raise UserError(f"id: {review.id} is one of our workflows; choose another name with --id.")
    if recipe.is_file() and f"recorded in {' '.join(review.session.split())};" not in recipe.read_text(
        encoding="utf-8", errors="replace"
    ):
        raise UserError(f"{recipe} is there already and was not made of this session; choose another name with --id.")


def base_data(name: str) -> dict[str, Any]:
    """The data of a recipe by id or path. ``UserError``: there is none."""
    ours = {path.stem: path for path in LIBRARY.glob("*/*.yaml")}
    path = ours.get(name) or own_recipes().get(name) or user_path(name)
    if not path.is_file() or path.suffix not in (".yaml", ".yml"):
        raise UserError(f"base: {name!r} is no recipe; name an id, a recipe file, or {SKELETON!r}.")
    data = parse_yaml(read_text(path, path.name), path.name, as_written=True)
    compile_text(read_text(path, path.name), path.name)  # a fault in it is told before anything is built upon it
    assert isinstance(data, dict)
    return data


def _bank_of(base: str) -> str | None:
    return base if is_ours(base) else None


def _text(review: Review, data: dict[str, Any]) -> str:
    about = f"{review.title}: recorded in {review.session}; the clips lie in {review.id}{OWN_SPEECH} beside this file."
    head = f"# {clean(about, 400)}\n"  # one line, whatever a title holds: the comment ends with it
    return head + yaml.safe_dump({"schema_version": 1, **data}, sort_keys=False, allow_unicode=True, width=140)


def _cut(review: Review, recording: Recording) -> list[NewClip]:
    lane = _lane(recording)
    found = []
    for row in utterances(review.clips):
        pcm = sound_of(lane, row.from_ms, row.to_ms)
        try:
            made = shaped(pcm)
        except ValueError as error:
            raise BankError(
                f"turn {row.turn}: {error} between {row.from_ms:.0f} and {row.to_ms:.0f} ms; move its edges, or drop it."
            ) from None
        act = f"{row.role} {row.of}".strip()
        found.append(NewClip(row.words, made, "caller", act, review.session, row.turn, row.also))
    return found


def replayed(workflow: Workflow, times: int = TIMES, seed: int = 1) -> Finding:
    """Play the scenario several times with the rehearsal agent: the same digests of both lanes, of every version and of the verdict's gates."""
    seen: set[tuple[str, ...]] = set()
    check = f"replayed {times} times"
    with tempfile.TemporaryDirectory(prefix="apex-tui-scenario-") as folder:
        for _ in range(times):
            events: list[Event] = []

            def keep(item: Event | AnyNotice, events: list[Event] = events) -> None:
                if isinstance(item, Event):
                    events.append(item)

            command = Run(workflow=workflow.id, seed=seed, virtual=True, sound="none", out=folder)
            try:
                result = run_headless(command, keep, workflow=workflow)
            except ApexError as error:
                return Finding(check, False, str(error))
            if not result.score.success:
                return Finding(check, False, f"the reference does not succeed ({result.score.outcome})")
            ended = next(event.fact for event in events if isinstance(event.fact, SessionEnded))
            versions = [event.fact.digest for event in events if isinstance(event.fact, ArtifactVersion)]
            seen.add((ended.caller_sha256, ended.agent_sha256, *versions))
    if len(seen) > 1:
        return Finding(check, False, f"{len(seen)} different sessions: digests of lanes or versions differ")
    digests = next(iter(seen))
    return Finding(
        check,
        True,
        f"the same every time: caller {digests[0][:12]}, agent {digests[1][:12]}, {len(digests) - 2} versions",
    )


def stand_ins(workflow: Workflow, speech: Path) -> dict[str, str]:
    """Line id of the caller -> ``bank`` or ``tones``, for the lines that nobody recorded."""
    lines = [(line, spec_of(line)) for line in spoken_lines(workflow) if line.role == "caller"]
    return {name: who for name, (who, _) in clips_of(speech, lines).items() if who != "recorded"}
