"""The caller's onset by energy, for servers whose own detection may sleep while they speak.

It says something only when the agent sounds, the caller has spoken for ``SPEECH`` into it, and the server has not noticed by then: a back-channel
is shorter, and a detection that works is faster. Pure; the caller's samples are the clock, so what was received is taken to play at once.
Deliberately not in here: what follows (``agent`` cancels the reply and says where it knows that from).
"""

from __future__ import annotations

from apex_tui.audio.edges import EdgeDetector
from apex_tui.audio.frames import Pcm, to_ms, to_samples

SPEECH = to_samples(600)
"""Sound of the caller (pauses below 250 ms included) after which the server should have said that it hears it."""

EARLY = to_samples(500)
"""How long before our own onset a server's notice may have come: it may hear a breath first."""


class OnsetFallback:
    """One session's ear beside the server's."""

    def __init__(self) -> None:
        self._edges = EdgeDetector()
        self._samples = 0
        self._sounds_until = 0  # of the caller's lane
        self._onset: int | None = None  # of speech that began into the agent's
        self._noticed_at = -EARLY

    def agent_sounds(self, samples: int) -> None:
        """Sound of the agent arrived: it plays after what is there already."""
        self._sounds_until = max(self._samples, self._sounds_until) + samples

    def agent_stops(self) -> None:
        """What had arrived is not played on."""
        self._sounds_until = self._samples

    def server_noticed(self) -> None:
        """The server said that it hears the caller."""
        self._noticed_at = self._samples
        self.agent_stops()

    def caller(self, pcm: Pcm) -> float | None:
        """The caller's next samples. Returns the onset (ms of the lane) when the server should have noticed it, once."""
        self._samples += len(pcm)
        for edge in self._edges.feed(pcm):
            into = edge.kind == "on" and edge.at < self._sounds_until
            self._onset = edge.at if into else None
        onset = self._onset
        if onset is None or self._edges.last_audible - onset < SPEECH:
            return None
        self._onset = None
        if self._noticed_at >= onset - EARLY or self._samples >= self._sounds_until:
            return None
        self.agent_stops()
        return to_ms(onset)
