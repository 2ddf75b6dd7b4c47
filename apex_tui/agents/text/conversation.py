"""What was said and done so far, as a text model must be told it, and whether it owes an answer.

Both APIs want every call of an answer to have its result before anything else follows: what the caller says meanwhile waits here.
Pure. Deliberately not in here: how it is written for either API.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from apex_tui.agents.text.pieces import Call


@dataclass(slots=True)
class User:
    """A caller turn."""

    text: str


@dataclass(slots=True)
class Assistant:
    """An answer: its words (those heard, once it was cut off) and the calls that were run."""

    text: str
    calls: tuple[Call, ...] = ()


@dataclass(slots=True)
class Result:
    """The result of a call."""

    call_id: str
    output: str


Entry = User | Assistant | Result


@dataclass(slots=True)
class Conversation:
    """The entries in order; ``open_calls``: those whose result has not come."""

    entries: list[Entry] = field(default_factory=list)
    _waiting: list[User] = field(default_factory=list)
    _results: dict[str, str | None] = field(default_factory=dict)
    _owes: bool = False

    @property
    def open_calls(self) -> bool:
        """Whether a call waits for its result."""
        return any(output is None for output in self._results.values())

    @property
    def owes_reply(self) -> bool:
        """Whether the model should be asked now."""
        return not self.open_calls and (self._owes or bool(self._waiting))

    @property
    def after_tool(self) -> bool:
        """Whether what comes next follows results rather than a caller turn."""
        return self._owes and not self._waiting

    def said(self, text: str) -> None:
        """The caller said something."""
        self._waiting.append(User(text))

    def answered(self, call_id: str, output: str) -> bool:
        """Note a result; False when no such call is open. The order in which results come does not matter."""
        if self._results.get(call_id, "") is not None:
            return False
        self._results[call_id] = output
        if not self.open_calls:
            self.entries += [Result(name, result or "") for name, result in self._results.items()]
            self._results.clear()
            self._owes = True
        return True

    def begin(self) -> tuple[Entry, ...]:
        """Everything that the model is asked with now."""
        self.entries += self._waiting
        self._waiting.clear()
        self._owes = False
        return tuple(self.entries)

    def spoke(self, text: str, calls: tuple[Call, ...] = ()) -> Assistant | None:
        """The model's answer; None when there was nothing to it."""
        if not text and not calls:
            return None
        entry = Assistant(text, calls)
        self.entries.append(entry)
        self._results = {call.call_id: None for call in calls}
        return entry
