"""How true the times of a call are: a voice is played into a virtual microphone while the agent speaks, a second program records what both
virtual devices carry, and its own reading of when the voice began and the agent fell silent is compared with the session's.

    python tests/benchmarks/microphone.py [INTERRUPTIONS]

Needs the packages of ``tests/audio/sound_stack.py``. Calls are made until so many interruptions were measured (20 when nothing is said: from there
on a 95th percentile is stated), about 10 s each. One near which the session or the recorder lost sound, as each says itself, is left out and counted:
nobody knows what was heard there. Not a test: it prints what it found. The exit code is 1 when a stop delay is more than 30 ms off, or fewer
interruptions were measured.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import soundfile

sys.path.insert(0, str(Path(__file__).parents[1] / "audio"))
import sound_stack

from apex_tui.engine.speech import load_speech
from apex_tui.timeline.agent_facts import AgentSpeechStarted, BargeInClosed
from apex_tui.timeline.caller_facts import CallerSoundBegan, CallerTurnStarted, MicrophonePulse
from apex_tui.timeline.events import Event
from apex_tui.timeline.messages import AnyCommand, HangUp, Run, command_line, read_output
from apex_tui.timeline.session_facts import SessionPulse
from apex_tui.workflow.library import find_workflow

AUDIBLE = 200
"""Sample values from here on can be heard: -44 dBFS."""
QUIET_MS = 250.0
AGENT_SILENT_S = 12.0
"""An agent that says nothing for so long has no more to say."""
NEAR_LOSS_MS = 2500.0
"""An interruption so near to lost sound is left out: it is watched for two seconds."""
LEAST_N = 20
"""Values from which a percentile is stated."""
MOST_OFF_MS = 30.0
"""How far a stop delay that was measured through devices may be from what an outside listener heard."""


def record(where: str) -> None:
    """Listen to both devices until stdin closes; samples with the times at which they were carried."""
    import select

    from apex_tui.audio.microphone import open_microphone

    ears = [open_microphone("apex_mic"), open_microphone("apex_tap")]
    lanes: list[list[np.ndarray]] = [[], []]
    times: list[list[float]] = [[], []]
    lost: list[float] = []
    before = 0
    print("ready", flush=True)
    due = time.monotonic()
    while not select.select([sys.stdin], [], [], 0)[0]:
        due += 0.02
        time.sleep(max(0.0, due - time.monotonic()))
        for number, ear in enumerate(ears):
            lanes[number].append(ear.frame())
            times[number].append(due - ear.latency_ms / 1000)
        holes = sum(ear.underruns + ear.overruns for ear in ears)
        lost += [due] if holes > before else []
        before = holes
    np.savez(
        where, mouth=np.concatenate(lanes[0]), tap=np.concatenate(lanes[1]), times=np.array(times), lost=np.array(lost)
    )
    for ear in ears:
        ear.close()


def seconds(pcm: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """The time of every audible sample (s); ``ends``: when the last sample of each frame was carried."""
    at = np.flatnonzero(np.abs(pcm.astype(np.int32)) >= AUDIBLE)
    return ends[at // 480] - (479 - at % 480) / 24_000


class Call:
    """One call: the engine with a person at the virtual microphone, and the recorder beside it."""

    def __init__(self, stack: sound_stack.Stack, folder: Path, voice: Path) -> None:
        folder.mkdir()
        self._stack, self._voice, self.truth = stack, voice, folder / "truth.npz"
        self.events: list[Event] = []
        self._lines: queue.Queue[bytes] = queue.Queue()
        self._recorder = subprocess.Popen(
            [sys.executable, __file__, "record", str(self.truth)],
            env=stack.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self._engine = subprocess.Popen(
            [sys.executable, "-m", "apex_tui.engine"],
            env=stack.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        assert self._recorder.stdout is not None
        self._recorder.stdout.readline()
        threading.Thread(target=self._read, daemon=True).start()
        self._tell(
            Run(
                workflow="leave-request", caller="microphone", microphone="apex_mic", speaker="apex_spk", sound="device",
                headphones=True, out=str(folder), max_s=300,
            )
        )  # fmt: skip

    def _read(self) -> None:
        assert self._engine.stdout is not None
        for line in self._engine.stdout:
            self._lines.put(line)
        self._lines.put(b"")

    def _tell(self, command: AnyCommand) -> None:
        assert self._engine.stdin is not None
        with suppress(BrokenPipeError):  # the agent may have ended the call before us
            self._engine.stdin.write(command_line(command).encode() + b"\n")
            self._engine.stdin.flush()

    def until(self, kind: type | None, most_s: float) -> bool:
        """Read on to the next such event (None: to the end); False when it does not come."""
        end = time.monotonic() + most_s
        while (left := end - time.monotonic()) > 0:
            try:
                line = self._lines.get(timeout=left)
            except queue.Empty:
                return False
            if not line:
                return kind is None
            item = read_output(line)
            if isinstance(item, Event):
                self.events.append(item)
                if kind is not None and isinstance(item.fact, kind):
                    return True
        return False

    def speak(self) -> None:
        """Say the sentence."""
        subprocess.run(["paplay", "--device=apex_vmic_bus", str(self._voice)], env=self._stack.environment, check=True)

    def talk(self, wanted: int) -> None:
        """Interrupt the agent until so many interruptions were measured, or it says nothing more."""
        self.until(MicrophonePulse, 20)
        self.speak()
        while len(measured(self.events)) < wanted and self.until(AgentSpeechStarted, AGENT_SILENT_S):
            time.sleep(0.7)
            self.speak()
        self.until(BargeInClosed, 4)
        self._tell(HangUp())
        self.until(None, 60)
        self._engine.wait(30)
        assert self._recorder.stdin is not None
        self._recorder.stdin.close()
        self._recorder.wait(30)

    def close(self) -> None:
        """Leave no process behind."""
        for process in (self._engine, self._recorder):
            process.kill()
            process.wait(10)


def lossy_seconds(events: list[Event], lost: np.ndarray, zero: float) -> list[tuple[float, float]]:
    """Stretches (media ms) in which the session lost sound or was late, or the recorder lost some."""
    found = [(1000 * (at - zero), 1000 * (at - zero)) for at in lost]
    last: dict[type, tuple[float, int]] = {}
    for event in events:
        fact = event.fact
        if isinstance(fact, MicrophonePulse):
            count, late = fact.underruns + fact.overruns, 0
        elif isinstance(fact, SessionPulse):
            count, late = fact.underruns, fact.over_20ms
        else:
            continue
        since, before = last.get(type(fact), (event.media_ms - 1000, count))
        if count > before or late:
            found.append((since, event.media_ms))
        last[type(fact)] = (event.media_ms, count)
    return found


def measured(events: list[Event]) -> list[BargeInClosed]:
    """The interruptions with a stop delay."""
    facts = [event.fact for event in events if isinstance(event.fact, BargeInClosed)]
    return [fact for fact in facts if fact.kind == "overlap" and fact.stop_delay_ms is not None]


def rows_of(events: list[Event], path: Path) -> tuple[list[dict[str, object]], int]:
    """What the session measured beside what the recorder heard, a row an interruption; and how many are left out."""
    truth = np.load(path)
    voice = seconds(truth["mouth"], truth["times"][0])
    agent = seconds(truth["tap"], truth["times"][1])
    zero = min(event.wall_ns / 1e9 - event.media_ms / 1000 for event in events[3:])
    rows: list[dict[str, object]] = []
    holes = lossy_seconds(events, truth["lost"], zero)
    left_out = 0
    for fact in measured(events):
        if any(begin - NEAR_LOSS_MS < fact.onset_ms < end + NEAR_LOSS_MS for begin, end in holes):
            left_out += 1
            continue
        near = voice[np.abs(voice - (zero + fact.onset_ms / 1000)) < 0.4]
        if not len(near) or fact.stop_delay_ms is None:
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
    return rows, left_out


def known(events: list[Event]) -> tuple[list[float], list[float]]:
    """How long after its onset each turn's sound was told, and that it was speech (ms; the microphone's own delay included)."""
    sounds = {event.seq: event.media_ms for event in events if isinstance(event.fact, CallerSoundBegan)}
    detected, confirmed = [], []
    for event in events:
        if isinstance(event.fact, CallerTurnStarted):
            confirmed.append(event.media_ms - event.fact.onset_ms)
            told = min((sounds[seq] for seq in event.causes if seq in sounds), default=event.media_ms)
            detected.append(told - event.fact.onset_ms)
    return detected, confirmed


def figure(values: list[float]) -> dict[str, float | int]:
    """n, median, 95th percentile (from 20 on) and worst."""
    ranked, n = sorted(values), len(values)
    if not n:
        return {"n": 0}
    p95 = {"p95": round(ranked[min(n - 1, int(0.95 * n))], 1)} if n >= LEAST_N else {}
    return {"n": n, "median": round(ranked[n // 2], 1), **p95, "worst": round(ranked[-1], 1)}


def main(count: int) -> int:
    """Call, interrupt, compare; the exit code."""
    folder = Path(tempfile.mkdtemp(prefix="apex-tui-microphone-"))
    stack = sound_stack.start(folder)
    clips = load_speech(find_workflow("leave-request"), 1).caller
    voice = folder / "voice.wav"
    soundfile.write(voice, clips["ans_dates#v2"].pcm, 24_000, subtype="PCM_16")
    rows: list[dict[str, object]] = []
    detected: list[float] = []
    confirmed: list[float] = []
    calls = left_out = 0
    try:
        while len(rows) < count and calls < 3 + count:
            calls += 1
            call = Call(stack, folder / f"call-{calls}", voice)
            try:
                call.talk(count - len(rows))
            finally:
                call.close()
            found, near_loss = rows_of(call.events, call.truth)
            rows, left_out = rows + found, left_out + near_loss
            for row in found:
                print(json.dumps(row), flush=True)
            heard, speech = known(call.events)
            detected, confirmed = detected + heard, confirmed + speech
    finally:
        stack.close()
    errors = [abs(float(str(row["error_ms"]))) for row in rows]
    figures = {
        "error_ms": figure(errors),
        "onset_error_ms": figure([abs(float(str(row["onset_error_ms"]))) for row in rows]),
        "detected_after_ms": figure(detected),
        "confirmed_after_ms": figure(confirmed),
        "calls": calls,
        "left_out_near_lost_sound": left_out,
        "load": round(os.getloadavg()[0], 1),
    }
    print(json.dumps(figures))
    holds = len(rows) >= count and max(errors) <= MOST_OFF_MS
    print(f"stop delay within {MOST_OFF_MS:g} ms (n {len(rows)} of {count}): {'holds' if holds else 'DOES NOT HOLD'}")
    return 0 if holds else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["record"]:
        record(sys.argv[2])
    else:
        raise SystemExit(main(int(sys.argv[1]) if len(sys.argv) > 1 else LEAST_N))
