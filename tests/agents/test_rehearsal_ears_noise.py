"""Ears in a room that is never quiet: hints tell every utterance, so babble is neither a turn nor the end of one."""

from __future__ import annotations

import random

import numpy as np

from apex_tui.agents.rehearsal.ears import Ears, Heard
from apex_tui.agents.rehearsal.manner import Manner
from apex_tui.agents.seam import Hint
from apex_tui.audio.frames import FRAME_SAMPLES, Pcm, to_ms, to_samples

RNG = random.Random(3)
BABBLE: Pcm = np.asarray([RNG.randint(-900, 900) for _ in range(24_000)], dtype=np.int16)


def hear(hints: dict[int, Hint], frames: int) -> list[tuple[str, str | None, float, float]]:
    """(kind, plan, edge in ms, time in ms) with hints arriving before the frame of their number; the room babbles all the time."""
    ears = Ears(Manner())
    found: list[tuple[str, str | None, float, float]] = []

    def note(heard: Heard, now: float) -> None:
        found.append(
            (heard.kind, heard.turn.hint.plan if heard.turn.hint else None, to_ms(heard.sample), round(now * 1000, 3))
        )

    for frame in range(frames):
        if frame in hints:
            ears.hint(hints[frame])
        end = (frame + 1) * 0.02
        while (due := ears.next_due()) is not None and due < end:
            for heard in ears.poll(due):
                note(heard, due)
        at = frame % 50 * FRAME_SAMPLES
        ears.feed(BABBLE[at : at + FRAME_SAMPLES], end)
        for heard in ears.poll(end):
            note(heard, end)
    return found


def hint(plan: str, from_ms: float, until_ms: float) -> Hint:
    return Hint(1, plan, "ANSWER", plan, to_samples(from_ms), to_samples(until_ms))


def test_hinted_turns_are_heard_at_their_own_edges_in_babble() -> None:
    heard = hear({0: hint("one", 500, 1500), 150: hint("two", 3210, 4000)}, 300)
    assert heard == [
        ("began", "one", 500.0, 590.0),
        ("ended", "one", 1500.0, 1800.0),
        ("began", "two", 3210.0, 3300.0),
        ("ended", "two", 4000.0, 4300.0),
    ]


def test_babble_that_was_taken_for_the_caller_goes_over_into_the_caller() -> None:
    heard = hear({20: hint("one", 500, 1500)}, 120)
    assert [(kind, plan) for kind, plan, _, _ in heard] == [("began", None), ("ended", "one")]
    assert heard[1][2:] == (1500.0, 1800.0)
