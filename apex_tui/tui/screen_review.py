"""Reviewing a recorded call: each utterance with its sound, its words and what it is taken for; accepted, it becomes a scenario.

The screen cuts nothing and builds nothing: our own command does both, and an engine plays the sound. Every change is written to the review's
file at once, so that leaving loses nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual.binding import BindingType
from textual.widget import Widget

from apex_tui.timeline.errors import ApexError
from apex_tui.timeline.paths import real_path
from apex_tui.tui.background import background
from apex_tui.tui.dialogs import AskScreen
from apex_tui.tui.keys import EVERYWHERE, REVIEW, Key, bindings
from apex_tui.tui.lines import teach
from apex_tui.tui.render_review import detail_lines, list_lines, made_lines, summary
from apex_tui.tui.render_rows import title_plain
from apex_tui.tui.replay_sound import ReplaySound
from apex_tui.tui.screen_base import ApexScreen
from apex_tui.tui.widgets.painted import Pane
from apex_tui.workflow.part import Value
from apex_tui.workflow.review import (
    MOST_WORDS,
    Clip,
    Review,
    changed,
    read_review,
    values_of,
    values_text,
    write_review,
)
from apex_tui.workflow.takes import NEEDS_OF, ROLES, role_words

TICK_S = 0.05
MOST_TYPED = 4000
"""Characters of values that are edited on one line."""


class ReviewScreen(ApexScreen):
    """The review of the session in ``folder``."""

    KEYS: ClassVar[tuple[Key, ...]] = REVIEW
    NAME = "REVIEW"
    BINDINGS: ClassVar[list[BindingType]] = bindings((*REVIEW, *EVERYWHERE))

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder
        self.review: Review | None = None
        self.chosen = 0
        self.playing: int | None = None
        self.made: list[Text] = []
        self.busy = True
        self.sound = ReplaySound(lambda: self.apex.sources.link(), folder)
        self._since: float | None = None
        self._before: dict[int, str | None] = {}
        self.list_pane, self.card_pane = Pane(16, "utterances"), Pane(17, "chosen utterance")
        self.list_pane.can_focus = self.card_pane.can_focus = False
        self.list_pane.source = self._list
        self.card_pane.source = self._card
        self.list_pane.clicked = lambda _x, line: self._click(line)

    @property
    def file(self) -> Path:
        """Where the review is kept until the scenario is made."""
        return self.apex.sources.state_folder() / "reviews" / f"{self.folder.name}.yaml"

    @property
    def clip(self) -> Clip | None:
        """The chosen utterance."""
        return self.review.clips[self.chosen] if self.review is not None and self.review.clips else None

    def body(self) -> Sequence[Widget]:
        """The list, and the chosen utterance below it."""
        return (self.list_pane, self.card_pane)

    def on_mount(self) -> None:
        """Go on with the review that was begun, or let the command draft one."""
        self.say("listening for the edges of what was said …", stays=True)
        self.set_interval(TICK_S, self._tick)
        background(self, self._load, name="review-load")

    async def _load(self) -> None:
        try:
            if not self.file.is_file():
                self.file.parent.mkdir(parents=True, exist_ok=True)
                ran = await self.apex.sources.own_command(
                    ("scenario", str(real_path(self.folder)), "--draft", str(self.file))
                )
                if ran.code != 0:
                    self.say(ran.err or "the review could not be drafted", "bad")
                    return
                self.say("w types words, r says what it is, space plays it · a makes the scenario")
            else:
                self.say(f"going on with the review in {self.file}")
            self.review = read_review(self.file)
        except (ApexError, OSError) as error:
            self.say(str(error), "bad")
            return
        finally:
            self.busy = False
        self._paint()

    async def on_unmount(self) -> None:
        """Nobody listens any more."""
        await self.sound.close()

    # --- drawing -------------------------------------------------------------------------------------------------------------------------

    def _list(self, width: int) -> list[Text]:
        if self.review is None:
            return teach(width, "What was said in the call will stand here, one row an utterance.")
        return list_lines(self.review, self.chosen, self.playing, width)

    def _card(self, width: int) -> list[Text]:
        if self.review is None:
            return []
        return detail_lines(self.review, self.chosen, self.made, str(self.file), width)

    def _paint(self) -> None:
        self.list_pane.reload()
        self.card_pane.reload()
        self.title_row.reload()
        self.list_pane.show_row(self.chosen + 1)

    def title_line(self, width: int) -> Text:
        """How much is kept, and what waits."""
        return title_plain("REVIEW", summary(self.review) if self.review is not None else "a recorded call", width)

    # --- choosing and hearing --------------------------------------------------------------------------------------------------------------

    def _click(self, line: int) -> None:
        if self.review is not None and 1 <= line <= len(self.review.clips):
            self.chosen = line - 1
            self._paint()

    def action_row(self, rows: int) -> None:
        """Up or down."""
        if self.review is not None and self.review.clips:
            self.chosen = min(len(self.review.clips) - 1, max(0, self.chosen + rows))
            self.made = []
            self._paint()

    def action_scroll(self, pages: int) -> None:
        """Read on in the chosen utterance, or in what the checks found."""
        self.card_pane.scroll_relative(y=pages * max(1, self.card_pane.size.height - 3), animate=False)

    def action_play(self) -> None:
        """Play the chosen utterance, or be silent."""
        if self.playing is not None or self.clip is None:
            self._silent()
            return
        self.playing, self._since = self.chosen, None
        self.sound.play(self.clip.from_ms, 1.0)
        if self.sound.to_start:
            background(self, self._start_sound, name="sound")
        self._paint()

    async def _start_sound(self) -> None:
        problem = await self.sound.start()
        if problem is not None:
            self.say(problem, "warn")
            self._silent()

    def _silent(self) -> None:
        self.playing = None
        self.sound.pause()
        self._paint()

    def _tick(self) -> None:
        if self.playing is None or self.review is None:
            self.sound.follow(0.0, 1.0)
            return
        clip, now = self.review.clips[self.playing], self.apex.clock()
        at_ms = clip.from_ms if self._since is None else clip.from_ms + 1000 * (now - self._since)
        news = self.sound.follow(at_ms, 1.0)
        if news is not None:
            self.say(news)
        if self._since is None and self.sound.told:
            self._since = now
        if at_ms >= clip.to_ms or not self.sound.on:
            self._silent()

    # --- changing ------------------------------------------------------------------------------------------------------------------------

    def _change(self, **changes: object) -> None:
        if self.review is None:
            return
        try:
            self._keep(changed(self.review, self.chosen, **changes))
        except ApexError as error:
            self.say(str(error), "warn")

    def _keep(self, review: Review) -> None:
        """Take a changed review, and write it down."""
        try:
            write_review(self.file, review, replace=True)
        except ApexError as error:
            self.say(str(error), "bad")
            return
        self.review, self.made = review, []
        self.say("")
        self._paint()

    def action_role(self) -> None:
        """Say what the utterance is."""
        if self.clip is None:
            return
        answers = [(str(n % 10), role_words(role, "…"), role) for n, role in enumerate(ROLES, 1)]
        self.app.push_screen(AskScreen(f"Turn {self.clip.turn} is:", answers), self._role)

    def _role(self, role: str | None) -> None:
        if role is None or self.clip is None:
            return
        if role not in NEEDS_OF:
            self._change(role=role, of="", why="")
            return
        what = {"answer": "answers which fact?", "correction": "corrects which field?"}.get(
            role, "follows (CALL:tool or an act):"
        )
        self.prompt.ask(what, lambda of: self._change(role=role, of=of, why="") if of else None, self.clip.of)

    def action_words(self) -> None:
        """Type what is said."""
        if self.clip is None:
            return
        self.prompt.ask("words:", lambda words: self._change(words=words), self.clip.words, longest=MOST_WORDS)

    def action_listen(self) -> None:
        """Let the local recogniser write what has no words yet."""
        if self.review is None or self.busy:
            self.say("it is busy: wait a moment")
        elif all(clip.words or clip.role == "drop" for clip in self.review.clips):
            self.say("every utterance has words already")
        else:
            self.busy = True
            self.say("the recogniser listens … (its model is fetched the first time)", stays=True)
            background(self, self._listen, name="review-listen")

    async def _listen(self) -> None:
        heard = self.file.with_suffix(".heard.yaml")
        heard.unlink(missing_ok=True)
        ran = await self.apex.sources.own_command(
            ("scenario", str(real_path(self.folder)), "--draft", str(heard), "--recognise")
        )
        self.busy = False
        try:
            if ran.code != 0 or self.review is None:
                self.say(ran.err or "the recogniser heard nothing", "bad")
                return
            words = {clip.turn: clip.words for clip in read_review(heard).clips}
            heard.unlink()
        except (ApexError, OSError) as error:
            self.say(str(error), "bad")
            return
        clips = [
            clip if clip.words else clip.model_copy(update={"words": words.get(clip.turn, "")})
            for clip in self.review.clips
        ]
        self._keep(self.review.model_copy(update={"clips": tuple(clips)}))
        self.say("heard; read every word: names and numbers are what a recogniser gets wrong", "warn")

    def action_values(self) -> None:
        """Type which values the words state."""
        if self.clip is not None:
            self._ask_values("says:", self._valued, self.clip.says)

    def _ask_values(self, label: str, answer: Callable[[str], None], values: dict[str, Value]) -> None:
        text = values_text(values)
        if len(text) > MOST_TYPED:  # what does not fit on the line would be lost
            self.say(f"these values are longer than this line: edit them in {self.file}", "warn")
            return
        self.prompt.ask(label, answer, text, longest=MOST_TYPED)

    def _valued(self, text: str) -> None:
        try:
            self._change(says=values_of(text))
        except ApexError as error:
            self.say(str(error), "warn")

    def action_drop(self) -> None:
        """Do not keep it, or keep it after all."""
        clip = self.clip
        if clip is None:
            return
        if clip.role == "drop":
            self._change(role=self._before.get(clip.turn))
        else:
            self._before[clip.turn] = clip.role
            self._change(role="drop")

    def action_edge(self, side: int, ms: int) -> None:
        """Move where it begins (-1) or ends (1)."""
        clip = self.clip
        if clip is None:
            return
        if side < 0:
            self._change(from_ms=max(0.0, clip.from_ms + ms))
        else:
            self._change(to_ms=clip.to_ms + ms)

    def action_outcome(self) -> None:
        """Type the right end."""
        if self.review is not None:
            self._ask_values("outcome:", self._ended, self.review.outcome)

    def _ended(self, text: str) -> None:
        if self.review is None:
            return
        try:
            self._keep(self.review.model_copy(update={"outcome": values_of(text)}))
        except ApexError as error:
            self.say(str(error), "warn")

    def action_name(self) -> None:
        """Type the id of the new workflow."""
        if self.review is not None:
            self.prompt.ask("id:", self._named, self.review.id)

    def _named(self, text: str) -> None:
        if self.review is None or not text:
            return
        try:
            self._keep(Review.model_validate({**self.review.model_dump(), "id": text}))
        except ValueError:
            self.say(f"{text[:60]}: an id has lower case letters, digits and hyphens, as in my-call", "warn")

    # --- making --------------------------------------------------------------------------------------------------------------------------

    def action_make(self) -> None:
        """Make the scenario and check it."""
        if self.review is None or self.busy:
            self.say("it is being made already" if self.busy else "there is nothing to make a scenario of")
            return
        faults = self.review.faults()
        if faults:
            self.say(f"not yet: {faults[0]}", "warn")
            return
        self.busy = True
        self.say("making it, and playing it with the rehearsal agent to check it … (half a minute)", stays=True)
        background(self, self._make, name="review-make")

    async def _make(self) -> None:
        arguments = ("scenario", str(real_path(self.folder)), "--review", str(self.file), "--json")
        ran = await self.apex.sources.own_command(arguments)
        self.busy = False
        try:
            record = json.loads(ran.out) if ran.code in (0, 1) else None
        except ValueError:
            record = None
        if not isinstance(record, dict) or self.review is None:
            self.say(ran.err or f"it could not be made (exit code {ran.code})", "bad")
            return
        self.made = made_lines(record, max(20, self.card_pane.size.width - 4))
        good = ran.code == 0
        self.say(
            f"{'made' if good else 'made, but not everything holds'}: apex-tui run {self.review.id}"
            + ("" if good else " · the checks say what"),
            "good" if good else "warn",
        )
        self._paint()
