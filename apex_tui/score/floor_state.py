"""What the floor meter has learned: caller turns, replies, audible stretches, signals, tools. Plain book-keeping with look-ups by media position.

Deliberately not in here: any judgement (`barge_ins`, `overlaps`, `answers`, `silences`, `declared`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from apex_tui.score.sentences import has_sentence
from apex_tui.timeline.agent_facts import AgentNoticed, AgentSaid, ReplyClosed
from apex_tui.timeline.events import AnyFact

WINDOW_MS = 2000.0
"""How long a barge-in is watched after its onset (``yielded_2s``)."""
KNOWN_AFTER_MS = 350.0
"""An audible edge is on the timeline at most this long after it happened: a 250 ms gap, two frames, and a margin."""
SLACK_MS = 20.0
"""The stated error of an edge, both sides of a difference taken together: sound that ended this little before an onset was cut by it."""
WORDS_LAG_MS = 400.0
"""Words may be sent this long after their sound; sound that leads its words by more is no speech, or cannot be told from it."""
WORDS_LEAD_MS = 100.0
"""Words go out with the packet in which they begin: their sound may begin this long after the position that is noted for them."""


class Measured(NamedTuple):
    """A derived fact and the sequence numbers that prove it."""

    fact: AnyFact
    causes: tuple[int, ...]


@dataclass(slots=True)
class Turn:
    """A caller turn. ``aside``: a back-channel or side talk, which claims no floor and wants no answer."""

    number: int
    seq: int
    aside: bool
    onset: float
    ends: float
    pauses: tuple[tuple[float, float], ...] = ()
    offset: float | None = None
    interrupted_reply: str | None = None
    judged: bool = False
    pending: bool = False
    """Whether it is an aside is not decided; until then it counts as one, and as nothing else."""
    echo: bool = False
    """It sounds like the loudspeaker."""
    cut_in: bool = False

    @property
    def end(self) -> float:
        """The last audible sample, as far as it is known."""
        return self.ends if self.offset is None else self.offset


@dataclass(slots=True)
class Speech:
    """An audible stretch of the agent lane; ``off`` None: still sounding."""

    reply: str | None
    on: float
    seq: int
    leading: float | None = None
    off: float | None = None
    off_seq: int | None = None
    paused: bool = False
    """It ended in a pause of the reply's own audio."""


@dataclass(slots=True)
class Reply:
    """A reply. ``words_at_ms``: audio that had arrived before its first words, None when not stated; ``words_ms``: media time of these words."""

    id: str
    seq: int
    started: float
    after_tool: bool = False
    first_byte: float | None = None
    status: str | None = None
    status_at: float | None = None
    flushed: list[tuple[float, int]] = field(default_factory=list)
    closed: ReplyClosed | None = None
    closed_at: float | None = None
    generated_ms: float | None = None
    stretches: list[Speech] = field(default_factory=list)
    pauses: list[float] = field(default_factory=list)
    words_ms: float | None = None
    words_at_ms: float | None = None
    speakable: float | None = None
    items: dict[str, str] = field(default_factory=dict)

    @property
    def first_audible(self) -> float | None:
        """Its first audible sample."""
        return self.stretches[0].on if self.stretches else None

    @property
    def first_played(self) -> float | None:
        """Its first played sample, audible or not."""
        if not self.stretches:
            return None
        return self.stretches[0].on - (self.stretches[0].leading or 0.0)

    @property
    def text(self) -> str:
        """All its words so far."""
        if self.closed is not None:
            return self.closed.text
        return " ".join(text.strip() for text in self.items.values())

    def said(self, fact: AgentSaid, at: float) -> None:
        """Learn words: a delta, or the item's whole text."""
        self.items[fact.item] = fact.text if fact.final and fact.text else self.items.get(fact.item, "") + fact.text
        if self.words_ms is None and fact.text.strip():
            self.words_ms, self.words_at_ms = at, fact.audio_ms
        if self.speakable is None and has_sentence(self.text, whole=fact.final):
            self.speakable = at

    def proof(self, since: float, until: float) -> tuple[float, int | None] | None:
        """The first proof in ``since .. until`` that it was cut: a flush (with its event), or the provider's word that it was cancelled."""
        found: list[tuple[float, int | None]] = [(at, seq) for at, seq in self.flushed if since <= at <= until]
        if self.status == "cancelled" and self.status_at is not None and since <= self.status_at <= until:
            found.append((self.status_at, None))
        return min(found, key=lambda p: p[0], default=None)

    def speech_onset(self) -> float | None:
        """The audible onset with which its speech began; None without words, or when other sound runs into the speech without a gap.

        Words are placed by the audio that had arrived before them. Without that, the first onset at which words were known counts.
        """
        played = self.first_played
        if self.words_ms is None or played is None:
            return None
        if self.words_at_ms is None:
            return next((s.on for s in self.stretches if s.on + SLACK_MS >= self.words_ms), None)
        place = played + self.words_at_ms
        for stretch in self.stretches:
            if stretch.on >= place:
                return stretch.on
            if stretch.off is None or stretch.off > place + WORDS_LEAD_MS:
                return stretch.on if place - stretch.on <= WORDS_LAG_MS else None
        return None

    def is_speech(self, stretch: Speech) -> bool | None:
        """Whether a stretch holds speech: it does not when it was over before the first words; None while that is not known.

        Words that came when all the sound had arrived were written down at its end, and tell of no place in it.
        """
        if self.words_ms is None:
            return None
        played = self.first_played
        if self.words_at_ms is None or played is None:
            return True
        place = played + self.words_at_ms
        if stretch.on + WORDS_LAG_MS >= place or (stretch.off is not None and stretch.off > place + WORDS_LEAD_MS):
            return True
        whole = self.generated_ms if self.closed is None else self.closed.generated_ms
        if whole is not None and self.words_at_ms >= whole:
            return True
        return None if stretch.off is None or whole is None else False


class Tool(NamedTuple):
    """A call that was taken: ``end`` None while it runs. Its first end counts, whatever is reported later."""

    call: str
    name: str
    start: float
    end: float | None = None
    mounted: bool = False
    """It came over MCP, so that no reply says that it follows its result."""


class Known:
    """Everything learned so far."""

    def __init__(self) -> None:
        self.turns: list[Turn] = []
        self.replies: dict[str, Reply] = {}
        self.speech: list[Speech] = []
        self.noticed: list[tuple[float, AgentNoticed, int]] = []
        self.tools: dict[str, Tool] = {}
        self.has_words = False
        self.tells_end = True

    def reply(self, name: str, seq: int, at: float) -> Reply:
        """The reply of that id; one that was never announced begins here."""
        found = self.replies.get(name)
        if found is None:
            found = self.replies[name] = Reply(name, seq, at)
        return found

    def reply_of(self, name: str | None) -> Reply | None:
        """The reply of that id, or None."""
        return self.replies.get(name) if name is not None else None

    def speech_at(self, at: float) -> Speech | None:
        """The audible stretch that covers ``at``; one that ended `SLACK_MS` before counts, and so does one whose end contradicts its start."""
        for stretch in reversed(self.speech):
            if stretch.on <= at:
                covers = stretch.off is None or stretch.off >= at - SLACK_MS or stretch.off < stretch.on
                return stretch if covers else None
        return None

    def open_reply(self, at: float) -> Reply | None:
        """The reply that was open at ``at``: audible before, and not closed then."""
        for reply in reversed(self.replies.values()):
            begun = reply.first_audible is not None and reply.first_audible < at
            if begun and (reply.closed_at is None or reply.closed_at > at - _closing_slack(reply)):
                return reply
        return None

    def signal(self, since: float, until: float) -> tuple[float, AgentNoticed, int] | None:
        """The agent's first signal in ``since .. until`` that it noticed the caller."""
        return next((n for n in self.noticed if n[1].what == "speech_started" and since <= n[0] <= until), None)


def _closing_slack(reply: Reply) -> float:
    # A cut at the very onset closes the reply within the error of the edge; a reply that was played to its end is over.
    return SLACK_MS if reply.flushed else 0.0


def difference(later: float | None, earlier: float | None) -> float | None:
    """``later - earlier`` in ms; None when either is unknown."""
    return None if later is None or earlier is None else round(later - earlier, 3)
