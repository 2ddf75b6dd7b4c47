"""The live screen of a recorded caller, with a director's keys behind one key: they say, interrupt, hold back, take over, and bring to an end.

Until a person has said that they direct this session, the keys do nothing: a measured run cannot be spoilt by a slip. The engine does what is
asked and the timeline says when it took effect; this screen shows only that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual.binding import BindingType
from textual.widget import Widget

from apex_tui.timeline.caller_facts import Direction
from apex_tui.timeline.errors import ApexError
from apex_tui.timeline.messages import Direct, Run
from apex_tui.timeline.state import State
from apex_tui.tui.background import background
from apex_tui.tui.dialog_director import UtteranceScreen
from apex_tui.tui.dialogs import AskScreen
from apex_tui.tui.figures import why_silent
from apex_tui.tui.keys import BANK, DIRECT, DIRECTOR, EVERYWHERE, LIVE, PERSON, Key, bindings
from apex_tui.tui.lines import Part, fit, row
from apex_tui.tui.link import Link
from apex_tui.tui.plain import plain
from apex_tui.tui.screen_live import LiveScreen
from apex_tui.tui.screen_person import PersonScreen, person_line
from apex_tui.workflow.utterances import utterances

_DIRECTING = frozenset(key.action.partition("(")[0] for key in DIRECTOR)
_DECIDING = frozenset(key.action.partition("(")[0] for key in PERSON)


class DirectorScreen(PersonScreen):
    """A run with a recorded caller. ``directing``: the director's keys are alive."""

    KEYS: ClassVar[tuple[Key, ...]] = BANK
    NAME = "LIVE"
    BINDINGS: ClassVar[list[BindingType]] = bindings((*DIRECT, *DIRECTOR, *PERSON, *LIVE, *EVERYWHERE))
    directing = False

    def __init__(self, command: Run, link: Link) -> None:
        super().__init__(command, link)
        self._wished = False  # the recorder's card waits for its key

    def begin(self) -> None:
        """Nobody is recorded before the microphone opens."""
        LiveScreen.begin(self)

    @property
    def at_microphone(self) -> bool:
        """Whether a person has the call."""
        directed = self.feed.state.directed
        return directed is not None and directed.at_microphone and self.live

    def keys_while_live(self) -> tuple[Key, ...]:
        """More of them once a person directs, or has the call."""
        if not self.directing:
            return self.KEYS
        person = PERSON if self.at_microphone else ()
        return (*DIRECTOR, *person, *BANK)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A director's keys once a person directs; a caller's once they have the call."""
        if action in _DIRECTING and action not in _DECIDING:
            return self.directing
        if action in _DECIDING:
            return self.directing and self.at_microphone
        return super().check_action(action, parameters)

    def above(self) -> Sequence[Widget]:
        """The director's row, which appears with the director."""
        rows = super().above()
        self.person_row.display = False
        self.person_row.source = lambda width: (director_line(self.feed.state, self.now_ms, self.live, width),)
        return rows

    def flush(self) -> None:
        """As the live screen, and the director's row and keys."""
        before = self.at_microphone
        super().flush()
        self.person_row.display = self.directing or self.feed.state.directed is not None
        if before != self.at_microphone:
            self.card.display = self.card.display and self.at_microphone
            self.key_row.reload()
            if self.at_microphone:
                self.say("the microphone is open: you have the call · m gives it back", "warn")

    def _tag(self) -> None:
        """Only what a person said has a role to find."""
        directed = self.feed.state.directed
        if directed is not None and directed.person_spoke:
            super()._tag()

    # --- the director's keys -----------------------------------------------------------------------------------------------------------

    def action_direct(self) -> None:
        """Ask once, then the keys are alive; again: they are not."""
        if self.directing:
            self._direct_keys(False)
            self.say("the director's keys are off · D brings them back")
        elif not self.live:
            self.say("the run is over: there is nobody to direct any more")
        elif self.feed.state.directed is not None:
            self._directing("direct")
        else:
            question = "Direct the caller? With the first thing you have them do, this session is labelled and counts with no others."
            self.ask(AskScreen(question, (("D", "direct this session", "direct"),), enter=True), self._directing)

    def _directing(self, answer: str | None) -> None:
        if answer is not None:
            self._direct_keys(True)
            self.say(
                "you direct the caller: s says an utterance, v barges in, u holds back, m is the microphone, F ends",
                "warn",
            )

    def _direct_keys(self, alive: bool) -> None:
        self.directing = alive
        self.person_row.display = alive or self.feed.state.directed is not None
        self.key_row.reload()

    def _send(self, what: Direction, told: str, plan: str | None = None) -> None:
        if not self.live:
            self.say("the run is over: there is nobody to direct any more")
            return
        self.link.send(Direct(what=what, plan=plan, by="the screen"))
        self.say(told, "warn")

    def action_speak(self) -> None:
        """Choose an utterance; it is said at once."""
        workflow, state = self.panes.drifts.workflow, self.feed.state
        if workflow is None or not self.live:
            self.say(
                "the workflow is still being read"
                if self.live
                else "the run is over: there is nobody to direct any more"
            )
            return
        if self.at_microphone:
            self.say("you have the call: m gives it back to the recorded caller first")
            return
        following = state.waits.next_plan if state.waits is not None else None
        if state.turns and state.turns[-1].plan == following:
            following = None  # it is being said: what comes after it is not known yet
        said = {turn.plan for turn in state.turns}
        self.ask(UtteranceScreen(utterances(workflow, self.command.seed), said, following), self._chosen)

    def _chosen(self, chosen: object) -> None:
        plan = getattr(chosen, "plan", None)
        if plan is not None:
            self._send("say", f"saying {plain(plan, 60)}", plan)

    def action_interrupt(self) -> None:
        """The next interruption of the workflow, now."""
        self._send("barge_in", "barging in")

    def action_hold_caller(self) -> None:
        """Hold the caller back, or let go."""
        directed = self.feed.state.directed
        if directed is not None and directed.held:
            self._send("release", "the caller may speak again")
        else:
            self._send("hold", "the caller is held back until u is pressed again")

    def action_microphone(self) -> None:
        """The microphone, or the recorded caller again."""
        if self.at_microphone:
            self._send("bank", "the recorded caller goes on; the microphone closes")
        elif self.live and self.apex.sources.consent() is None:
            background(self, self._ask_consent, name="consent", exclusive=True)
        else:
            self._open_microphone()

    def no_microphone(self, why_not: str) -> None:
        """Nobody can take over; the call goes on."""
        self.say(f"{why_not}; the recorded caller keeps the call", "warn")

    def _agreed(self, answer: str | None) -> None:
        if answer is None:
            self.say("nobody is recorded; the recorded caller keeps the call")
            return
        try:
            self.apex.sources.agree()
        except ApexError as error:
            self.say(str(error), "bad")
            return
        self._open_microphone()

    def _open_microphone(self) -> None:
        self._send("microphone", "opening the microphone ...")

    def action_finish(self) -> None:
        """The way out."""
        self._send("finish", "the caller says goodbye and hangs up")

    # --- leaving -----------------------------------------------------------------------------------------------------------------------

    def action_leave(self) -> None:
        """Go back; an open microphone does not stay open without its screen."""
        if not self.at_microphone:
            LiveScreen.action_leave(self)
            return
        answers = (
            ("m", "give the call back to the recorded caller", "bank"),
            ("q", "leave: the microphone closes, the recorded caller goes on to the end", "leave"),
            ("x", "end the run, then see its verdict", "end"),
        )
        self.ask(AskScreen("Your microphone is open.", answers), self._leave)

    def _leave(self, answer: str | None) -> None:
        if answer == "bank":
            self._send("bank", "the recorded caller goes on; the microphone closes")
        else:
            super()._leave(answer)


def director_line(state: State, now_ms: float, live: bool, width: int) -> Text:
    """`` ● DIRECTED 3  the caller is held back   the bank has the call``; with a person at the microphone, their own row."""
    directed = state.directed
    if directed is not None and directed.at_microphone and live:
        return person_line(state, live, width)
    label = f" ● DIRECTED {directed.acts}× " if directed is not None else " ○ nothing directed yet "
    parts: list[Part] = [(label, "warn" if directed is not None else "quiet")]
    if not live:
        parts.append((" counts with no other sessions", "quiet"))
        return fit(row(*parts), width)
    if directed is not None and directed.finishing:
        parts.append((" on the way out", "strong"))
    elif directed is not None and directed.held:
        parts.append((" ■ the caller is held back: u lets go", "strong"))
    else:
        why, following = why_silent(state, now_ms, short=True)
        parts.append((" speaking" if state.caller_speaking else f" {why}", "strong"))
        if following is not None:
            parts.append((f"  next {following}", "quiet"))
    parts.append(("   the bank has the call", "quiet"))
    return fit(row(*parts), width)
