"""The live screen while a person calls: the same screen, with the microphone's state above and the keys that say what words did.

It opens no device: the engine does. Leaving it closes the microphone, because nobody may be heard without a screen that says so.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import ClassVar, Literal

from rich.text import Text
from textual.binding import BindingType
from textual.events import Resize
from textual.widget import Widget

from apex_tui.store.consent import WORDS
from apex_tui.timeline.errors import EXIT_USER, ApexError
from apex_tui.timeline.messages import Decide, Failed, HangUp, Mark, Run, Stop
from apex_tui.timeline.state import Request, State
from apex_tui.tui.background import background
from apex_tui.tui.dialog_approve import Answer, ApproveScreen
from apex_tui.tui.dialogs import AskScreen
from apex_tui.tui.keys import EVERYWHERE, LIVE, PERSON, Key, bindings
from apex_tui.tui.lines import Part, fit, row
from apex_tui.tui.link import Link
from apex_tui.tui.plain import plain
from apex_tui.tui.render_recorder import LEAST_ROWS, card_lines
from apex_tui.tui.screen_live import LiveScreen
from apex_tui.tui.widgets.painted import FixedLines
from apex_tui.tui.words import counted
from apex_tui.workflow.brief import brief
from apex_tui.workflow.takes import Take, role_words, takes

MOST_ACTIONS = 9
RECENT = 20
"""Turns among which undecided ones are looked for."""
ROOM_FOR_CARD = 34
"""Rows of a window in which the card may stay."""
TAG_S = 0.25


class PersonScreen(LiveScreen):
    """A run with a person at the microphone."""

    KEYS: ClassVar[tuple[Key, ...]] = (*PERSON, *LIVE)
    NAME = "MICROPHONE"
    BINDINGS: ClassVar[list[BindingType]] = bindings((*PERSON, *LIVE, *EVERYWHERE))

    def begin(self) -> None:
        """A person is recorded only when they agreed, once."""
        if self.apex.sources.consent() is not None:
            super().begin()
        else:
            background(self, self._ask_consent, name="consent")

    async def _ask_consent(self) -> None:
        """Ask whoever could be heard at all: where no microphone opens there is nothing to agree to."""
        self.say("looking for the microphone …")
        why_not = await self.apex.sources.no_microphone(self.command)
        if why_not is not None:
            self.no_microphone(why_not)
        elif self.live:
            self.say("")
            self.ask(AskScreen(WORDS, (("y", "agree, and do not ask again on this machine", "agree"),)), self._agreed)

    def no_microphone(self, why_not: str) -> None:
        """There can be no call."""
        self._failed(Failed(message=why_not, exit_code=EXIT_USER))

    def _agreed(self, answer: str | None) -> None:
        if answer is None:
            self.apex.leave()
            return
        try:
            self.apex.sources.agree()
        except ApexError as error:
            self.say(str(error), "bad")
            return
        super().begin()

    def __init__(self, command: Run, link: Link) -> None:
        super().__init__(command, link)
        self.said: tuple[Take, ...] = ()
        self._wished: bool | None = None
        self._tagged, self._tagged_at = -1, 0.0

    def above(self) -> Sequence[Widget]:
        """The microphone's row, and the recorder's card below it."""
        self.person_row = FixedLines(id="person")
        self.person_row.styles.height = 1
        self.person_row.source = lambda width: (person_line(self.feed.state, self.live, width),)
        self.card = FixedLines(id="brief")
        self.card.source = self._card_lines
        self.card.display = False
        return (self.person_row, self.card)

    def on_resize(self, event: Resize) -> None:
        """The card stands there by itself where there is room for it."""
        super().on_resize(event)
        if self._wished is None:
            self.card.display = event.size.height >= ROOM_FOR_CARD
        self._fit_card()

    def _fit_card(self) -> None:
        if self.card.display:
            self.card.styles.height = len(self._card_lines(max(20, self.app.size.width)))
            self.card.reload()

    def _card_lines(self, width: int) -> list[Text]:
        workflow = self.panes.drifts.workflow
        if workflow is None:
            return [fit(row((" brief   the workflow is being read …", "quiet")), width)]
        state = self.feed.state
        last = self.said[-1] if self.said else None
        level = self.levels.caller_db if self.levels is not None else None
        most = max(LEAST_ROWS, self.app.size.height // 5)
        return card_lines(brief(workflow, state, self.said), last, level, state.caller_speaking, width, most)

    def action_brief(self) -> None:
        """Show the card, or put it away."""
        self._wished = self.card.display = not self.card.display
        self._fit_card()

    def flush(self) -> None:
        """As the live screen, and the microphone's row."""
        self._tag()
        super().flush()
        self.person_row.reload()
        self._fit_card()

    def _tag(self) -> None:
        """What each utterance is taken for; asked again when something happened, at most four times a second."""
        state, now = self.feed.state, self.apex.clock()
        if state.seq == self._tagged or (self._tagged >= 0 and now - self._tagged_at < TAG_S):
            return
        self._tagged, self._tagged_at = state.seq, now
        self.said = takes(state, self.panes.drifts.workflow)
        tags = {take.turn: role_words(take.role, take.of) for take in self.said}
        if tags != self.panes.transcript.tags:
            self.panes.transcript.tags = tags
            self.panes.transcript.reload()

    # --- authority ---------------------------------------------------------------------------------------------------------------------

    def _pending(self) -> Request | None:
        """The question that is answered next: the oldest one that is open."""
        if not self.live:
            self.say("the call is over: nothing can be decided any more")
            return None
        if self.feed.held:
            self.say("the view is held, so what it shows may have changed · space lets it go", "warn")
            return None
        asked = pending(self.feed.state)
        if not asked:
            self.say("the agent has asked for no approval; there is nothing to answer")
        return asked[0] if asked else None

    def action_approve(self) -> None:
        """Show what would be approved."""
        request = self._pending()
        if request is None:
            return

        def decided(answer: Answer | None) -> None:
            if answer is None:
                self.say("nothing was decided")
            else:
                self._answer(request, answer)

        self.ask(ApproveScreen(request, lambda: self.feed.state, self.apex.clock), decided)

    def action_deny(self) -> None:
        """Deny the open question."""
        request = self._pending()
        if request is not None:
            self._answer(request, Answer("deny", 0.0))

    def _answer(self, request: Request, answer: Answer) -> None:
        approve = answer.what == "approve"
        self.link.send(
            Decide(
                what="approve" if approve else "deny",
                request=request.id,
                digest=request.digest,
                action=request.action,
                shown_ms=answer.shown_ms,
            )
        )
        word = "approved" if approve else "denied"
        self.say(f"{word}: {plain(request.action, 80)} for {plain(request.target, 80)}", "good" if approve else "warn")

    def action_revoke(self) -> None:
        """Take an action back."""
        if not self.live:
            self.say("the call is over: nothing can be taken back any more")
            return
        actions = list(dict.fromkeys(request.action for request in reversed(self.feed.state.requests.values())))
        if not actions:
            self.say("the agent has asked for no approval; there is nothing to take back")
        elif len(actions) == 1:
            self._revoke(actions[0])
        else:
            answers = [(str(n), plain(name, 60), name) for n, name in enumerate(actions[:MOST_ACTIONS], 1)]
            self.ask(AskScreen("Take back what?", answers), self._revoke)

    def _revoke(self, action: str | None) -> None:
        if action is not None:
            self.link.send(Decide(what="revoke", action=action))
            self.say(f"taken back: {plain(action, 80)}", "warn")

    def action_corrected(self) -> None:
        """Ask which field."""
        if not self.live:
            self.say("the call is over: nothing can be corrected any more")
            return
        self.prompt.ask("I just corrected (field, or field = value):", self._corrected)

    def _corrected(self, text: str) -> None:
        name, _, value = (part.strip() for part in text.partition("="))
        if not name or not self.live:
            return
        known = self._fields()
        fits = [path for path in known if name in (path, path.partition(".")[2])]
        if len(fits) != 1:
            near = fits or difflib.get_close_matches(name, [p.partition(".")[2] for p in known], 3, 0.4)
            self.say(f"no field is called {name}" + (f"; did you mean {', '.join(near)}?" if near else ""), "warn")
            return
        self.link.send(Decide(what="corrected", field=fits[0], value=value or None))
        self.say(f"{fits[0]} is stale until the agent writes it again", "warn")

    def _fields(self) -> list[str]:
        """Every ``artifact.field``: declared by the workflow, or written."""
        workflow = self.panes.drifts.workflow
        found: dict[str, None] = {}
        for name, spec in (workflow.artifacts if workflow is not None else {}).items():
            declared = [f.name for f in spec.shape.fields] if spec.shape is not None else []
            found.update(dict.fromkeys(f"{name}.{key}" for key in (*spec.fields, *declared)))
        for artifact in self.feed.state.artifacts.values():
            current = artifact.current
            found.update(dict.fromkeys(f"{artifact.id}.{key}" for key in (current.fields if current else ())))
        return list(found)

    def action_retake(self) -> None:
        """The last utterance is said again."""
        if not self.live:
            self.say("the call is over: nothing can be said again any more")
            return
        echoes = {turn.number for turn in self.feed.state.turns[-RECENT:] if turn.echo_suspect}
        last = next((take for take in reversed(self.said) if take.turn not in echoes), None)
        if last is None or last.role == "drop":
            self.say(
                "there is no utterance to say again"
                if last is None
                else "the last utterance is out already; say it again"
            )
            return
        self.link.send(Decide(what="retake"))
        self.say(f"turn {last.turn} is not kept; say it again (the agent heard it, and hears this one too)", "warn")

    def action_listening(self) -> None:
        """The undecided words were only "mm-hm"."""
        self._class("listening", "that was only mm-hm: it claimed no floor")

    def action_interruption(self) -> None:
        """The undecided words were meant to interrupt."""
        self._class("interruption", "that was an interruption")

    def _class(self, what: Literal["listening", "interruption"], told: str) -> None:
        if not any(turn.pending for turn in self.feed.state.turns[-RECENT:]):
            self.say("none of your words are undecided")
        else:
            self.link.send(Decide(what=what))
            self.say(told, "good")

    # --- the call ----------------------------------------------------------------------------------------------------------------------

    def action_note(self) -> None:
        """A note at this moment."""
        if not self.live:
            self.say("the call is over: nothing to note")
            return
        self.prompt.ask("note:", self._noted)

    def _noted(self, text: str) -> None:
        if text and self.live:
            self.link.send(Mark(note=text))
            self.say("noted: it appears on the lanes as ● M", "good")

    def action_hang_up(self) -> None:
        """Ask, then hang up."""
        if not self.live:
            self.say("the call is over already")
            return
        question = "Hang up? The call ends in order, and the microphone is closed."
        self.ask(AskScreen(question, (("g", "hang up", "hang up"),), enter=True), self._over)

    def action_leave(self) -> None:
        """Go back; a call does not go on without its screen."""
        if not self.live:
            self.apex.leave()
            return
        answers = (
            ("g", "hang up, then see its verdict", "hang up"),
            ("q", "leave: the microphone closes and the session ends at once, kept and labelled", "leave"),
        )
        self.ask(AskScreen("Your microphone is open.", answers), self._over)

    def _over(self, answer: str | None) -> None:
        if answer == "hang up":
            self.link.send(HangUp())
            self.say("hanging up …", "warn", stays=True)
        elif answer == "leave":
            self.link.send(Stop())
            self.apex.leave()


def pending(state: State) -> list[Request]:
    """Questions that wait for an answer, oldest first."""
    return [request for request in state.requests.values() if request.state == "pending"]


def person_line(state: State, live: bool, width: int) -> Text:
    """`` ● YOU  speaking   room -62 dBFS  edges ±10 ms  echo cancelled 31 dB   ? a shows what submit ... would approve``."""
    if not live or state.ended is not None:
        return fit(row((" ○ the microphone is closed", "quiet")), width)
    asked = pending(state)
    doing = "speaking " if state.caller_speaking else "a sound …" if state.undecided_sound else "listening"
    heard = state.microphone
    parts: list[Part] = [(" ● YOU ", "head"), (doing, "strong")]
    if heard is not None and heard.silent:
        parts = [(" ▲ YOU are not heard: the microphone is gone or muted", "bad")]
    if asked:
        parts.append((f"  ? {plain(asked[0].action, 40)} for {plain(asked[0].target, 40)}: a shows it", "warn"))
    if any(turn.pending and turn.offset_ms is not None for turn in state.turns[-RECENT:]):
        parts.append(("  ? undecided: l only mm-hm, L I interrupted", "warn"))
    if heard is None:
        return fit(row(*parts, ("  listening to the room", "quiet")), width)
    if heard.echo == "gate":
        shut = heard.closed_ms > 0
        parts.append(("  ▲ shut while the agent speaks" if shut else "  ▲ half duplex", "bad" if shut else "warn"))
    elif heard.echo == "cancel":
        gone = f" {heard.erle_db:.0f} dB" if heard.erle_db is not None else ""
        parts.append((f"  echo cancelled{gone}", "good"))
    wide = heard.error_ms > 20
    parts.append((f"  edges ±{heard.error_ms:.0f} ms", "warn" if wide else "quiet"))
    parts.append((f"  room {heard.noise_db:.0f} dBFS", "quiet"))
    if heard.underruns or heard.overruns:
        parts.append((f"  ▲ sound lost {counted(heard.underruns + heard.overruns, 'time')}", "warn"))
    return fit(row(*parts), width)
