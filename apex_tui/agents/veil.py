"""Keys in what an agent streams: a key may be cut into pieces, none of which is the key.

Words that could be the beginning of a key wait for the next piece of the same item; nothing else waits, and nothing is lost: what was held is
passed on when it turns out to be no key, when its reply ends, and at the end of the session. Everything else an agent says is masked by
``keys.hide``. Pure; deliberately not in here: which keys there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from apex_tui.agents.keys import hide
from apex_tui.agents.seam import AgentText, Closed, ReplyEnded, Stamped, UserTranscript

TELLING = 4
"""Characters of a key that a transcript, which repeats its whole, may end in: fewer tell nobody anything."""


class Veil:
    """The events of one session, without the keys."""

    def __init__(self, secrets: Sequence[str]) -> None:
        self._secrets = tuple(secrets)
        self._held: dict[tuple[str, str], Stamped] = {}

    def take(self, stamped: Stamped) -> list[Stamped]:
        """What may be passed on now, in order."""
        event = stamped.event
        match event:
            case _ if not self._secrets:
                return [stamped]
            case AgentText(final=False):
                return self._words(stamped, event)
            case AgentText():
                self._held.pop((event.reply, event.item), None)  # the whole repeats it
            case UserTranscript(final=False):
                whole = hide(event.text, self._secrets)
                begun = begun_key(whole, self._secrets)
                shown = whole[: len(whole) - begun] if begun >= TELLING else whole
                return [hide(Stamped(stamped.at, replace(event, text=shown)), self._secrets)]
            case ReplyEnded(reply=reply):
                return [*self._let_go(reply), hide(stamped, self._secrets)]
            case Closed():
                return [*self.finish(), hide(stamped, self._secrets)]
        return [hide(stamped, self._secrets)]

    def finish(self) -> list[Stamped]:
        """The session is over: what was still held."""
        return list(self._let_go(None))

    def _words(self, stamped: Stamped, event: AgentText) -> list[Stamped]:
        before = self._held.pop((event.reply, event.item), None)
        words = before.event.text if before is not None and isinstance(before.event, AgentText) else ""
        words = hide(words + event.text, self._secrets)
        begun = begun_key(words, self._secrets)
        if begun:
            held = hide(replace(event, text=words[len(words) - begun :]), self._secrets)
            self._held[event.reply, event.item] = Stamped(stamped.at, held)
            words = words[: len(words) - begun]
        # A name may hold a key as well as words do.
        return [hide(Stamped(stamped.at, replace(event, text=words)), self._secrets)] if words else []

    def _let_go(self, reply: str | None) -> Iterator[Stamped]:
        for key in [key for key in self._held if reply is None or key[0] == reply]:
            yield self._held.pop(key)


def begun_key(words: str, secrets: Sequence[str]) -> int:
    """How many characters at the end of these words are the beginning of a key (but not all of it)."""
    longest = 0
    for secret in secrets:
        at = max(0, len(words) - len(secret) + 1)
        while (at := words.find(secret[0], at)) >= 0:
            if secret.startswith(words[at:]):
                longest = max(longest, len(words) - at)
                break
            at += 1
    return longest
