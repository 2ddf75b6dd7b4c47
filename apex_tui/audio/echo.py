"""What the microphone hears of the loudspeaker, and what is done about it.

    none    headphones: nothing comes back
    cancel  the canceller of WebRTC, from the package livekit (extra ``mic``): the person may interrupt at any time
    gate    without it: the microphone is shut while the agent sounds and a moment longer, so nobody interrupts

Deliberately not in here: devices, and whether what is left is speech.
"""

from __future__ import annotations

import math
from collections import deque
from typing import Any, Literal, Protocol

import numpy as np

from apex_tui.audio.frames import RATE, Pcm, level_db, silence

EchoKind = Literal["none", "gate", "cancel"]
EchoWish = Literal["auto", "cancel", "gate", "none"]

PIECE = RATE // 100
"""10 ms: the only length that the canceller takes."""

CANCELLER_MS = 10.0
"""How much later the canceller's output is than its input (measured by correlation: 9-10 ms)."""

AUDIBLE_DB = -50.0
"""Below this a loudspeaker's echo drowns in a room."""

ROOM_MS = 200.0
"""How long a room rings on after the sound itself."""

HELD_FRAMES = 5
"""So many frames wait before they count as echo alone: the edge of the person's voice is known that late at most."""

INSTALL = "install the extra mic for it (pip install 'apex-tui[mic]'), or use headphones and say --headphones"


class Echo(Protocol):
    """Stands between the microphone and everything else. ``closed``: the person cannot be heard just now."""

    kind: EchoKind
    delay_ms: float
    closed: bool

    @property
    def erle_db(self) -> float | None:
        """How many dB of the echo were taken away in the last seconds in which only the agent sounded; None: not known."""

    def played(self, pcm: Pcm) -> None:
        """These samples of the agent were handed to the loudspeaker."""

    def clean(self, pcm: Pcm, path_ms: float, speaking: bool, undecided: bool = False) -> Pcm:
        """What the person said of a frame. ``path_ms``: from the session to the loudspeaker and from the microphone to the session;
        ``undecided``: something sounds that may be the person.
        """


class Headphones:
    """The microphone hears the person only."""

    kind: EchoKind = "none"
    delay_ms = 0.0
    closed = False
    erle_db: float | None = None

    def played(self, pcm: Pcm) -> None:
        """Nothing of it comes back."""

    def clean(self, pcm: Pcm, path_ms: float, speaking: bool, undecided: bool = False) -> Pcm:
        """All of it is the person."""
        return pcm


class HalfDuplexGate:
    """Shuts the microphone from the agent's sound to the end of its echo, whoever speaks meanwhile."""

    kind: EchoKind = "gate"
    delay_ms = 0.0
    erle_db: float | None = None

    def __init__(self) -> None:
        self.closed = False
        self._left_ms = 0.0

    def played(self, pcm: Pcm) -> None:
        """Remember that the agent sounds."""
        if level_db(pcm) > AUDIBLE_DB:
            self._left_ms = math.inf

    def clean(self, pcm: Pcm, path_ms: float, speaking: bool, undecided: bool = False) -> Pcm:
        """Silence while the gate is shut."""
        if self._left_ms == math.inf:
            self._left_ms = path_ms + ROOM_MS
        self.closed = self._left_ms > 0
        self._left_ms = max(0.0, self._left_ms - 1000 * len(pcm) / RATE)
        return silence(len(pcm)) if self.closed else pcm


class Canceller:
    """The canceller; ``module`` is livekit's ``rtc``."""

    kind: EchoKind = "cancel"
    delay_ms = CANCELLER_MS
    closed = False

    def __init__(self, module: Any) -> None:
        """Start it. Raises whatever the library raises when it cannot."""
        self._frame = module.AudioFrame
        self._apm = module.apm.AudioProcessingModule(echo_cancellation=True, high_pass_filter=False)
        self._sounds: deque[bool] = deque([False] * 15, maxlen=15)  # 300 ms: the agent's echo may still come
        self._ratios: deque[tuple[float, float]] = deque(maxlen=150)
        self._held: deque[tuple[float, float]] = deque()  # not counted yet: the person's first sounds may be in them
        self.clean(silence(2 * PIECE), 0.0, False)  # a library that cannot run here fails now, not in the call

    @property
    def erle_db(self) -> float | None:
        """Energy that came in over energy that is left, of the last 3 s in which only the agent sounded."""
        before = sum(a for a, _ in self._ratios)
        after = sum(b for _, b in self._ratios)
        if len(self._ratios) < 25 or before <= 0:
            return None
        return round(10 * math.log10(before / max(after, 1.0)), 1)

    def played(self, pcm: Pcm) -> None:
        """The far end."""
        self._sounds.append(level_db(pcm) > AUDIBLE_DB)
        for at in range(0, len(pcm), PIECE):
            self._apm.process_reverse_stream(self._piece(pcm[at : at + PIECE]))

    def clean(self, pcm: Pcm, path_ms: float, speaking: bool, undecided: bool = False) -> Pcm:
        """The near end without the far end's echo."""
        self._apm.set_stream_delay_ms(round(min(max(path_ms, 0.0), 500.0)))
        out = np.empty(len(pcm), dtype=np.int16)
        for at in range(0, len(pcm), PIECE):
            piece = self._piece(pcm[at : at + PIECE])
            self._apm.process_stream(piece)
            out[at : at + PIECE] = np.frombuffer(piece.data, dtype=np.int16)
        if any(self._sounds) and level_db(pcm) > AUDIBLE_DB - 20:
            self._held.append((_energy(pcm), _energy(out)))
        if speaking:
            self._held.clear()
        while not undecided and len(self._held) > HELD_FRAMES:
            self._ratios.append(self._held.popleft())
        return out

    def _piece(self, pcm: Pcm) -> Any:
        return self._frame(pcm.tobytes(), RATE, 1, len(pcm))


def _energy(pcm: Pcm) -> float:
    wide = pcm.astype(np.float64)
    return float(wide @ wide)


def open_echo(wish: EchoWish, headphones: bool) -> tuple[Echo, str | None]:
    """What stands against echo, and a sentence when it is less than was hoped for: the banner of the session."""
    if wish == "none" or (wish == "auto" and headphones):
        return Headphones(), None
    if wish == "gate":
        return HalfDuplexGate(), "the microphone is shut while the agent speaks, as you asked: you cannot interrupt it"
    try:
        import importlib

        module: Any = importlib.import_module("livekit.rtc")
        importlib.import_module("livekit.rtc.apm")
        return Canceller(module), None
    except ImportError:
        why = f"no echo canceller is installed; {INSTALL}"
    except Exception as error:  # a native library may refuse in any way: the session goes on with less
        why = f"the echo canceller cannot start ({type(error).__name__}); use headphones and say --headphones"
    return HalfDuplexGate(), f"the microphone is shut while the agent speaks, so you cannot interrupt it: {why}"
