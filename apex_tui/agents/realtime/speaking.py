"""The sound and the words of items, as a server sends them: base64 in pieces, words that add up or repeat the whole.

Pure; deliberately not in here: whether the reply that they belong to may still speak (``replies`` knows).
"""

from __future__ import annotations

from typing import Any

from apex_tui.agents.realtime.door import MAX_ITEMS, AudioReader, ident, items, number, remember, text
from apex_tui.agents.realtime.replies import Remembered
from apex_tui.agents.seam import AgentAudio, AgentEvent, AgentText, ProviderError


class Speaking:
    """The items of one session. ``cumulative``: a delta of words repeats the whole. ``rate``: of the sound, in Hz."""

    def __init__(self, cumulative: bool, rate: int) -> None:
        self._cumulative = cumulative
        self._rate = rate
        self._audio: dict[str, AudioReader] = {}
        self._said: dict[str, str] = {}
        self._worded = Remembered()

    def sound(self, reply: str, item: str, message: dict[str, Any]) -> list[AgentEvent]:
        """What a delta of sound holds."""
        reader = self._audio.get(item)
        if reader is None:
            index = number(message.get("content_index"))
            reader = AudioReader(int(index) if index is not None and 0 <= index < MAX_ITEMS else 0)
            remember(self._audio, item, reader)
        pcm = reader.read(message.get("delta"))
        if pcm:
            return [AgentAudio(reply, item, pcm)]
        if pcm is None and reader.failures == 1:
            return [ProviderError("bad_audio", f"audio of item {item} that is no base64; it is left out")]
        return []

    def words(self, reply: str, item: str, words: str) -> list[AgentEvent]:
        """What a delta of words adds; one that takes words back states the item anew."""
        self._worded.add(item)
        if not self._cumulative:
            return [AgentText(reply, item, words)]
        before = self._said.get(item, "")
        remember(self._said, item, words)
        if not words.startswith(before):
            return [AgentText(reply, item, words, final=True)]
        return [AgentText(reply, item, words[len(before) :])] if len(words) > len(before) else []

    def whole(self, reply: str, item: str, words: str) -> list[AgentEvent]:
        """All words of an item."""
        if words:
            self._worded.add(item)
        return [AgentText(reply, item, words, final=True)]

    def unsaid(self, reply: str, item: dict[str, Any]) -> list[AgentEvent]:
        """The words of a finished item of which no event of its own told any: some servers write them nowhere else."""
        name = ident(item.get("id")) or reply
        if item.get("type") != "message" or name in self._worded or reply in self._worded:
            return []
        if name not in self._audio and reply in self._audio:
            name = reply  # its sound came without the item's id
        parts = items(item.get("content"))
        told = (text(part.get("transcript")) or text(part.get("text")) for part in parts)
        words = text(" ".join(said for said in told if said))
        return self.whole(reply, name, words) if words else []

    def cut(self, item: str, audio_end_ms: int) -> tuple[int, int] | None:
        """Where an item may be truncated: its content index and a position (ms) within what was received; None: nowhere."""
        reader = self._audio.get(item)
        if reader is None:
            return None
        end = min(int(audio_end_ms), reader.received * 500 // self._rate)
        return (reader.content_index, end) if end > 0 else None
