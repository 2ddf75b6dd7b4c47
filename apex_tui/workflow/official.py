"""The reader for official APEX-Voice packages: a folder with ``task.yaml`` becomes a ``Workflow``.

In here: which files are read, their defaults, and the checks across files. Every violation of every file is collected into one error that names
file and key. Keys that only our recipes know are unknown here, so a package means the same to every reader. Deliberately not in here: audio that
a package may ship (``bank.package``), and the checks that a package's author would want beyond the format (``workflow.check``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from apex_tui.timeline.errors import WorkflowError
from apex_tui.timeline.paths import real_path
from apex_tui.workflow.caller_model import ActPattern, CallerProfile, Flow, Observer, Wording  # fmt: skip
from apex_tui.workflow.files import inside, parse_json, parse_yaml, read_text
from apex_tui.workflow.model import Workflow  # fmt: skip
from apex_tui.workflow.official_bank import template_bank
from apex_tui.workflow.official_files import (
    EventsFile,
    KnowledgeFile,
    LatentWorldFile,
    PolicyFile,
    SourcesFile,
    TaskFile,
    TaxonomyFile,
    ToolsFile,
    UserStateFile,
    WorkspaceFile,
)  # fmt: skip
from apex_tui.workflow.official_recovery import recovery_wordings
from apex_tui.workflow.outcome_model import Gold, Reference, ReferenceTurn, Step  # fmt: skip
from apex_tui.workflow.problems import Key, joined, problems, told
from apex_tui.workflow.work_model import Autonomy, Document  # fmt: skip

_M = TypeVar("_M", bound=BaseModel)

VOICES = {"voice_01": "af_heart", "voice_03": "af_bella", "voice_07": "am_michael"}
"""Persona voice -> the voice that speaks it; any other is ``af_heart``."""
OTHER_VOICE = "af_heart"
MAX_DOCUMENTS_BYTES = 16_000_000
"""All documents of a knowledge folder together."""

_OURS: dict[str, tuple[tuple[str, frozenset[str]], ...]] = {
    "flow": (
        ("states.*.on_enter", frozenset({"approves", "revokes"})),
        ("states.*.transitions.*.do", frozenset({"approves", "revokes"})),
        ("states.*.transitions.*.when", frozenset({"committed", "events_done"})),
    ),
    "events": (("events.*", frozenset({"also"})), ("events.*.trigger", frozenset({"committed", "events_done"}))),
    "user_state": (("facts.*", frozenset({"field"})),),
    "tools": (("tools.*", frozenset({"needs_identity"})),),
    "workspace": (
        ("artifacts.*", frozenset({"shape"})),
        ("artifacts.*.schema.fields.*", frozenset({"critical", "protected", "description"})),
    ),
}
"""Where keys of ours would be accepted by the shared model classes; in a package they are unknown."""


def read_package(folder: Path) -> Workflow:
    """Return the workflow of the package in ``folder``.

    Raises ``WorkflowError`` with every violation that was found, each as ``file: key: what is wrong``.
    """
    return _Package(folder).workflow().found_in(real_path(folder))


class _Package:
    """One reading of a package: collects problems until the end."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.found: list[str] = []

    def workflow(self) -> Workflow:
        task = self._model(TaskFile, "task.yaml", required=True)
        if task is None:
            raise self._error()
        taxonomy = self._model(TaxonomyFile, task.taxonomy, required=True)
        user = self._model(UserStateFile, task.user_state, required=True, part="user_state")
        flow = self._model(Flow, task.user_program, required=True, part="flow")
        events = self._model(EventsFile, task.event_program, part="events")
        tools = self._model(ToolsFile, task.tools, part="tools")
        workspace = self._model(WorkspaceFile, task.initial_workspace, part="workspace")
        gold_name = _joined_path(task.gold_dir, "gold.yaml")
        gold = self._model(Gold, gold_name, required=True)
        policy = self._model(PolicyFile, "reference/policy.yaml")
        self._model(SourcesFile, "assets/inputs/artifact_source_manifest.yaml")
        latent = self._model(LatentWorldFile, task.latent_world)
        world = self._object(task.initial_state)
        persona = self._object(task.persona)
        observer = self._observer()
        wordings = self._wordings(task.realization_bank)
        documents = self._documents(task.knowledge_dir)
        if taxonomy is not None and taxonomy.task_id != task.id:
            self._add(task.taxonomy, ("task_id",), f"{taxonomy.task_id!r} is not the id of task.yaml, {task.id!r}")
        if flow is not None:
            self._check_flow(flow, task.user_program)
        if tools is not None:
            self._check_tools(tools, task)
        if gold is not None and workspace is not None:
            for index, expected in enumerate(gold.artifact_expectations):
                if expected.artifact_id not in workspace.artifacts:
                    key = ("artifact_expectations", index, "artifact_id")
                    self._add(gold_name, key, f"{expected.artifact_id!r} is not in {task.initial_workspace}")
        if self.found or not (taxonomy and user and flow and events and tools and workspace and gold and policy):
            raise self._error()
        return Workflow(
            id=task.id,
            version=task.version,
            title=task.title,
            source="official",
            archetype=task.archetype,
            profession=task.profession,
            industry=task.industry or taxonomy.professional_work.industry_setting,
            economic_function=taxonomy.professional_work.economic_function,
            primary_artifact=taxonomy.workspace.primary_artifact,
            risk_tier=task.risk_tier,
            knowledge_burden=taxonomy.knowledge.burden,
            tool_burden=taxonomy.knowledge.tool_burden,
            delegation_patterns=taxonomy.interaction.delegation_patterns,
            duplex_events=taxonomy.interaction.duplex_events,
            temporal_dynamics=taxonomy.interaction.temporal_dynamics,
            time_budget_s=task.time_budget_s,
            track=taxonomy.user_realization_track,
            autonomy=Autonomy(level=task.autonomy.level, approval_required_for=task.autonomy.approval_required_for),
            caller=CallerProfile(
                voice=VOICES.get(str(persona.get("voice_id")), OTHER_VOICE),
                profile=user.profile,
                goal=user.goals_primary or "",
            ),
            facts=user.facts,
            flow=flow,
            events=events.events,
            wordings=_with_recovery(wordings or template_bank(flow, user.facts), recovery_wordings(self.folder)),
            observer=observer,
            artifacts=workspace.artifacts,
            tools=tools.tools,
            documents=documents,
            world=world,
            latent_world=latent.model_dump(mode="json") if latent and latent.id else {},
            gold=gold,
            reference=_reference(policy),
        )

    def _error(self) -> WorkflowError:
        return WorkflowError(f"{self.folder.name}: " + joined(self.found) + ".")

    def _add(self, name: str, key: Key, words: str) -> None:
        self.found.append(f"{name}: {told(key, words)}")

    def _text(self, name: str, required: bool = False) -> str | None:
        path = inside(self.folder, name)
        if path is None:
            self._add(name, (), "leads out of the package; use a path inside it")
        elif not path.is_file():
            if required:
                self._add(name, (), "missing")
        else:
            try:
                return read_text(path, name)
            except WorkflowError as error:
                self.found.append(str(error).rstrip("."))
        return None

    def _parsed(self, name: str, parse: Callable[[str, str], Any], text: str) -> Any:
        try:
            return parse(text, name)
        except WorkflowError as error:
            self.found.append(str(error).rstrip("."))
            return None

    def _values(self, name: str, required: bool = False) -> Any:
        """Plain values of a YAML or JSON file; None (with the problem noted if there is one) when there are none."""
        text = self._text(name, required)
        if text is None:
            return None
        return self._parsed(name, parse_json if name.endswith(".json") else parse_yaml, text)

    def _model(self, kind: type[_M], name: str, required: bool = False, part: str = "") -> _M | None:
        """A file as a model. An optional file that is absent (or empty) is the model's default where it has one, else None."""
        noted = len(self.found)
        values = self._values(name, required)
        if len(self.found) > noted:
            return None
        for key in _ours(values, part):
            self._add(name, key, "unknown key")
        try:
            model = kind.model_validate({} if values is None else values)
        except ValidationError as error:
            if values is None and not required:
                return None
            for key, words in problems(error):
                self._add(name, key, words)
            return None
        return model if len(self.found) == noted else None

    def _object(self, name: str) -> dict[str, Any]:
        values = self._values(name)
        if values is not None and not isinstance(values, dict):
            self._add(name, (), "expected an object")
        return values if isinstance(values, dict) else {}

    def _observer(self) -> Observer:
        """``user/observer.yaml`` is free-form: keys beyond the known ones are left alone, the known ones must be usable."""
        name, patterns = "user/observer.yaml", []
        values = self._object(name)
        for index, row in enumerate(values.get("patterns") or ()):
            key: Key = ("patterns", index)
            if (
                not isinstance(row, dict)
                or not isinstance(row.get("act"), str)
                or not isinstance(row.get("pattern"), str)
            ):
                self._add(name, key, "needs act and pattern, both text")
                continue
            try:
                re.compile(row["pattern"])
            except (re.error, RecursionError, OverflowError) as error:
                self._add(name, (*key, "pattern"), f"not a regular expression ({error})")
                continue
            field = row.get("field")
            patterns.append(
                ActPattern(act=row["act"], pattern=row["pattern"], field=None if field is None else str(field))
            )
        acts = values.get("tool_act_map") or {}
        if not isinstance(acts, dict):
            self._add(name, ("tool_act_map",), "expected tool name: act name")
            acts = {}
        return Observer(patterns=tuple(patterns), tool_act_map={str(tool): str(act) for tool, act in acts.items()})

    def _wordings(self, name: str) -> tuple[Wording, ...]:
        text = self._text(name)
        rows: list[Wording] = []
        for number, line in enumerate((text or "").split("\n"), 1):
            if not line.strip():
                continue
            where = f"{name}:{number}"
            values = self._parsed(where, _json_line, line)
            if values is None:
                continue
            try:
                rows.append(Wording.model_validate(values))
            except ValidationError as error:
                for key, words in problems(error):
                    self._add(where, key, words)
        return tuple(rows)

    def _documents(self, folder: str) -> tuple[Document, ...]:
        name = _joined_path(folder, "manifest.json")
        manifest = self._model(KnowledgeFile, name)
        rows: list[Document] = []
        room = MAX_DOCUMENTS_BYTES
        for row in manifest.documents if manifest else ():
            text = row.text
            if row.path and (below := self._document(folder, row.path)) is not None:
                text = below
            room -= len(text)
            if room < 0:
                self._add(name, ("documents",), f"more than {MAX_DOCUMENTS_BYTES // 1_000_000} MB of text")
                break
            rows.append(
                Document(
                    doc_id=row.doc_id,
                    title=row.title or row.doc_id,
                    text=text,
                    gold=row.gold,
                    distractor=row.distractor,
                )
            )
        return tuple(rows)

    def _document(self, folder: str, path: str) -> str | None:
        return self._text(_joined_path(folder, path))

    def _check_flow(self, flow: Flow, name: str) -> None:
        if flow.start not in flow.states:
            self._add(name, ("start",), f"there is no state {flow.start!r}")
        for state_id, state in flow.states.items():
            for index, transition in enumerate(state.transitions):
                if transition.next not in flow.states:
                    key = ("states", state_id, "transitions", index, "next")
                    self._add(name, key, f"there is no state {transition.next!r}")

    def _check_tools(self, tools: ToolsFile, task: TaskFile) -> None:
        if task.tool_load == "none" and tools.tools:
            self._add(task.tools, ("tools",), "task.yaml says tool_load: none, so there may be no tool")
        for index, tool in enumerate(tools.tools):
            if tool.handler == "verify_identity":
                self._add(task.tools, ("tools", index, "handler"), f"{tool.handler!r} is not a built-in handler")


def _with_recovery(bank: tuple[Wording, ...], lines: tuple[Wording, ...]) -> tuple[Wording, ...]:
    """What the flow says, and what is said outside it; a plan of the bank goes before a line of the same id."""
    taken = {wording.user_plan_id for wording in bank}
    return (*bank, *(line for line in lines if line.user_plan_id not in taken))


def _reference(policy: PolicyFile) -> Reference:
    turns = []
    for number, turn in enumerate(policy.turns, 1):
        said = (Step(say=turn.text, clip=f"agent.turn_{number}"),) if turn.text else ()
        calls = tuple(Step(call=call.name, args=call.args) for call in turn.tool_calls)
        turns.append(ReferenceTurn(steps=said + calls, end_call=turn.end_call))
    return Reference(turns=tuple(turns))


def _joined_path(folder: str, name: str) -> str:
    return f"{folder.rstrip('/')}/{name}" if folder.rstrip("/") else name


def _json_line(text: str, name: str) -> Any:
    try:
        return parse_json(text, name)
    except WorkflowError as error:  # a line of its own has no line 1
        raise WorkflowError(str(error).replace(f"{name}:1:", f"{name}:", 1)) from None


def _ours(values: Any, part: str) -> Iterator[Key]:
    """Paths of keys that the shared classes know and the official format does not."""
    for pattern, names in _OURS.get(part, ()):
        for path, found in _at(values, tuple(pattern.split("."))):
            if isinstance(found, dict):
                yield from ((*path, name) for name in sorted(names & found.keys()))


def _at(values: Any, pattern: tuple[str, ...], path: Key = ()) -> Iterator[tuple[Key, Any]]:
    if not pattern:
        yield path, values
        return
    if pattern[0] != "*":
        if isinstance(values, dict) and pattern[0] in values:
            yield from _at(values[pattern[0]], pattern[1:], (*path, pattern[0]))
        return
    items = values.items() if isinstance(values, dict) else enumerate(values) if isinstance(values, list) else ()
    for key, value in items:
        yield from _at(value, pattern[1:], (*path, key))
