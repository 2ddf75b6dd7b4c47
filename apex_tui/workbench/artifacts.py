"""Artifacts as immutable numbered versions, with the fields that no longer hold and why.

One `write` is one version: all values first, then staleness once. ``strict`` decides staleness by content and by when the writing call
began; otherwise the official rules hold (any write clears, fields in their order, dependents whether or not they have a value).
Deliberately not in here: who may write what (``tools``, ``schemas``), and approvals (``authority``).
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from apex_tui.timeline.base import Json
from apex_tui.timeline.work_facts import ArtifactStale, ArtifactVersion, FieldChange, Lifecycle
from apex_tui.workbench.corrections import Correction, corrections_of
from apex_tui.workbench.values import canonical, digest
from apex_tui.workflow.caller_model import ScriptedEvent
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.work_model import LIFECYCLE, ArtifactSchema, ArtifactSpec

BEFORE_START_MS = -1.0
"""When the values of the opening state were written: before anything that can happen in a session."""


@dataclass(frozen=True, slots=True)
class Binding:
    """The content that a request for approval reads back: one version, its digest, and what was stale in it."""

    artifact: str
    version: int
    digest: str
    prints: Mapping[str, str]
    """Field -> canonical JSON of its value."""
    stale: Mapping[str, str]


@dataclass(slots=True)
class Artifact:
    """The current state of one artifact. ``version`` 0: nothing was written yet."""

    id: str
    shape: ArtifactSchema | None
    lifecycle: Lifecycle
    fields: Json
    version: int = 0
    stale: dict[str, str] = field(default_factory=dict)
    bindings: list[Binding] = field(default_factory=list)
    """One for each version, from 1."""
    corrections: dict[str, Correction] = field(default_factory=dict)
    """Latest correction of each field, kept even when the field was empty at that time."""
    began: dict[str, float] = field(default_factory=dict)
    """When the call began that wrote the field last."""

    @property
    def frozen(self) -> bool:
        """Whether it is committed."""
        return self.lifecycle == "COMMITTED"


def rank(lifecycle: Lifecycle) -> int:
    """Position in the order of lifecycle states."""
    return LIFECYCLE.index(lifecycle)


class Artifacts:
    """All artifacts of a session."""

    def __init__(self, specs: Mapping[str, ArtifactSpec], strict: bool) -> None:
        self._strict = strict
        self._all = {
            name: Artifact(
                name,
                spec.shape,
                spec.lifecycle,
                copy.deepcopy(spec.fields),
                began=dict.fromkeys(spec.fields, BEFORE_START_MS),
            )
            for name, spec in specs.items()
        }

    def __contains__(self, name: object) -> bool:
        return name in self._all

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def get(self, name: str) -> Artifact | None:
        """The artifact of that id, or None."""
        return self._all.get(name)

    def opening(self) -> list[ArtifactVersion]:
        """Version 1 of every artifact that does not begin empty."""
        facts = []
        for art in self._all.values():
            if (art.fields or art.lifecycle != "EMPTY") and art.version == 0:
                changes = [FieldChange(field=name, new=value, kind="added") for name, value in art.fields.items()]
                facts.append(self._seal(art, changes, author="environment"))
        return facts

    def write(
        self, name: str, values: Mapping[str, Any], *, began_ms: float, call: str, lifecycle: Lifecycle | None = None
    ) -> ArtifactVersion:
        """Write fields and lifecycle as one new version. ``began_ms``: when the call began. In strict use None clears a field."""
        art = self._all[name]
        kept = dict(art.fields)
        for key, value in values.items():
            if value is None and self._strict:
                art.fields.pop(key, None)
            else:
                art.fields[key] = copy.deepcopy(value)
            art.began[key] = began_ms
        changes = [_change(key, kept, art.fields) for key in values]
        if self._strict:
            self._mark_strict(art, changes)
        else:
            self._mark_official(art, changes)
        art.lifecycle = lifecycle or art.lifecycle
        return self._seal(art, changes, author="agent", call=call)

    def observe(
        self, name: str, values: Mapping[str, Any], *, source: str, since_ms: float | None
    ) -> ArtifactVersion | None:
        """Take over what a probe sees in the agent's own backend; None when nothing differs.

        ``values`` holds every watched field, None for one that is not there. ``since_ms``: when the former content was last seen; None: the
        first look, at what was there before anyone acted. A change is dated to ``since_ms`` for staleness: nobody answers words within one
        look of their onset. Dependents get no mark: whether a value that stayed the same was worked out anew cannot be seen.
        """
        art = self._all[name]
        before = dict(art.fields)
        for key, value in values.items():
            if value is None:
                art.fields.pop(key, None)
            else:
                art.fields[key] = copy.deepcopy(value)
        changes = [change for key in values if (change := _change(key, before, art.fields)).kind != "same"]
        if not changes:
            art.fields = before
            return None
        for change in changes:
            art.began[change.field] = BEFORE_START_MS if since_ms is None else since_ms
            if self._strict:
                self._mark_corrected(art, change.field)
            else:
                art.stale.pop(change.field, None)
        art.lifecycle = "DRAFT" if art.lifecycle in ("EMPTY", "PARTIAL") else art.lifecycle
        seen = self._seal(art, changes, author="environment" if since_ms is None else "agent")
        return seen.model_copy(update={"source": source, "since_ms": since_ms})

    def _mark_strict(self, art: Artifact, changes: list[FieldChange]) -> None:
        written = {change.field for change in changes}
        for name in written:
            self._mark_corrected(art, name)
        for change in changes:
            # A rewrite of the same value leaves what depends on it true.
            for dependent in _dependents(art, change.field) if change.kind != "same" else ():
                if dependent in art.fields and dependent not in written:
                    art.stale[dependent] = _depends_on(change.field, art)

    def _mark_corrected(self, art: Artifact, name: str) -> None:
        """Set or clear the mark of one field after its value or what the caller wants has changed."""
        correction = art.corrections.get(name)
        art.stale.pop(name, None)
        if correction is not None and name in art.fields and not correction.holds(art.fields[name], art.began[name]):
            art.stale[name] = correction.cause

    def _mark_official(self, art: Artifact, changes: list[FieldChange]) -> None:
        for change in changes:
            art.stale.pop(change.field, None)
            for dependent in _dependents(art, change.field):
                art.stale[dependent] = _depends_on(change.field, art)

    def _seal(
        self,
        art: Artifact,
        changes: list[FieldChange],
        author: Literal["agent", "environment"],
        call: str | None = None,
    ) -> ArtifactVersion:
        art.version += 1
        art.bindings.append(self._bind(art))
        return ArtifactVersion(
            artifact=art.id,
            version=art.version,
            digest=art.bindings[-1].digest,
            author=author,
            call=call,
            lifecycle=art.lifecycle,
            fields=copy.deepcopy(art.fields),
            changes=tuple(changes),
            stale=dict(art.stale),
        )

    def correct(self, workflow: Workflow, event: ScriptedEvent, onset_ms: float) -> list[ArtifactStale]:
        """Mark what an event's ``expected_repairs`` no longer hold. Returns one fact for each artifact with a new mark."""
        touched: dict[str, Artifact] = {}
        for path, (old, new) in corrections_of(workflow, event).items():
            name, _, key = path.partition(".")
            art = self._all.get(name)
            if art is None or not key:
                continue
            before = art.stale.get(key)
            if self._strict:
                self._remember(art, key, Correction(event.id, onset_ms, old, new))
            else:
                art.stale[key] = Correction(event.id, onset_ms).cause
            if art.stale.get(key) != before:
                touched[name] = art
        return [
            ArtifactStale(artifact=name, version=art.version, fields=dict(art.stale), since_ms=onset_ms)
            for name, art in touched.items()
        ]

    def _remember(self, art: Artifact, key: str, correction: Correction) -> None:
        earlier = art.corrections.get(key)
        old = list(correction.old)
        if earlier is not None:
            old += [*earlier.old, *([earlier.new] if earlier.knows_new else [])]
        if key in art.fields and art.began[key] <= correction.since_ms:
            old.append(art.fields[key])  # in whatever form the agent wrote it
        art.corrections[key] = replace(correction, old=tuple(old))
        mark = art.stale.get(key)
        self._mark_corrected(art, key)
        if mark is not None and key not in art.stale and (earlier is None or mark != earlier.cause):
            art.stale[key] = mark  # stale for another reason, which a correction does not mend

    def binding(self, name: str, version: int | None = None) -> Binding:
        """What a version says (default: the current one). Raises ``IndexError`` for a version that does not exist."""
        art = self._all[name]
        if version is None or version == art.version:
            return self._bind(art)
        if not 0 < version < art.version:
            raise IndexError(version)
        return art.bindings[version - 1]

    def drift(self, binding: Binding) -> tuple[str, ...]:
        """The fields in which the current content differs from a binding, or that were found untrue since. Empty: it still holds."""
        art = self._all[binding.artifact]
        now = self._bind(art)
        changed = {key for key in {*now.prints, *binding.prints} if now.prints.get(key) != binding.prints.get(key)}
        untrue = {key for key, cause in art.stale.items() if binding.stale.get(key) != cause}
        return tuple(sorted(changed | untrue))

    def _bind(self, art: Artifact) -> Binding:
        prints = {key: canonical(value) for key, value in art.fields.items()}
        return Binding(art.id, art.version, digest(art.fields), prints, dict(art.stale))


def _dependents(art: Artifact, name: str) -> tuple[str, ...]:
    spec = art.shape.field(name) if art.shape is not None else None
    return spec.dependents if spec is not None else ()


def _depends_on(name: str, art: Artifact) -> str:
    return f"depends on {name}, written in version {art.version + 1}"


def _change(name: str, before: Json, after: Json) -> FieldChange:
    old, new = copy.deepcopy(before.get(name)), copy.deepcopy(after.get(name))
    kind: Literal["added", "changed", "removed", "same"]
    if name in before and name in after:
        kind = "same" if canonical(old) == canonical(new) else "changed"
    elif name in after:
        kind = "added"
    else:
        kind = "removed" if name in before else "same"
    return FieldChange(field=name, old=old, new=new, kind=kind)
