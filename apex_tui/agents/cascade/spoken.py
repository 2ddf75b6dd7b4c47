"""What of an answer was spoken, sentence by sentence, and what of it the caller can have heard. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from apex_tui.agents.text.conversation import Assistant
from apex_tui.audio.frames import RATE


@dataclass(slots=True)
class Sentence:
    """One sentence under its item id, with the samples of it that were sent (24 kHz)."""

    item: str
    text: str
    samples: int = 0


@dataclass(slots=True)
class Spoken:
    """An answer in its sentences. ``ends``: sample of the caller's lane at which what was sent of it will have been played.

    ``entry``: what the model is told of it, once it is whole.
    """

    reply: str
    sentences: list[Sentence] = field(default_factory=list)
    ends: int = 0
    entry: Assistant | None = None

    @property
    def text(self) -> str:
        """All words that were given to the voice."""
        return " ".join(sentence.text for sentence in self.sentences)

    def sent(self, sentence: Sentence, samples: int, now: int) -> None:
        """So many samples of this sentence were sent at sample ``now`` of the caller's lane: they play after what still does."""
        sentence.samples += samples
        self.ends = max(self.ends, now) + samples

    def heard_until(self, sample: int) -> str:
        """The words that were played by this sample of the caller's lane."""
        sent = sum(sentence.samples for sentence in self.sentences)
        return self._first(max(0, sent - max(0, self.ends - sample)))

    def heard_of(self, item: str, ms: float) -> str | None:
        """The words that were heard when this item was stopped after ``ms``; None when it is not one of this answer."""
        played = 0
        for sentence in self.sentences:
            if sentence.item == item:
                return self._first(played + round(ms * RATE / 1000))
            played += sentence.samples
        return None

    def _first(self, samples: int) -> str:
        """Whole words of the first ``samples``, each sentence spread evenly over its sound."""
        words: list[str] = []
        for sentence in self.sentences:
            if samples >= sentence.samples > 0:
                words.append(sentence.text)
                samples -= sentence.samples
                continue
            if sentence.samples > 0:
                cut = sentence.text[: len(sentence.text) * samples // sentence.samples]
                words.append(cut.rpartition(" ")[0])
            break
        return " ".join(word for word in words if word)
