"""What the agent did, read from the words that were heard and from its tool calls: deterministic, local, bounded.

Three sources: patterns of the package, tool evidence, and lexical matching of questions and read-backs against the fields' names and known
values. Deliberately not in here: any model or network, and what the caller does about it (policy). Only *heard* text may be passed in. Each
(reply, key) is reported once; of a reply at most 4,000 characters are read.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from apex_tui.caller.lexicon import Lexicon
from apex_tui.caller.sentences import (
    Sentence,
    asked_part,
    asks_what,
    begins_as_question,
    go_ahead_pattern,
    is_direct,
    is_offer,
    is_request,
    proposes,
    split,
)
from apex_tui.timeline.errors import WorkflowError
from apex_tui.workflow.caller_model import ActPattern
from apex_tui.workflow.model import Workflow

MAX_TEXT = 4_000
_MAX_PATTERN = 500
_MAX_MATCHES = 64
_MAX_EVIDENCE = 200
DIRECT, INDIRECT = 0.9, 0.7
"""Confidence of a question or request that names a field, and of a remark that amounts to one ("I didn't catch ...")."""
_RUNAWAY = re.compile(r"\((?:\\.|[^()\\])*(?:[*+]|\{\d+,\d*\})(?:\\.|[^()\\])*\)(?:[*+]|\{\d+,)")
"""A repeated group that repeats inside: such patterns can take exponential time, and Python's engine cannot be stopped."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One act. ``key`` is ``ACT`` or ``ACT:field``; ``value`` is what the agent said of it, ``evidence`` the words or the call."""

    key: str
    source: Literal["pattern", "lexical", "tool"]
    evidence: str
    value: str | None = None
    confidence: float = 1.0


@dataclass(slots=True)
class _Heard:
    """What was read of one reply so far."""

    text: str = ""
    final: bool = False
    done: int = 0
    keys: set[str] = field(default_factory=set)


def read_tool(acts: Mapping[str, str], name: str, result: Any) -> list[Reading]:
    """The act of a tool call, by the workflow's ``tool_act_map``; its field is the first non-empty of action_type, target_id, artifact_id."""
    act = acts.get(name)
    if act is None:
        return []
    named = None
    if isinstance(result, dict):
        named = next((result[key] for key in ("action_type", "target_id", "artifact_id") if result.get(key)), None)
    return [Reading(f"{act}:{named}" if named is not None else act, "tool", name)]


class ActObserver:
    """Reads acts for one session. Raises ``WorkflowError`` for a pattern that cannot be compiled or could run away."""

    def __init__(self, workflow: Workflow) -> None:
        self._patterns = [(entry, _compiled(entry)) for entry in workflow.observer.patterns]
        self._lexicon = Lexicon(workflow)
        actions = workflow.autonomy.approval_required_for or tuple(
            tool.commit_action_type for tool in workflow.tools if tool.commits and tool.commit_action_type
        )
        self._actions = tuple(actions)
        self._go_ahead = go_ahead_pattern(self._actions) if workflow.observer.lexicon else None
        self._heard: dict[str, _Heard] = {}

    def read_words(
        self, reply: str, heard_text: str, final: bool, wants: Mapping[str, Any], untold: Collection[str] = ()
    ) -> list[Reading]:
        """New acts in the heard prefix of a reply. ``wants``: field -> the value that the caller wants now. A read-back is reported as soon
        as the value's words are complete; questions, misreadings and requests when their sentence is. What a question proposes for a field
        that the caller has not told yet (``untold``) is no read-back: it asks for the field ("are you using mats?").
        """
        heard = self._heard.setdefault(reply, _Heard())
        text = heard_text[:MAX_TEXT]
        if text == heard.text and final == heard.final:
            return []
        if not text.startswith(heard.text[: heard.done]):
            heard.done = 0
        heard.text, heard.final = text, final
        sentences = split(text[heard.done :], final=final)
        found = self._by_pattern(text, heard.done, sentences)
        for sentence in sentences:
            found += self._by_lexicon(sentence, wants, untold)
        base = heard.done
        for sentence in sentences:
            if sentence.complete:
                heard.done = base + sentence.end
        return _new(found, heard.keys)

    def read_text(self, text: str) -> list[Reading]:
        """Every match of every pattern over a whole text, in the order of the patterns: the official text condition, which counts repeats."""
        return [self._reading(entry, match) for entry, pattern in self._patterns for match in pattern.finditer(text)]

    def _by_pattern(self, text: str, done: int, sentences: list[Sentence]) -> list[Reading]:
        """Package patterns run over everything heard; only a read-back counts before its sentence is complete."""
        complete = max((done + s.end for s in sentences if s.complete), default=done)
        found: list[Reading] = []
        for entry, pattern in self._patterns:
            within = text if entry.act == "CONFIRM" else text[:complete]
            for number, match in enumerate(pattern.finditer(within)):
                if number >= _MAX_MATCHES:
                    break
                found.append(self._reading(entry, match))
        return found

    @staticmethod
    def _reading(entry: ActPattern, match: re.Match[str]) -> Reading:
        groups = match.groupdict()
        name = entry.field or groups.get("field")
        key = f"{entry.act}:{name}" if name else entry.act
        return Reading(key, "pattern", match[0][:_MAX_EVIDENCE], groups.get("value"))

    def _by_lexicon(self, sentence: Sentence, wants: Mapping[str, Any], untold: Collection[str]) -> list[Reading]:
        if self._go_ahead is None:
            return []
        words = sentence.text
        if not sentence.complete and begins_as_question(words):
            return []  # "is it the 14th" may go on with "or the 15th"
        asks = is_request(words)
        stated = self._lexicon.stated(words, wants, complete=sentence.complete, asks=asks)
        proposed = {f for f, _, _ in stated.current if f in untold} if asks and proposes(words) else set()
        found = [
            Reading(f"CONFIRM:{f}", "lexical", _short(words), form, c)
            for f, form, c in stated.current
            if f not in proposed
        ]
        if not sentence.complete:
            return found
        found += [Reading(f"MISREAD:{f}", "lexical", _short(words), form, c) for f, form, c in stated.superseded]
        go_ahead = self._go_ahead.search(words)
        before, after = (words[: go_ahead.start()], words[go_ahead.start() :]) if go_ahead else ("", "")
        chosen = self._lexicon.chosen(after, untold)
        choice = chosen or self._lexicon.is_choice(before, after) or self._lexicon.offers_a_choice(words)
        if go_ahead and not asks_what(before) and not choice:
            return [*found, Reading(self._approval_key(words), "lexical", _short(words), None, DIRECT)]
        if asks and not is_offer(words):
            sure = DIRECT if is_direct(words) else INDIRECT
            meant = stated.offered | proposed | chosen
            named = [
                f for f in self._lexicon.asked_for(asked_part(words), untold) if f not in stated.fields or f in meant
            ]
            named += [f for f in sorted(meant) if f not in named]
            found += [Reading(f"ASK:{f}", "lexical", _short(words), None, sure) for f in named]
        return found

    def _approval_key(self, words: str) -> str:
        """The action that is asked for: the one whose name shares most words with the sentence; the first when that does not decide."""
        if not self._actions:
            return "REQUEST_APPROVAL"
        lowered = words.lower()
        best = max(self._actions, key=lambda action: sum(part in lowered for part in action.lower().split("_")))
        return f"REQUEST_APPROVAL:{best}"


def _compiled(entry: ActPattern) -> re.Pattern[str]:
    where = f"user/observer.yaml: pattern of {entry.act}{':' + entry.field if entry.field else ''}"
    if len(entry.pattern) > _MAX_PATTERN:
        raise WorkflowError(f"{where} is longer than {_MAX_PATTERN} characters; shorten it.")
    if _RUNAWAY.search(entry.pattern):
        raise WorkflowError(
            f"{where} repeats a group that repeats inside, which can take for ever; write it without nesting."
        )
    try:
        return re.compile(entry.pattern, re.IGNORECASE)
    except re.error as error:
        raise WorkflowError(f"{where} is not a regular expression ({error}); correct it.") from None


def _new(found: list[Reading], known: set[str]) -> list[Reading]:
    fresh: list[Reading] = []
    for reading in found:
        if reading.key not in known:
            known.add(reading.key)
            fresh.append(reading)
    return fresh


def _short(words: str) -> str:
    return words.strip()[:_MAX_EVIDENCE]
