"""The agent of the OpenAI-realtime family: the protocol core in the shell, the side channel, and push-to-talk.

Deliberately not in here: the protocol (``client``), and queues, stamps and the end of a session (``shell``).
"""

from __future__ import annotations

from apex_tui.agents.realtime.client import RealtimeClient
from apex_tui.agents.realtime.onset import OnsetFallback
from apex_tui.agents.realtime.profile import Profile
from apex_tui.agents.realtime.push_to_talk import Button
from apex_tui.agents.seam import AgentAudio, AgentEvent, Hint, Ready, ReplyEnded, SpeechStarted, UsageReported, WireTap
from apex_tui.agents.shell import ProtocolAgent
from apex_tui.agents.stall import STALL_S
from apex_tui.agents.transports import Transport
from apex_tui.audio.frames import FRAME_SAMPLES, pcm_from_bytes


class RealtimeAgent(ProtocolAgent):
    """An agent of this family. ``name`` is how the registry calls it; see ``seam.Agent`` for the methods."""

    def __init__(
        self,
        transport: Transport,
        profile: Profile,
        *,
        name: str = "openai",
        rehearsal: bool = False,
        wire: WireTap | None = None,
        stall_s: float = STALL_S,
    ) -> None:
        self._profile = profile
        self._button = Button() if profile.turn_detection == "push_to_talk" else None
        self._fallback = OnsetFallback() if profile.onset_fallback and self._button is None else None
        self._client = RealtimeClient(profile)
        self.ready_timeout_s = profile.ready_timeout_s
        super().__init__(
            self._client,
            transport,
            name=name,
            family=profile.family,
            capabilities=profile.capabilities(hints=rehearsal),
            rehearsal=rehearsal,
            wire=wire,
            stall_s=stall_s,
        )

    def send_hint(self, hint: Hint) -> None:
        """The declared side channel; only a rehearsal agent takes it. In push-to-talk it moves our own button."""
        if self._button is not None:
            self._button.turn(hint)
        if self.rehearsal:
            self._client.hint(hint)
            self._flush()

    def send_text(self, words: str) -> None:
        """A caller turn in writing, for a check without sound."""
        self._client.text(words)
        self._flush()

    def send_audio(self, pcm: bytes) -> None:
        """The caller's next frame; where the dialect's own detection is not to be relied on, we listen as well."""
        super().send_audio(pcm)
        onset_ms = self._fallback.caller(pcm_from_bytes(pcm)) if self._fallback is not None else None
        if onset_ms is not None:
            self._client.cancel()
            self._say(SpeechStarted("client_energy", onset_ms))
            self._flush()

    def _take_in(self, raw: str | bytes, at: float) -> list[AgentEvent]:
        events = super()._take_in(raw, at)
        if self._fallback is not None:
            for event in events:
                self._follow(self._fallback, event)
        # A scripted agent imitates the protocol, its counts included; it costs nothing.
        return [event for event in events if not isinstance(event, UsageReported)] if self.rehearsal else events

    @staticmethod
    def _follow(fallback: OnsetFallback, event: AgentEvent) -> None:
        match event:
            case AgentAudio(pcm=pcm):
                fallback.agent_sounds(len(pcm) // 2)
            case SpeechStarted():
                fallback.server_noticed()
            case ReplyEnded(status="cancelled"):
                fallback.agent_stops()

    def _unconfirmed(self) -> Ready | None:
        assumed = self._profile.ready_after_timeout and self._client.spoke
        return self._client.assume_ready() if assumed else None

    def _limit(self) -> tuple[float, float] | None:
        limit = self._profile.max_session_s
        return (limit, self._profile.warn_before_s) if limit is not None else None

    def _sends_now(self) -> bool:
        return self._button is None or self._pressed(self._button)

    def _pressed(self, button: Button) -> bool:
        """Move the push-to-talk button by one frame; whether the frame is sent."""
        step = button.frame(FRAME_SAMPLES)
        if step.spoken:
            self._client.cancel()
            self._say(SpeechStarted("client_cancel"))
        if step.released:
            self._client.commit()
        self._flush()
        return step.held
