"""False turns and found ones while the agent speaks through a loudspeaker: the canceller, the speech detector and the turn finder as a session
has them, over a synthetic room (noise-like response that decays within 120 ms, 100 ms late) and clips of the bank.

    python tests/benchmarks/echo.py [--minutes 10] [--db -20 -6]

Needs the extra ``mic``. Costs about 8 % of the time that it covers. Not a test: it prints what it found. The exit code is 1 when somebody is heard
who did not speak, or when at -20 dB and quieter an utterance is missed or known later than 150 ms after its onset (confirmed as speech: 250 ms).
"""

from __future__ import annotations

import argparse
import json
import statistics

import numpy as np

from apex_tui.audio.echo import CANCELLER_MS, open_echo
from apex_tui.audio.frames import FRAME_SAMPLES, RATE
from apex_tui.audio.turns import Heard, TurnFinder, find_vad
from apex_tui.engine.speech import load_speech
from apex_tui.workflow.library import find_workflow

LATE = RATE // 10
EVERY_S = 10
NEAR_MS = 400.0
KNOWN_MS, LOUDEST_SURE_DB = 150.0, -20.0
"""At echoes up to this loud every utterance is known so soon after its onset: confirmed as speech, and so detected."""


def room(rng: np.random.Generator) -> np.ndarray:
    """A response of unit energy."""
    response = rng.normal(size=RATE * 120 // 1000) * np.exp(-np.arange(RATE * 120 // 1000) / 500)
    return np.asarray(response / np.sqrt((response**2).sum()))


def run(seconds: int, db: float, *, person: bool) -> dict[str, object]:
    """The agent speaks without end; a person (or nobody) speaks every 10 s."""
    rng = np.random.default_rng(0)
    speech = load_speech(find_workflow("leave-request"), 1)
    far = np.resize(np.concatenate(list(speech.agent.values())), RATE * seconds)
    echo = np.convolve(far.astype(float), room(rng))[: len(far)] * 10 ** (db / 20)
    mouth = np.concatenate((np.zeros(LATE), echo))[: len(far)] + rng.normal(size=len(far)) * 3
    truth: list[int] = []
    ends: list[float] = []
    clips = list(speech.caller.values())
    for number, at in enumerate(range(RATE * 5, len(far) - RATE * EVERY_S, RATE * EVERY_S) if person else ()):
        clip = clips[number % len(clips)]
        mouth[at : at + len(clip.pcm)] += clip.pcm
        truth.append(at + clip.onset)
        ends.append((at + len(clip.pcm)) * 1000 / RATE)
    heard = np.clip(mouth, -32_768, 32_767).astype(np.int16)
    canceller, banner = open_echo("cancel", False)
    if banner is not None:
        raise SystemExit(banner)
    finder = TurnFinder(find_vad())
    found: list[Heard] = []
    for at in range(0, len(far) - FRAME_SAMPLES + 1, FRAME_SAMPLES):
        clean = canceller.clean(heard[at : at + FRAME_SAMPLES], 100.0, finder.speaking)
        found += [turn for turn in finder.feed(clean) if turn.kind == "began"]
        canceller.played(far[at : at + FRAME_SAMPLES])
    edges = [turn.at * 1000 / RATE - CANCELLER_MS for turn in found]
    known = [turn.known_at * 1000 / RATE for turn in found]
    hits = [next((n for n, edge in enumerate(edges) if abs(edge - at * 1000 / RATE) < NEAR_MS), None) for at in truth]
    pairs = [(n, at * 1000 / RATE) for n, at in zip(hits, truth, strict=True) if n is not None]
    late = [edges[n] - at for n, at in pairs]
    confirmed = [known[n] - at for n, at in pairs]
    worst = max(confirmed, default=0.0)
    others = [edge for n, edge in enumerate(edges) if n not in {hit for hit, _ in pairs}]
    # An utterance that goes on after a pause of its own is a turn again, and spoken all the same.
    goes_on = [e for e in others if any(at * 1000 / RATE < e < end for at, end in zip(truth, ends, strict=True))]
    false = len(others) - len(goes_on)
    sure = len(pairs) == len(truth) and worst <= KNOWN_MS
    return {
        "echo_db": db,
        "seconds": seconds,
        "spoken": len(truth),
        "found": len(pairs),
        "false": false,
        "goes_on": len(goes_on),
        "edge_ms": [round(statistics.median(late), 1), round(max(map(abs, late)), 1)] if late else None,
        "confirmed_ms": [round(statistics.median(confirmed)), round(max(confirmed))] if confirmed else None,
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
    print("every row holds" if held else "NOT every row holds")
    return 0 if held else 1


if __name__ == "__main__":
    raise SystemExit(main())
