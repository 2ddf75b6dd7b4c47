"""False turns and found ones while the agent speaks through a loudspeaker: the canceller, the speech detector and the turn finder as a session
has them, over a synthetic room (noise-like response that decays within 120 ms, 100 ms late) and clips of the bank.

    python tests/benchmarks/echo.py [--minutes 10] [--db -20 -6]

Needs the extra ``mic``. Costs about 8 % of the time that it covers. Not a test: it prints what it found. Of each utterance two moments are told,
counted from its true onset at the mouth to the end of the frame with which the session knows of it (the devices' own delays come on top):

    detected   the energy edge that belongs to it (`caller.sound_began`); of one that rises out of a sound, the turn itself
    confirmed  that it is speech (`caller.turn_started`)

The exit code is 1 when somebody is heard who did not speak, or when at -20 dB and quieter an utterance is missed, detected later than 150 ms or
confirmed later than 250 ms after its onset.
"""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import dataclass, field

import numpy as np

from apex_tui.audio.echo import CANCELLER_MS, Canceller, open_echo
from apex_tui.audio.edges import EdgeDetector
from apex_tui.audio.frames import FRAME_SAMPLES, RATE, Pcm, to_ms
from apex_tui.audio.turns import Heard, TurnFinder, find_vad
from apex_tui.engine.speech import load_speech
from apex_tui.workflow.library import find_workflow

LATE = RATE // 10
EVERY_S = 10
NEAR_MS = 400.0
EARLY_MS = 30.0
"""An edge that lies further before the onset belongs to another sound."""
DETECTED_MS, CONFIRMED_MS, LOUDEST_SURE_DB = 150.0, 250.0, -20.0
"""At echoes up to this loud every utterance is known so soon after its onset."""


@dataclass
class Lane:
    """What one run is made of, and what was said in it: true onsets and ends (ms)."""

    far: Pcm
    heard: Pcm
    said: list[tuple[float, float]] = field(default_factory=list)


def room(rng: np.random.Generator) -> np.ndarray:
    """A response of unit energy."""
    response = rng.normal(size=RATE * 120 // 1000) * np.exp(-np.arange(RATE * 120 // 1000) / 500)
    return np.asarray(response / np.sqrt((response**2).sum()))


def lane(seconds: int, db: float, *, person: bool) -> Lane:
    """The agent speaks without end; a person (or nobody) speaks every 10 s."""
    rng = np.random.default_rng(0)
    speech = load_speech(find_workflow("leave-request"), 1)
    far = np.resize(np.concatenate(list(speech.agent.values())), RATE * seconds)
    echo = np.convolve(far.astype(float), room(rng))[: len(far)] * 10 ** (db / 20)
    mouth = np.concatenate((np.zeros(LATE), echo))[: len(far)] + rng.normal(size=len(far)) * 3
    said = []
    clips = list(speech.caller.values())
    for number, at in enumerate(range(RATE * 5, len(far) - RATE * EVERY_S, RATE * EVERY_S) if person else ()):
        clip = clips[number % len(clips)]
        mouth[at : at + len(clip.pcm)] += clip.pcm
        said.append((to_ms(at + clip.onset), to_ms(at + len(clip.pcm))))
    return Lane(far, np.clip(mouth, -32_768, 32_767).astype(np.int16), said)


def listen(lane: Lane, canceller: Canceller) -> list[Heard]:
    """What the finder tells, frame by frame, as `engine.person` asks it."""
    finder, agent, audible = TurnFinder(find_vad()), EdgeDetector(), False
    found: list[Heard] = []
    for at in range(0, len(lane.far) - FRAME_SAMPLES + 1, FRAME_SAMPLES):
        far = lane.far[at : at + FRAME_SAMPLES]
        clean = canceller.clean(lane.heard[at : at + FRAME_SAMPLES], 100.0, finder.speaking, finder.undecided)
        found += finder.feed(clean, audible)
        canceller.played(far)
        agent.feed(far)
        audible = agent.audible
    return found


def figure(values: list[float]) -> dict[str, float | int]:
    """n, median, 95th percentile (from 20 on) and worst."""
    ranked = sorted(values)
    if not ranked:
        return {"n": 0}
    n = len(ranked)
    p95 = {"p95": round(ranked[min(n - 1, int(0.95 * n))])} if n >= 20 else {}
    return {"n": n, "median": round(ranked[n // 2]), **p95, "worst": round(ranked[-1])}


def run(seconds: int, db: float, *, person: bool) -> dict[str, object]:
    """One level, with a person or without."""
    made = lane(seconds, db, person=person)
    canceller, banner = open_echo("cancel", False)
    if banner is not None or not isinstance(canceller, Canceller):
        raise SystemExit(banner)
    told = listen(made, canceller)
    turns = [(to_ms(h.at) - CANCELLER_MS, to_ms(h.known_at)) for h in told if h.kind == "began"]
    sounds = [(to_ms(h.at) - CANCELLER_MS, to_ms(h.known_at)) for h in told if h.kind == "sound"]
    hits: dict[float, tuple[float, float]] = {}
    for onset, _ in made.said:
        near = next((turn for turn in turns if abs(turn[0] - onset) < NEAR_MS and turn[1] > onset), None)
        if near is not None:
            hits[onset] = near
    detected = []
    for onset, turn in hits.items():
        edges = [known for edge, known in sounds if edge == turn[0] and edge >= onset - EARLY_MS]
        detected.append((edges[0] if edges else turn[1]) - onset)
    confirmed = [known - onset for onset, (_, known) in hits.items()]
    others = [edge for edge, known in turns if (edge, known) not in hits.values()]
    # An utterance that goes on after a pause of its own is a turn again, and spoken all the same.
    goes_on = [edge for edge in others if any(at < edge < end for at, end in made.said)]
    false = len(others) - len(goes_on)
    sure = (
        len(hits) == len(made.said)
        and max(detected, default=0.0) <= DETECTED_MS
        and max(confirmed, default=0.0) <= CONFIRMED_MS
    )
    return {
        "echo_db": db,
        "seconds": seconds,
        "spoken": len(made.said),
        "found": len(hits),
        "share": round(len(hits) / len(made.said), 3) if made.said else None,
        "false": false,
        "goes_on": len(goes_on),
        "refused": sum(h.kind == "refused" for h in told),
        "detected_ms": figure(detected),
        "confirmed_ms": figure(confirmed),
        "edge_ms": figure([abs(turn[0] - onset) for onset, turn in hits.items()]),
        "erle_db": canceller.erle_db,
        "holds": false == 0 and (sure or db > LOUDEST_SURE_DB),
    }


def main() -> int:
    """One row for each level, without a person and with one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--db", type=float, nargs="+", default=[-20.0, -6.0])
    options = parser.parse_args()
    held = True
    for level in options.db:
        for spoken in (False, True):
            row = run(round(60 * options.minutes), level, person=spoken)
            print(json.dumps(row), flush=True)
            held = held and bool(row["holds"])
    print(f"load {os.getloadavg()[0]:.1f}: {'every row holds' if held else 'NOT every row holds'}")
    return 0 if held else 1


if __name__ == "__main__":
    raise SystemExit(main())
