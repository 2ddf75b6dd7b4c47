"""What of an answer was spoken, sentence by sentence, and what of it the caller can have heard. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from apex_tui.audio.frames import RATE


@dataclass(slots=True)
class Sentence:
    """One sentence under its item id, with the samples of it that were sent (24 kHz)."""

    item: str
    text: str
    samples: int = 0


@dataclass(slots=True)
class Spoken:
    """An answer in its sentences. ``begun``: sample of the caller's lane at which its first sound was sent."""

    reply: str
    sentences: list[Sentence] = field(default_factory=list)
    begun: int | None = None

    @property
    def text(self) -> str:
        """All words that were given to the voice."""
        return " ".join(sentence.text for sentence in self.sentences)

    @property
    def ends(self) -> int:
        """Sample of the caller's lane at which what was sent will have been played."""
        return 0 if self.begun is None else self.begun + sum(sentence.samples for sentence in self.sentences)

    def heard_until(self, sample: int) -> str:
        """The words that were played by this sample of the caller's lane."""
        return self._first(0 if self.begun is None else max(0, sample - self.begun))

    def heard_of(self, item: str, ms: float) -> str:
        """The words that were heard when this item was stopped after ``ms``; all of them when it is not ours."""
        played = 0
        for sentence in self.sentences:
            if sentence.item == item:
                return self._first(played + round(ms * RATE / 1000))
            played += sentence.samples
        return self.text

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
