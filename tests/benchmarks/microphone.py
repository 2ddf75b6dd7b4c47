"""How true the times of a call are: a voice is played into a virtual microphone while the agent speaks, a second program records what both
virtual devices carry, and its own reading of when the voice began and the agent fell silent is compared with the session's.

    python tests/benchmarks/microphone.py [INTERRUPTIONS]

Needs the packages of ``tests/audio/sound_stack.py``. Takes about 12 s an interruption. Not a test: it prints what it found. The exit code is
1 when a stop delay is more than 30 ms off, fewer interruptions than asked for were measured, or sound was lost.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import soundfile

sys.path.insert(0, str(Path(__file__).parents[1] / "audio"))
import sound_stack

from apex_tui.engine.speech import load_speech
from apex_tui.timeline.agent_facts import AgentSpeechStarted, BargeInClosed
from apex_tui.timeline.caller_facts import CallerTurnStarted, MicrophonePulse
from apex_tui.timeline.events import Event
from apex_tui.timeline.messages import HangUp, Run, command_line, read_output
from apex_tui.workflow.library import find_workflow

AUDIBLE = 200
"""Sample values from here on can be heard: -44 dBFS."""
QUIET_MS = 250.0
MOST_OFF_MS = 30.0
"""How far a stop delay that was measured through devices may be from what an outside listener heard."""


def record(where: str) -> None:
    """Listen to both devices until stdin closes; samples with the times at which they were carried."""
    import select

    from apex_tui.audio.microphone import open_microphone

    ears = [open_microphone("apex_mic"), open_microphone("apex_tap")]
    lanes: list[list[np.ndarray]] = [[], []]
    times: list[list[float]] = [[], []]
    print("ready", flush=True)
    due = time.monotonic()
    while not select.select([sys.stdin], [], [], 0)[0]:
        due += 0.02
        time.sleep(max(0.0, due - time.monotonic()))
        for number, ear in enumerate(ears):
            lanes[number].append(ear.frame())
            times[number].append(due - ear.latency_ms / 1000)
    lost = [ear.underruns + ear.overruns for ear in ears]
    np.savez(where, mouth=np.concatenate(lanes[0]), tap=np.concatenate(lanes[1]), times=np.array(times), lost=lost)
    for ear in ears:
        ear.close()


def seconds(pcm: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """The time of every audible sample (s); ``ends``: when the last sample of each frame was carried."""
    at = np.flatnonzero(np.abs(pcm.astype(np.int32)) >= AUDIBLE)
    return ends[at // 480] - (479 - at % 480) / 24_000


def main(count: int) -> int:
    """Call, interrupt, compare; the exit code."""
    folder = Path(tempfile.mkdtemp(prefix="apex-tui-microphone-"))
    stack = sound_stack.start(folder)
    clips = load_speech(find_workflow("leave-request"), 1).caller
    voice = folder / "voice.wav"
    soundfile.write(voice, clips["ans_dates#v2"].pcm, 24_000, subtype="PCM_16")
    recorder = subprocess.Popen(
        [sys.executable, __file__, "record", str(folder / "truth.npz")],
        env=stack.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    engine = subprocess.Popen(
        [sys.executable, "-m", "apex_tui.engine"],
        env=stack.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert recorder.stdout is not None
    assert recorder.stdin is not None
    assert engine.stdin is not None
    assert engine.stdout is not None
    recorder.stdout.readline()
    command = Run(
        workflow="leave-request", caller="microphone", microphone="apex_mic", speaker="apex_spk", sound="device",
        headphones=True, out=str(folder), max_s=30.0 * count + 60,
    )  # fmt: skip
    engine.stdin.write(command_line(command).encode() + b"\n")
    engine.stdin.flush()
    events: list[Event] = []

    def until(kind: type) -> None:
        assert engine.stdout is not None
        for line in engine.stdout:
            item = read_output(line)
            if isinstance(item, Event):
                events.append(item)
                if isinstance(item.fact, kind):
                    return

    def speak() -> None:
        subprocess.run(["paplay", "--device=apex_vmic_bus", str(voice)], env=stack.environment, check=True)

    try:
        until(MicrophonePulse)
        speak()
        for _ in range(count):
            until(AgentSpeechStarted)
            time.sleep(0.7)
            speak()
        time.sleep(3)
        with suppress(BrokenPipeError):  # the agent may have ended the call before us
            engine.stdin.write(command_line(HangUp()).encode() + b"\n")
            engine.stdin.flush()
        for line in engine.stdout:
            item = read_output(line)
            events += [item] if isinstance(item, Event) else []
        engine.wait(30)
        recorder.stdin.close()
        recorder.wait(30)
    finally:
        for process in (engine, recorder):
            process.kill()
        stack.close()
    return 0 if report(events, folder / "truth.npz", count) else 1


def report(events: list[Event], path: Path, wanted: int) -> bool:
    """One row for each interruption that the session measured, and the medians; whether what must hold does."""
    truth = np.load(path)
    voice = seconds(truth["mouth"], truth["times"][0])
    agent = seconds(truth["tap"], truth["times"][1])
    zero = min(event.wall_ns / 1e9 - event.media_ms / 1000 for event in events[3:])
    rows = []
    for event in events:
        fact = event.fact
        if not isinstance(fact, BargeInClosed) or fact.kind != "overlap" or fact.stop_delay_ms is None:
            continue
        near = voice[np.abs(voice - (zero + fact.onset_ms / 1000)) < 0.4]
        if not len(near):
            continue
        onset = float(near[0])
        after = agent[(agent > onset - 0.05) & (agent < onset + 2)]
        gaps = np.flatnonzero(np.diff(after) > QUIET_MS / 1000)
        last = float(after[gaps[0]] if len(gaps) else after[-1])
        rows.append(
            {
                "stop_ms": fact.stop_delay_ms,
                "true_stop_ms": round(1000 * (last - onset), 1),
                "error_ms": round(fact.stop_delay_ms - 1000 * (last - onset), 1),
                "onset_error_ms": round(1000 * (zero + fact.onset_ms / 1000 - onset), 1),
                "kind": fact.stop_kind,
            }
        )
        print(json.dumps(rows[-1]))
    pulses = [event.fact for event in events if isinstance(event.fact, MicrophonePulse)]
    known = [e.media_ms - e.fact.onset_ms for e in events if isinstance(e.fact, CallerTurnStarted)]
    errors = sorted(abs(float(row["error_ms"])) for row in rows)
    lost = [pulses[-1].underruns, pulses[-1].overruns, *map(int, truth["lost"])]
    holds = len(rows) >= wanted and errors[-1] <= MOST_OFF_MS and not any(lost)
    print(
        json.dumps(
            {
                "n": len(rows),
                "error_median_ms": errors[len(errors) // 2] if errors else None,
                "error_worst_ms": errors[-1] if errors else None,
                "confirmed_after_ms": sorted(round(ms) for ms in known),
                "input_ms": pulses[-1].input_latency_ms,
                "output_ms": pulses[-1].output_latency_ms,
                "lost": lost[:2],
                "lost_by_the_recorder": lost[2:],
                "load": round(os.getloadavg()[0], 1),
            }
        )
    )
    print(
        f"stop delay within {MOST_OFF_MS:g} ms (n {len(rows)} of {wanted}), no sound lost: {'holds' if holds else 'DOES NOT HOLD'}"
    )
    return holds


if __name__ == "__main__":
    if sys.argv[1:2] == ["record"]:
        record(sys.argv[2])
    else:
        raise SystemExit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 5))
