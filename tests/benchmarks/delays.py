"""How long sound takes inside a session, beyond what the devices themselves need, and whether what the devices tell is true.

    python tests/benchmarks/delays.py [--minutes 1] [--chirps 6] [--stalls 10]

On the virtual stack of ``tests/audio/sound_stack.py``, with nothing else running. Calls of so many minutes are made until 500 frames went each way
(eight calls at most). Every call counts, also one that says of itself that its timing is degraded (the machine stood still for a moment); such calls
are named. With ``--stalls S`` the whole session is stopped for 150 ms every S seconds: what a machine that stands still does to it, made on purpose.
Three figures, each with its n; the exit code is 1 when one is missed or too little was seen:

* microphone to wire: from the device's call that brought a frame's last sample to the moment at which the frame was given to the websocket;
* wire to loudspeaker: from a message of the agent's audio to the device's call that took its first sample; of one that waited behind earlier words,
  from the moment at which these were over on the session's clock;
* round trip: what the devices tell, less the way of correlated chirps, once in each of so many device tests.

The agent is the rehearsal agent that sends as fast as it plays; a recorded voice speaks into the microphone. Not a test: it prints what it found.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import os
import sys
import tempfile
from bisect import bisect_left
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
import soundfile

sys.path.insert(0, str(Path(__file__).parents[1] / "audio"))
import sound_stack

MOST_MS, MOST_OFF_MS = 60.0, 5.0
MOST_CALLS = 8
LEAST_N = 500
"""Frames below which a percentile of 95 is not stated as held."""
LOUD = 300
FRAME_S = 0.02
STALL_S = 0.15
WAYS = {"wire": "microphone to wire", "speaker": "wire to loudspeaker"}
SENT = '"input_audio_buffer.append"'
KEY = 240
"""A chunk is found again in the lane by its first 10 ms of sound."""


@dataclass
class Seen:
    """What passed the seams of one session, with the times (monotonic, s)."""

    brought: list[tuple[int, float]] = field(default_factory=list)
    """Samples (at the microphone's rate) up to the end of each block, and when the device brought it."""
    taken: list[float] = field(default_factory=list)
    """For each frame of the session: its last sample at the microphone's rate; -1 for a frame of silence in its place."""
    sent: list[float] = field(default_factory=list)
    came: list[tuple[float, np.ndarray]] = field(default_factory=list)
    played: list[float] = field(default_factory=list)
    lane: list[np.ndarray] = field(default_factory=list)
    queued: list[tuple[int, int]] = field(default_factory=list)
    """For each frame that was played: how much the ring had taken before it and after it."""
    read: list[tuple[int, float]] = field(default_factory=list)


def tap(seen: Seen) -> None:
    """Watch the seams of this process: the microphone, the websocket, the loudspeaker."""
    from apex_tui.agents.websocket import WebsocketTransport
    from apex_tui.audio.frames import RATE
    from apex_tui.audio.microphone import BLOCKS_KEPT, DeviceMicrophone
    from apex_tui.audio.sinks import DeviceSink

    arrived: deque[float] = deque(
        maxlen=BLOCKS_KEPT
    )  # as the microphone keeps blocks before the first frame is asked for
    drain = DeviceMicrophone._drain
    take, frame, fill, play = DeviceMicrophone._take, DeviceMicrophone.frame, DeviceSink._fill, DeviceSink.play
    offer, send, recv = WebsocketTransport.offer, WebsocketTransport.send, WebsocketTransport.recv

    def took(self: Any, raw: Any, frames: int, time: Any, status: Any) -> None:
        arrived.append(monotonic())
        take(self, raw, frames, time, status)

    def drained(self: Any) -> None:
        before = self._fed
        drain(self)
        for _ in range((self._fed - before) // self._stream.blocksize):
            before += self._stream.blocksize
            seen.brought.append((before, arrived.popleft() if arrived else monotonic()))

    def framed(self: Any) -> Any:
        lost = self.underruns
        out = frame(self)
        real = self._primed and self.underruns == lost
        seen.taken.append((self._made - len(self._waiting)) * self.rate / RATE if real else -1.0)
        return out

    def offered(self: Any, message: str) -> bool:
        done = offer(self, message)
        if done and SENT in message[:200]:
            seen.sent.append(monotonic())
        return done

    async def waited(self: Any, message: str) -> None:
        await send(self, message)
        if SENT in message[:200]:
            seen.sent.append(monotonic())

    async def received(self: Any) -> Any:
        raw = await recv(self)
        if isinstance(raw, str) and "audio.delta" in raw[:200]:
            seen.came.append((monotonic(), np.frombuffer(base64.b64decode(json.loads(raw)["delta"]), dtype=np.int16)))
        return raw

    def played(self: Any, caller: Any, agent: Any) -> None:
        before = self._ring.written
        play(self, caller, agent)
        seen.played.append(monotonic())
        seen.lane.append(agent.copy())
        seen.queued.append((before, self._ring.written))

    def filled(self: Any, out: Any, frames: int, time: Any, status: Any) -> None:
        fill(self, out, frames, time, status)
        seen.read.append((self._ring.read, monotonic()))

    DeviceMicrophone._take, DeviceMicrophone.frame = took, framed  # type: ignore[method-assign]
    DeviceMicrophone._drain = drained  # type: ignore[method-assign]
    DeviceSink._fill, DeviceSink.play = filled, played  # type: ignore[method-assign]
    WebsocketTransport.offer, WebsocketTransport.send = offered, waited  # type: ignore[method-assign]
    WebsocketTransport.recv = received  # type: ignore[method-assign]


def to_wire(seen: Seen) -> list[float]:
    """Microphone to wire, ms, of each frame that holds sound of the device."""
    counts = [count for count, _ in seen.brought]
    found = []
    for last, sent in zip(seen.taken, seen.sent, strict=False):
        at = bisect_left(counts, last)
        if last >= 0 and at < len(counts):
            found.append(1000 * (sent - seen.brought[at][1]))
    return found


def to_speaker(seen: Seen) -> list[float]:
    """Wire to loudspeaker, ms, of each message whose first sound is found in what was played."""
    whole = np.concatenate(seen.lane).tobytes()
    reads = [count for count, _ in seen.read]
    zero = min(when - (k + 1) * FRAME_S for k, when in enumerate(seen.played))
    found, since = [], 0
    for came, pcm in seen.came:
        loud = np.flatnonzero(np.abs(pcm.astype(np.int32)) > LOUD)
        if not len(loud) or len(pcm) - loud[0] < KEY:
            continue
        first = int(loud[0])
        at = whole.find(pcm[first : first + KEY].tobytes(), since)
        if at < 0 or at % 2:
            continue  # it was cut off, or never played
        since, sample = at, at // 2 - first
        before, after = seen.queued[max(0, sample) // 480]
        place = before + (after - before) * (max(0, sample) % 480) / 480
        index = bisect_left(reads, place + 1)
        if after > before and index < len(reads):
            due = zero + sample / 24_000  # the earliest moment at which this place of the lane can sound
            found.append(1000 * (seen.read[index][1] - (came if due - came < FRAME_S else due)))
    return found


async def call(seconds: float, out: Path, stalls: float) -> None:
    """One session of so many seconds, stopped every ``stalls`` seconds; its figures on stdout."""
    from apex_tui.agents.rehearsal.agent import RehearsalAgent
    from apex_tui.agents.rehearsal.manner import Manner
    from apex_tui.engine.session import run_session
    from apex_tui.engine.speech import load_speech
    from apex_tui.timeline.messages import Run
    from apex_tui.workflow.library import find_workflow

    seen = Seen()
    tap(seen)
    command = Run(
        workflow="leave-request", caller="microphone", microphone="apex_mic",
        speaker="apex_spk", sound="device", headphones=True, out=str(out), max_s=seconds,
    )  # fmt: skip
    talking = asyncio.create_task(talk(seconds, out / "voice.wav"))
    workflow = find_workflow(command.workflow)
    agent = RehearsalAgent.child(workflow, load_speech(workflow, 1).agent, Manner(burst=1, delta_ms=20))
    stopping = await stop_now_and_then(stalls) if stalls else None
    result = await run_session(command, lambda item: None, agent=agent)
    talking.cancel()
    if stopping is not None:
        stopping.kill()
    print(json.dumps({"wire": to_wire(seen), "speaker": to_speaker(seen), "frames": len(seen.taken), "sent": len(seen.sent),
                      "degraded": result.score.timing_degraded}))  # fmt: skip


async def stop_now_and_then(every_s: float) -> asyncio.subprocess.Process:
    """Somebody who stops this process for a moment, again and again, as long as it lives."""
    me = os.getpid()
    return await asyncio.create_subprocess_shell(
        f"while sleep {every_s}; do kill -STOP {me} || exit; sleep {STALL_S}; kill -CONT {me}; done"
    )


async def talk(seconds: float, voice: Path) -> None:
    """Somebody says a sentence every six seconds."""
    for _ in range(int(seconds / 6)):
        await asyncio.sleep(3)
        player = await asyncio.create_subprocess_exec("paplay", "--device=apex_vmic_bus", str(voice))
        await player.wait()


def percentile(values: list[float], share: float) -> float | None:
    """The value below which that share lies; None of none."""
    ranked = sorted(values)
    return round(ranked[min(len(ranked) - 1, int(share * len(ranked)))], 1) if ranked else None


def row(name: str, values: list[float], most: float, least_n: int, p: float = 0.95) -> bool:
    """Print one figure; whether it holds."""
    top = percentile(values, p)
    holds = top is not None and top <= most and len(values) >= least_n
    what = f"p{100 * p:.0f}" if p < 1 else "worst"
    print(f"{name:<22} {what} {top} ms, median {percentile(values, 0.5)} ms (n {len(values)}); at most {most:g}: "
          f"{'holds' if holds else 'DOES NOT HOLD' if top is None or top > most else f'too few: {least_n} are wanted'}")  # fmt: skip
    return holds


def main() -> int:
    """Call, chirp, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--chirps", type=int, default=6, help="device tests of four chirps each")
    parser.add_argument("--stalls", type=float, default=0.0, metavar="S", help="stop the session every S seconds")
    options = parser.parse_args()
    from apex_tui.engine.speech import load_speech
    from apex_tui.workflow.library import find_workflow

    with tempfile.TemporaryDirectory(prefix="apex-tui-delays-") as name:
        folder = Path(name)
        clip = load_speech(find_workflow("leave-request"), 1).caller["ans_dates#v2"]
        soundfile.write(folder / "voice.wav", clip.pcm, 24_000, subtype="PCM_16")
        stack = sound_stack.start(folder)
        try:
            seconds = 60 * options.minutes
            calls: list[dict[str, Any]] = []
            while len(calls) < MOST_CALLS and min(len(delays(calls, way)) for way in WAYS) < LEAST_N:
                done = stack.run([__file__, "call", str(seconds), name, str(options.stalls)], timeout=seconds + 120)
                if done.returncode != 0:
                    print(done.stderr, file=sys.stderr)
                    return 1
                calls.append(json.loads(done.stdout.splitlines()[-1]))
            tests = [device_test(stack) for _ in range(options.chirps)]
        finally:
            stack.close()
    off = [
        abs(loop["told_ms"] - loop["delay_ms"])
        for loop in tests
        if loop is not None and loop["moved_ms"] <= MOST_OFF_MS
    ]
    held = [
        row(WAYS["wire"], delays(calls, "wire"), MOST_MS, LEAST_N),
        row(WAYS["speaker"], delays(calls, "speaker"), MOST_MS, LEAST_N),
        row("round trip, told - chirp", off, MOST_OFF_MS, min(options.chirps, 3), p=1),
    ]
    print(f"device tests whose delays did not become steady: {len(tests) - len(off)} of {len(tests)}")
    for one in calls:
        if one["degraded"]:
            ways = ", ".join(f"{name} p95 {percentile(one[way], 0.95)} ms" for way, name in WAYS.items())
            print(f"of these, a call with its timing degraded: {ways}")
    frames, sent = (sum(one[key] for one in calls) for key in ("frames", "sent"))
    print(f"load {os.getloadavg()[0]:.1f}; {len(calls)} calls; {frames} frames, {sent} sent")
    return 0 if all(held) and frames == sent else 1


def delays(calls: list[dict[str, Any]], way: str) -> list[float]:
    """The delays one way, ms, of all calls."""
    return [delay for one in calls for delay in one[way]]


def device_test(stack: sound_stack.Stack) -> Any:
    """The loop of one ``devices test``, or None."""
    done = stack.run(
        ["-m", "apex_tui", "devices", "test", "-m", "apex_tap", "-s", "apex_spk", "--speak", "0", "--json"]
    )
    return json.loads(done.stdout)["loopback"] if done.returncode in (0, 1) else None


if __name__ == "__main__":
    if sys.argv[1:2] == ["call"]:
        asyncio.run(call(float(sys.argv[2]), Path(sys.argv[3]), float(sys.argv[4])))
    else:
        raise SystemExit(main())
