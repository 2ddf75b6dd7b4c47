"""Other sample rates at the wire: our side of the seam is always 24 kHz, a provider's may not be.

In here: the streams of an agent's items. Deliberately not in here: the filter (``audio.resample``), and the device's rate (sinks).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from apex_tui.agents.seam import AgentAudio, AgentEvent, ReplyEnded
from apex_tui.audio.resample import Resampler

__all__ = ["Resampler", "Voices"]

MOST_STREAMS = 256


class Voices:
    """The agent's items at our rate: one stream each, emptied when the reply ends, so that no sample is lost."""

    def __init__(self, rate_in: int, rate_out: int) -> None:
        self._rates = (rate_in, rate_out)
        self._streams: dict[str, tuple[str, Resampler]] = {}

    def heard(self, events: Iterable[AgentEvent]) -> list[AgentEvent]:
        """The events with their audio at our rate."""
        if self._rates[0] == self._rates[1]:
            return list(events)
        out: list[AgentEvent] = []
        for event in events:
            if isinstance(event, AgentAudio):
                pcm = self._stream(event).feed(event.pcm)
                if pcm:
                    out.append(replace(event, pcm=pcm))
                continue
            if isinstance(event, ReplyEnded):
                out += self._rest(event.reply)
            out.append(event)
        return out

    def _stream(self, event: AgentAudio) -> Resampler:
        if event.item not in self._streams:
            if len(self._streams) >= MOST_STREAMS:
                del self._streams[next(iter(self._streams))]
            self._streams[event.item] = (event.reply, Resampler(*self._rates))
        return self._streams[event.item][1]

    def _rest(self, reply: str) -> list[AgentEvent]:
        over = [item for item, (owner, _) in self._streams.items() if owner == reply]
        rest = [(item, self._streams.pop(item)[1].finish()) for item in over]
        return [AgentAudio(reply, item, pcm) for item, pcm in rest if pcm]
