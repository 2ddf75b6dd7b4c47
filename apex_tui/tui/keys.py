"""Every key, once: bindings, key lines, the help screen and the command palette are all made from these tables.

``id`` is what a user's keymap refers to. Order is importance: a key line that runs out of room keeps the first ones.
"""

from __future__ import annotations

from dataclasses import dataclass

from textual.binding import Binding, BindingType


@dataclass(frozen=True, slots=True)
class Key:
    """One action of a screen. ``keys`` as Textual names them, ``shown`` as a person does; no ``word``: not in the key line."""

    id: str
    keys: str
    shown: str
    word: str
    action: str
    help: str

    @property
    def label(self) -> str:
        """The key alone: a pair that shares a place in the key line is told apart."""
        return _LABELS.get(self.keys.split(",")[0], self.shown)


_LABELS = {
    "left": "←", "right": "→", "shift+left": "shift+←", "shift+right": "shift+→", "comma": ",", "full_stop": ".",
    "left_square_bracket": "[", "right_square_bracket": "]", "left_curly_bracket": "{", "right_curly_bracket": "}",
    "plus": "+", "minus": "-", "up": "↑", "down": "↓",
}  # fmt: skip


def bindings(table: tuple[Key, ...]) -> list[BindingType]:
    """The table as Textual's bindings."""
    return [Binding(k.keys, k.action, k.help, show=False, id=k.id, tooltip=k.help) for k in table]


EVERYWHERE: tuple[Key, ...] = (
    Key("help", "question_mark,f1", "?", "help", "help", "Keys, glyphs and the definition of each number"),
    Key("palette", "ctrl+p", "^p", "palette", "app.command_palette", "Command palette: every action by name"),
    Key("quit", "q", "q", "quit", "leave", "Go back, or quit; asks while a run is live"),
    Key("screenshot", "ctrl+s", "^s", "", "shot", "Save this screen as SVG in the state folder"),
    Key(
        "copy",
        "y",
        "y",
        "",
        "copy",
        "Copy the selection, or the text of the pane in front (to the clipboard and to a file)",
    ),
)

_PANES: tuple[Key, ...] = (
    Key("pane-next", "tab", "tab", "pane", "pane_next", "Next pane"),
    Key("pane-previous", "shift+tab", "shift+tab", "", "pane_previous", "Previous pane"),
    Key("pane-1", "1", "1", "", "pane(1)", "Pane 1: transcript"),
    Key("pane-2", "2", "2", "", "pane(2)", "Pane 2: artifact"),
    Key("pane-3", "3", "3", "", "pane(3)", "Pane 3: authority"),
    Key("pane-4", "4", "4", "", "pane(4)", "Pane 4: tools"),
    Key("pane-5", "5", "5", "", "pane(5)", "Pane 5: barge-ins and answers"),
    Key("pane-6", "6", "6", "", "pane(6)", "Pane 6: events"),
)
_WHY = Key("why", "w", "w", "why", "why", "Why: causes, effects and drift of a field or row of the pane in front")
_VIEW: tuple[Key, ...] = (
    Key("diff", "d", "d", "diff", "diff", "Artifact: only what the newest version changed"),
    Key(
        "compare",
        "c",
        "c",
        "compare",
        "compare",
        "Artifact: compare with the previous version, the final one, gold, or nothing",
    ),
    Key("compare-two", "C", "C", "", "compare_two", "Artifact: compare any two versions by their numbers"),
    Key("zoom", "z", "z", "zoom", "zoom", "One pane as large as the body, or all again"),
    Key("hide", "h", "h", "", "hide", "Hide the pane in front; its number brings it back"),
    Key("present", "p", "p", "present", "present", "Presenter mode: few boxes, large digits, the verdict at the end"),
)

HOLD = Key(
    "hold", "space", "space", "hold", "hold", "Hold the view; the run goes on, a counter shows the events that wait"
)
_FOLLOW = Key("follow", "f", "f", "follow", "follow", "Stay at the end of transcript and events, or stop doing so")
_MARK = Key("mark", "b", "b", "mark", "mark", "Put an operator's mark on the timeline")
_END = Key("end", "x", "x", "end", "end", "End the run now (asks): it is kept, labelled, and judges nobody")
_AGAIN = Key("again", "n", "n", "", "again", "Presenter mode: reset for the next run (once this one is over)")

_RUNNING: tuple[Key, ...] = (
    HOLD,
    _FOLLOW,
    _WHY,
    _END,
    _MARK,
)
_LATER: tuple[Key, ...] = (
    *_VIEW,
    _AGAIN,
    Key("verdict", "enter", "enter", "", "verdict", "The scorecard, once the run is scored"),
    Key("results", "R", "R", "", "results", "All recorded sessions, once the run is over"),
    *_PANES,
)
LIVE: tuple[Key, ...] = (*_RUNNING, *_LATER)
OVER: tuple[Key, ...] = (
    Key("verdict", "enter", "enter", "scorecard", "verdict", "The scorecard, when the run was scored"),
    Key("results", "R", "R", "results", "results", "All recorded sessions"),
    _WHY,
    _FOLLOW,
    *_VIEW,
    _AGAIN,
    *_PANES,
)
"""What is left of `LIVE` when the run has ended."""
PERSON: tuple[Key, ...] = (
    Key("approve", "a", "a", "approve", "approve", "Show exactly what would be approved; y there approves"),
    Key("deny", "o", "o", "deny", "deny", "I said no: deny the question that is open"),
    Key(
        "revoke",
        "r",
        "r",
        "take back",
        "revoke",
        "I said stop: take back an approval, a question or a commit under way",
    ),
    Key(
        "corrected",
        "e",
        "e",
        "corrected",
        "corrected",
        "I just corrected a field: it is stale until it is written again",
    ),
    Key("hang-up", "g", "g", "hang up", "hang_up", "Hang up: the call ends in order"),
    Key(
        "retake",
        "k",
        "k",
        "say again",
        "retake",
        "I say that again: the last utterance is not kept for a scenario, the next one stands in its place",
    ),
    Key("brief", "i", "i", "brief", "brief", "Your brief: what you know, what to change and when, what not to say yet"),
    Key("listening", "l", "l", "mm-hm", "listening", "That was only mm-hm: what I just said claimed no floor"),
    Key("interruption", "L", "L", "", "interruption", "That was an interruption, however short"),
    Key("note", "t", "t", "note", "note", "Type a note; it stands at this moment on the timeline"),
)
"""Beside `LIVE`, while a person calls."""
DIRECT: tuple[Key, ...] = (
    Key(
        "direct",
        "D",
        "D",
        "direct",
        "direct",
        "Direct the recorded caller (asks): more keys; such a session counts with no others",
    ),
)
BANK: tuple[Key, ...] = (*_RUNNING, *DIRECT, *_LATER)
"""`LIVE` with a recorded caller: the key line has room for how to direct it."""
DIRECTOR: tuple[Key, ...] = (
    Key("speak", "s", "s", "say", "speak", "Say any utterance of the bank now: a list to search"),
    Key(
        "interrupt", "v", "v", "barge in", "interrupt", "Barge in now, with the next interruption that the workflow has"
    ),
    Key("hold-caller", "u", "u", "hold back", "hold_caller", "Hold the caller back, or let go"),
    Key("microphone", "m", "m", "mic", "microphone", "You speak, at the microphone; again: the recorded caller does"),
    Key(
        "finish-run", "F", "F", "finish", "finish", "Bring the session to its end: the caller says goodbye and hangs up"
    ),
)
"""Beside `LIVE`, once a person directs."""
REPLAY: tuple[Key, ...] = (
    Key("play", "space", "space", "play", "play", "Play or pause"),
    Key("second", "left", "←→", "1s", "move(-1000)", "One second back"),
    Key("second-on", "right", "→", "", "move(1000)", "One second on"),
    Key("barge", "left_square_bracket", "[ ]", "barge-in", "barge(-1)", "Previous barge-in"),
    Key("barge-on", "right_square_bracket", "]", "", "barge(1)", "Next barge-in"),
    Key("version", "left_curly_bracket", "{ }", "version", "version(-1)", "Previous artifact version"),
    Key("version-on", "right_curly_bracket", "}", "", "version(1)", "Next artifact version"),
    _WHY,
    Key(
        "search",
        "slash",
        "/",
        "search",
        "search",
        "Search the words of all events; enter goes to the first match after the cursor",
    ),
    Key("match-on", "n", "n", "", "match(1)", "Next match; in presenter mode: back to the beginning"),
    Key("match", "N", "N", "", "match(-1)", "Previous match"),
    Key(
        "go",
        "g",
        "g",
        "go to",
        "go",
        "Go to a time (1:23.4), version (v3), barge-in (b2), tool call (t1), approval (a1), commit (s1) or event (#121)",
    ),
    Key("verdict", "enter", "enter", "scorecard", "verdict", "The scorecard of this session"),
    Key("event", "comma", ", .", "event", "step(-1)", "Previous event"),
    Key("event-on", "full_stop", ".", "", "step(1)", "Next event"),
    Key("faster", "plus,equals_sign", "+ -", "speed", "speed(1)", "Faster (up to 16x)"),
    Key("slower", "minus", "-", "", "speed(-1)", "Slower (down to 0.25x)"),
    Key("ten", "shift+left", "shift←→", "10s", "move(-10000)", "Ten seconds back"),
    Key("ten-on", "shift+right", "shift+→", "", "move(10000)", "Ten seconds on"),
    Key("sound", "s", "s", "sound", "sound", "Sound on or off (an engine plays it, at 1x)"),
    Key("start", "home", "home", "", "edge(-1)", "Beginning"),
    Key("finish", "end", "end", "", "edge(1)", "End"),
    Key(
        "kind",
        "t",
        "t",
        "filter",
        "kind",
        "Only events of one kind (tool, approval, barge_in, ...): , and . then go from one to the next",
    ),
    *_VIEW,
    _FOLLOW,
    Key("rerun", "r", "r", "run again", "rerun", "Run the same workflow, seed and agent again"),
    Key("scenario", "m", "m", "", "scenario", "Make a scenario of a call at the microphone: review what was said"),
    *_PANES,
)
PICKER: tuple[Key, ...] = (
    Key("run", "enter", "enter", "run", "run", "Start the run that is described below"),
    Key(
        "agent",
        "a",
        "a",
        "agent",
        "agent",
        "Choose the agent from a list: every agent, rehearsal manner and planted fault; type to filter",
    ),
    Key(
        "filter", "slash", "/", "filter", "filter", "Filter by archetype, agent, outcome or name; escape takes it away"
    ),
    Key("open", "o", "o", "open", "open", "Open a recorded session"),
    Key("results", "R", "R", "results", "results", "All recorded sessions with outcome, gates and agent"),
    Key("seed", "s", "s", "seed", "seed", "Type the seed; enter keeps it"),
    Key("caller", "m", "m", "caller", "caller", "Who calls: the recorded caller, or you at the microphone"),
    Key("url", "u", "u", "url", "url", "Type the URL of the agent's server; enter keeps it"),
    Key(
        "instructions",
        "i",
        "i",
        "",
        "instructions",
        "The agent's prompt: neutral (the job and its rules) or coaching (the published benchmark's advice)",
    ),
)
RESULTS: tuple[Key, ...] = (
    Key("open-failing", "enter", "enter", "open", "open", "Replay the session at its failing moment"),
    Key("card", "s", "s", "scorecard", "card", "The scorecard of the session"),
    Key("results-filter", "slash", "/", "filter", "filter", "Filter by workflow, agent, outcome or failed gate"),
    Key("results-again", "r", "r", "run again", "rerun", "Run the same workflow, seed and agent again"),
    Key("row-up", "up,k", "↑↓", "choose", "row(-1)", "Previous session"),
    Key("row-down", "down,j", "↓", "", "row(1)", "Next session"),
)
REVIEW: tuple[Key, ...] = (
    Key("hear", "space", "space", "play", "play", "Play the utterance, or be silent (an engine plays it)"),
    Key("clip-up", "up,k", "↑↓", "choose", "row(-1)", "Previous utterance"),
    Key("clip-down", "down,j", "↓", "", "row(1)", "Next utterance"),
    Key("role", "r", "r", "role", "role", "Say what the utterance is: opening, answer, correction, approval ..."),
    Key("words", "w", "w", "words", "words", "Type the words of the utterance"),
    Key("values", "v", "v", "values", "values", "Type which values the words state: field = value, ..."),
    Key("drop", "d", "d", "drop", "drop", "Do not keep the utterance, or keep it after all"),
    Key("make", "a", "a", "accept", "make", "Accept: make the scenario, and check it"),
    Key("begin-earlier", "left_square_bracket", "[ ]", "begin", "edge(-1, -20)", "Begin 20 ms earlier"),
    Key("begin-later", "right_square_bracket", "]", "", "edge(-1, 20)", "Begin 20 ms later"),
    Key("end-earlier", "left_curly_bracket", "{ }", "end", "edge(1, -20)", "End 20 ms earlier"),
    Key("end-later", "right_curly_bracket", "}", "", "edge(1, 20)", "End 20 ms later"),
    Key("outcome", "o", "o", "outcome", "outcome", "Type the right end: field = value, ..."),
    Key(
        "listen",
        "l",
        "l",
        "listen",
        "listen",
        "Let the local recogniser write the words that are missing (extra 'hear')",
    ),
    Key("scenario-id", "i", "i", "id", "name", "Type the id of the new workflow"),
    Key("card-up", "pageup", "pgup", "", "scroll(-1)", "Scroll the lower box up"),
    Key("card-down", "pagedown", "pgdn", "", "scroll(1)", "Scroll the lower box down"),
)
SCORE: tuple[Key, ...] = (
    Key("replay", "enter,r", "enter", "replay", "replay", "Replay the session"),
    Key("failing", "w,f", "w", "failing moment", "failing", "Replay the session at its failing moment"),
    Key("up", "up,k", "↑↓", "scroll", "scroll(-1)", "Scroll up"),
    Key("down", "down,j", "↓", "", "scroll(1)", "Scroll down"),
    Key("page-up", "pageup", "pgup", "", "scroll(-15)", "A page up"),
    Key("page-down", "pagedown", "pgdn", "", "scroll(15)", "A page down"),
)


def action_ids() -> frozenset[str]:
    """Every id that a keymap may name."""
    return frozenset(
        k.id
        for table in (EVERYWHERE, LIVE, PERSON, DIRECT, DIRECTOR, REPLAY, PICKER, RESULTS, REVIEW, SCORE)
        for k in table
    )
