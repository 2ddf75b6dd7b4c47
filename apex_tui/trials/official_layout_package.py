"""A recipe as an official APEX-Voice package: the folder that the reference loads.

In here: the files of section 3 of the format, written from a compiled recipe, and a list of what the format cannot say. The written package is
read back before it counts as written. Deliberately not in here: sessions (``official_layout_session``), and audio: the reference renders a
package's speech itself.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from apex_tui.store.layout import slug
from apex_tui.timeline.errors import UserError
from apex_tui.trials.official_layout_flow import Dialogue
from apex_tui.workflow.determinism import stable_key
from apex_tui.workflow.lines import without_pauses
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.official import VOICES, read_package
from apex_tui.workflow.outcome_model import ArtifactExpectation, Predicate, Step
from apex_tui.workflow.reference_side import AGAIN
from apex_tui.workflow.work_model import Document, ToolSpec

_EFFECT = {"state_path", "artifact_id", "state", "set_fields", "world_updates", "target_id", "action_type"}
"""What a handler of the format reads of a tool's effect."""
_FROM = re.compile(r"\bFROM\s+(\w+)")
_ASKS = r"(?:\bwhat\b|\bwhich\b|\bwhen\b|\bwho\b|\bhow\b|\bmay i\b|\bcan i\b|\bcould i\b|\bcould you\b|\bcan you\b|\bneed\b|\btell me\b|\bgive me\b)"
_PORTION = 120  # a pattern holds its alternatives twice, and readers bound its length


class _Writer:
    """One export: the workflow, and what had to be left out of it."""

    def __init__(self, workflow: Workflow) -> None:
        self.workflow = workflow
        self.notes: list[str] = []
        self.dialogue = Dialogue(workflow, self.note)
        self.events = self.dialogue.events()

    def files(self) -> dict[str, Any]:
        """Path below the package -> content."""
        flow = self.dialogue.flow()
        return {
            "task.yaml": self.task(),
            "taxonomy.yaml": self.taxonomy(),
            "initial_state.json": self.workflow.world,
            "user/user_state.yaml": self.user_state(),
            "user/flow.yaml": flow,
            "user/events.yaml": {"events": [self.dialogue.event(e) for e in self.events]},
            "user/persona.yaml": self.persona(),
            "user/observer.yaml": self.observer(),
            "user/realization_bank.jsonl": self.bank(flow),
            "tools/tool_spec.yaml": {"tools": [self.tool(t) for t in self.workflow.tools]},
            "workspace/initial_workspace.json": self.workspace(),
            "knowledge/manifest.json": {"documents": [self.document(d) for d in self.workflow.documents]},
            "grading/gold.yaml": self.gold(),
            "reference/policy.yaml": self.policy(),
        }

    def document(self, document: Document) -> dict[str, Any]:
        """A document as the format knows one."""
        if document.words:
            self.note(f"{document.doc_id}: found by its own text only; the format has no words beside it")
        return document.model_dump(exclude={"words"})

    def task(self) -> dict[str, Any]:
        w = self.workflow
        return {
            "id": w.id,
            "version": w.version,
            "title": w.title,
            "archetype": w.archetype,
            "profession": w.profession,
            "industry": w.industry,
            "risk_tier": w.risk_tier,
            "duplex_native": True,
            "time_budget_s": w.time_budget_s,
            "conditions": ["C0", "C2"],
            "knowledge_load": "search" if w.documents else "none",
            "tool_load": "moderate" if len(w.tools) > 3 else "light",
            "autonomy": w.autonomy.model_dump(mode="json"),
        }

    def taxonomy(self) -> dict[str, Any]:
        w = self.workflow
        fields = [f for e in w.gold.artifact_expectations for f in e.fields]
        return {
            "task_id": w.id,
            "professional_work": {
                "primary_archetype": w.archetype,
                "economic_function": w.economic_function or "operations",
                "industry_setting": w.industry or "horizontal_enterprise",
            },
            "interaction": {
                "delegation_patterns": list(w.delegation_patterns),
                "user_profile": w.caller.profile,
                "temporal_dynamics": w.temporal_dynamics,
                "duplex_events": [d for d in w.duplex_events if d != "BACKCHANNEL"],
            },
            "workspace": {"primary_artifact": w.primary_artifact, "autonomy_level": w.autonomy.level},
            "knowledge": {"burden": w.knowledge_burden, "tool_burden": w.tool_burden},
            "conditions": ["C0", "C2"],
            "risk_tier": w.risk_tier,
            "difficulty": {
                "required_fact_count": sum(f.required for f in fields),
                "correction_count": sum("CORRECTION" in e.type for e in w.events),
                "artifact_field_count": len(fields),
                "knowledge_doc_count": len(w.documents),
                "required_doc_count": sum(d.gold for d in w.documents),
                "tool_call_reference_count": w.reference.calls,
                "duplex_event_count": len(self.events),
            },
        }

    def user_state(self) -> dict[str, Any]:
        facts = []
        late = self.dialogue.late_facts()
        for fact in self.workflow.facts:
            values = fact.model_dump(mode="json", exclude={"field"}, exclude_defaults=True)
            acts = [act for act in fact.reveal.agent_acts if not act.startswith("MISREAD")]
            acts += [f"REQUEST_APPROVAL:{name}" for name in self.workflow.artifacts] if fact.id in late else []
            if acts != list(fact.reveal.agent_acts):
                values["reveal"] = {**values.get("reveal", {}), "agent_acts": acts}
            facts.append(values)
        return {
            "user_id": f"caller_{slug(self.workflow.id)}",
            "profile": self.workflow.caller.profile,
            "goals_primary": self.workflow.caller.goal,
            "delegation": {"patterns": list(self.workflow.delegation_patterns)},
            "facts": facts,
        }

    def observer(self) -> dict[str, Any]:
        w = self.workflow
        asked = {a.partition(":")[2] for f in w.facts for a in f.reveal.agent_acts if a.startswith("ASK:")}
        patterns = []
        for field in sorted(asked):
            names = w.observer.lexicon.get(field) or (field.replace("_", " "),)
            for words in _alternatives(names):
                asking = rf"{_ASKS}[^.?!]*\b(?:{words})\b|\b(?:{words})\b[^.?!]*\?"
                patterns.append({"act": "ASK", "field": field, "pattern": asking})
        for field in self.dialogue.read_back():
            for words in _alternatives(w.observer.values.get(field, ())):
                patterns.append({"act": "CONFIRM", "field": field, "pattern": rf"\b(?:{words})\b"})
        handlers = {"request_approval": "REQUEST_APPROVAL", "commit": "COMMIT"}
        return {
            "patterns": patterns,
            "tool_act_map": {t.name: handlers[t.handler] for t in w.tools if t.handler in handlers},
        }

    def bank(self, flow: dict[str, Any]) -> list[dict[str, Any]]:
        """A line per plan that the exported flow can say."""
        steps = [t["do"] for s in flow["states"].values() for t in s.get("transitions", ())]
        steps += [s["on_enter"] for s in flow["states"].values() if "on_enter" in s]
        plans = dict.fromkeys(step["plan_id"] for step in steps)
        lines = []
        for plan in plans:
            wording = self.workflow.wording(plan)
            if wording is None:
                continue
            act = wording.speech_act or "ANSWER"
            variants = []
            for number, variant in enumerate(variant for variant in wording.variants if variant.fits != "early"):
                text = without_pauses(variant.text)
                if text != " ".join(variant.text.split()):
                    self.note(f"{plan}: spoken without its pauses; the format has no mark for them")
                compiler = {
                    "realizer": "apex_tui",
                    "version": "1",
                    "seed": number,
                    "prompt_hash": stable_key(act, text),
                }
                variants.append(
                    {
                        "variant_id": variant.variant_id,
                        "text": text,
                        "expressed_fact_ids": list(variant.expressed_fact_ids),
                        "compiler": compiler,
                        "checksum": stable_key(text),
                    }
                )
            lines.append({"user_plan_id": plan, "speech_act": act, "variants": variants})
        return lines

    def persona(self) -> dict[str, Any]:
        known = {voice: name for name, voice in VOICES.items()}
        if self.workflow.caller.voice not in known:
            self.note(f"the voice {self.workflow.caller.voice} has no name in the format; voice_01 speaks")
        return {"voice_id": known.get(self.workflow.caller.voice, "voice_01")}

    # --- the work ------------------------------------------------------------------------------------------------------------------

    def tool(self, tool: ToolSpec) -> dict[str, Any]:
        values = tool.model_dump(exclude_defaults=True, exclude={"needs_identity", "effect"}, mode="json")
        effect = tool.model_dump(mode="json")["effect"]
        kept = {key: value for key, value in effect.items() if key in _EFFECT}
        if tool.needs_identity:
            self.note(f"{tool.name}: the format cannot refuse it before identity was verified")
        if effect.get("fails"):
            self.note(f"{tool.name}: does not fail at first; the format has no tool that fails")
        if tool.handler == "verify_identity":
            paths = [str(path) for path in (tool.effect.get("match") or {}).values()]
            values["handler"], kept = "get_entity", {"state_path": paths[0].rpartition(".")[0] if paths else ""}
            self.note(f"{tool.name}: gives the customer's data for comparison; the format has no tool that compares")
        elif tool.handler == "get_entity" and effect.get("sql"):
            table = _FROM.search(" ".join(effect["sql"]))
            kept["state_path"] = f"records.{table[1]}" if table is not None else "records"
            self.note(
                f"{tool.name}: gives the whole table {kept['state_path']}, as it was at the start; the format looks nothing up by arguments"
            )
        elif effect.get("sql"):
            self.note(
                f"{tool.name}: changes no records; the format writes nothing that follows from a call or an artifact"
            )
        if tool.handler in ("act", "hand_over"):
            values["handler"] = "commit"
            self.note(
                f"{tool.name}: a commit that needs no approval and changes nothing; the format has no other tool that does something"
            )
        if effect.get("keeps_open"):  # a commit of the format closes the artifact that it names
            kept = {key: value for key, value in kept.items() if key not in ("artifact_id", "set_fields")}
            kept["keeps_open"] = True  # ours; the reference passes over it, and our strict profile needs it
            for field in effect.get("set_fields") or ():
                self.note(
                    f"{tool.name}: does not set {field}, which is not looked at then; the format has no commit that leaves the artifact open"
                )
        return {**values, **({"effect": kept} if kept else {})}

    def workspace(self) -> dict[str, Any]:
        ours = {"critical", "protected", "description"}
        found = {}
        for name, artifact in self.workflow.artifacts.items():
            values = artifact.model_dump(mode="json", by_alias=True)
            shape = values.get("schema")
            if shape is None:
                values.pop("schema", None)
            else:
                shape["fields"] = [{k: v for k, v in f.items() if k not in ours} for f in shape["fields"]]
            found[name] = values
        return {"artifacts": found}

    def gold(self) -> dict[str, Any]:
        gold = self.workflow.gold
        values = gold.model_dump(mode="json", exclude_defaults=True)
        for key in ("terminal_state", "required_actions", "required_evidence", "forbidden"):
            rows = [p for p in getattr(gold, key) if not self.about_records(p)]
            values[key] = [p.model_dump(mode="json", exclude_defaults=True) for p in rows]
        values["artifact_expectations"] = [self.expectation(row) for row in gold.artifact_expectations]
        gates = [g for g in gold.critical_gates if not self.about_records(g.predicate)]
        values["critical_gates"] = [g.model_dump(mode="json", exclude_defaults=True) for g in gates]
        return values

    def expectation(self, expected: ArtifactExpectation) -> dict[str, Any]:
        """What is looked at in an artifact, without the fields that a commit on the way would set."""
        unset = {f for t in self.workflow.tools if t.effect.get("keeps_open") for f in t.effect.get("set_fields") or ()}
        kept = {
            "fields": tuple(f for f in expected.fields if f.field not in unset),
            "must_not_be_stale": tuple(name for name in expected.must_not_be_stale if name not in unset),
        }
        return expected.model_copy(update=kept).model_dump(mode="json", exclude_defaults=True)

    def about_records(self, predicate: Predicate) -> bool:
        """Whether a check is about records, which no tool of the package changes."""
        about = str(predicate.args.get("path", "")).startswith("records.")
        if about:
            self.note("checks of the records are left out; no tool of the format changes them by what it was told")
        return about

    def policy(self) -> dict[str, Any]:
        turns = []
        fails = Counter({tool.name: int(tool.effect.get("fails") or 0) for tool in self.workflow.tools})
        for turn in self.workflow.reference.turns:
            steps = list(_at_once(turn.steps, fails))
            row: dict[str, Any] = {"text": " ".join(without_pauses(s.say) for s in steps if s.say)}
            calls = [{"name": s.call, "args": s.args} for s in steps if s.call]
            turns.append(
                {**row, **({"tool_calls": calls} if calls else {}), **({"end_call": True} if turn.end_call else {})}
            )
        return {"turns": turns}

    def note(self, sentence: str) -> None:
        if sentence not in self.notes:
            self.notes.append(sentence)


def _at_once(steps: Sequence[Step], fails: Counter[str]) -> Iterator[Step]:
    """Steps without the calls that were to fail, and without the words about that: no tool of a package fails. ``fails`` is counted down."""
    missed = False
    for step in steps:
        if step.call is not None and fails[step.call] > 0:
            fails[step.call] -= 1
            missed = True
        elif not (missed and step.clip == AGAIN):
            missed = False
            yield step


def _alternatives(phrases: Sequence[str]) -> Iterator[str]:
    """The phrases as alternatives of a pattern, longest first, in portions that keep a pattern short."""
    portion: list[str] = []
    for phrase in sorted(map(re.escape, phrases), key=len, reverse=True):
        if portion and len("|".join((*portion, phrase))) > _PORTION:
            yield "|".join(portion)
            portion = []
        portion.append(phrase)
    if portion:
        yield "|".join(portion)


def export_package(workflow: Workflow, parent: Path) -> tuple[Path, list[str]]:
    """Write the package of a recipe to ``parent/<id>``. Returns the folder, and what the format cannot say, one sentence each.

    Raises:
        UserError: it is a package already, the folder exists, or the disk refuses.
        WorkflowError: what was written cannot be read back as a package.
    """
    if workflow.source == "official":
        raise UserError(f"{workflow.id} is an official package already; copy its folder")
    folder = parent / workflow.id
    if folder.exists():
        raise UserError(f"{folder} exists already; remove it, or name another place with --out")
    writer = _Writer(workflow)
    files = writer.files()
    try:
        for name, content in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(_text(name, content), encoding="utf-8")
    except OSError as error:
        raise UserError(
            f"{folder} cannot be written: {error.strerror or error}; name another place with --out"
        ) from None
    read_package(folder)
    return folder, writer.notes


def _text(name: str, content: Any) -> str:
    if name.endswith(".jsonl"):
        return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in content)
    if name.endswith(".json"):
        return json.dumps(content, ensure_ascii=False, indent=2) + "\n"
    # Text that YAML would read as a date or a number is quoted by the dumper; dates of our own are text already.
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=140)
