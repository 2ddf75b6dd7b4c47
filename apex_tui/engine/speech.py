"""Where a session's speech comes from: the bank, a person's clips beside a recipe, an official package's own, or labelled tones."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from apex_tui.audio.clips import pcm_digest
from apex_tui.audio.edges import audible_edges
from apex_tui.audio.frames import Pcm
from apex_tui.audio.tones import tone_speech
from apex_tui.bank.bank import SpeechBank, find_bank_root
from apex_tui.bank.manifest import MANIFEST_NAME, ClipSpec, load_manifest
from apex_tui.engine.caller_side import Clip
from apex_tui.timeline.errors import BankError
from apex_tui.timeline.session_facts import CallerSpeech
from apex_tui.workflow.library import is_ours
from apex_tui.workflow.lines import Line, choosable, chosen_variants, spoken_lines
from apex_tui.workflow.model import Workflow


@dataclass(frozen=True, slots=True)
class Speech:
    """``caller``: variant id -> clip, for the variants that the seed chooses; ``agent``: clip id -> samples of the rehearsal agent's lines."""

    kind: CallerSpeech
    caller: dict[str, Clip]
    agent: dict[str, Pcm]
    digests: dict[str, str]


def load_speech(workflow: Workflow, seed: int, *, rehearsal: bool = True) -> Speech:
    """Everything that may be spoken in a session with this seed, decoded and verified.

    ``rehearsal``: by the rehearsal agent too; of its lines another agent's session has only the digests, from the manifest.

    Raises:
        BankError: a clip is missing, cut, altered or out of date.
    """
    lines = {line.id: line for line in spoken_lines(workflow)}
    needed = [lines[name] for name in choosable(workflow, seed)]
    if workflow.source == "official":
        return _package(workflow, seed, needed) or _tones(workflow, seed, needed)
    if workflow.folder is not None:
        return _recorded(workflow, workflow.folder, seed, needed)
    need_speech(workflow)
    specs = [spec_of(line) for line in lines.values()]
    heard = {line.id for line in needed if rehearsal or line.role == "caller"}
    bank = SpeechBank.open(find_bank_root() / workflow.bank, specs, heard)
    listed = bank.manifest.by_id()
    caller: dict[str, Clip] = {}
    agent: dict[str, Pcm] = {}
    digests: dict[str, str] = {}
    for line in needed:
        if line.id not in heard:
            if line.id in listed:
                digests[line.id] = listed[line.id].pcm_sha256
            continue
        loaded = bank.clip(line.id)
        meta = loaded.meta
        digests[line.id] = meta.pcm_sha256
        if line.role == "agent":
            agent[line.id] = loaded.pcm
        elif line.variant is not None:
            pauses = tuple((a, b) for a, b in meta.pauses)
            caller[line.variant] = Clip(
                line.id, loaded.pcm, meta.onset, meta.offset, meta.value_end, meta.pcm_sha256, pauses
            )
    return Speech("bank", caller, agent, digests)


def need_speech(workflow: Workflow) -> None:
    """Raises ``BankError``: nobody has spoken this recipe yet, neither beside it nor in the bank. A package without speech is spoken in tones."""
    if workflow.source == "official" or workflow.folder is not None:
        return
    manifest = find_bank_root() / workflow.bank / MANIFEST_NAME
    if manifest.is_file():
        return
    if is_ours(workflow.bank):
        load_manifest(manifest)  # says how to render it
    raise BankError(
        f"{workflow.bank} has no speech, so it cannot be run; take in recordings with 'apex-tui bank import LIST --for RECIPE' (tones speak "
        "the lines that have none), be the agent at the keyboard with 'apex-tui workflows play-text RECIPE', or check it without speech "
        "with 'apex-tui workflows check --tones RECIPE'."
    )


def tones_of(workflow: Workflow, seed: int) -> Speech:
    """Tones of about the right length for everything that may be spoken with this seed: a workflow can be tried before it is rendered."""
    lines = {line.id: line for line in spoken_lines(workflow)}
    return _tones(workflow, seed, [lines[name] for name in choosable(workflow, seed)])


def spec_of(line: Line) -> ClipSpec:
    """What the bank renders for a spoken line."""
    return ClipSpec(
        id=line.id,
        role=line.role,
        text=line.text,
        voice=line.voice,
        plan=line.plan,
        variant=line.variant,
        facts=line.facts,
    )


def _recorded(workflow: Workflow, folder: Path, seed: int, needed: list[Line]) -> Speech:
    """The caller in a person's own clips; lines that nobody recorded are the bank's or tones, as ``workflows check`` tells."""
    from apex_tui.engine.own_speech import clips_of  # a format of its own, which the bank's speech does without

    chosen = {variant.variant_id for found in chosen_variants(workflow, seed).values() for variant in found}
    clips = clips_of(folder, [(line, spec_of(line)) for line in needed])
    caller = {line.variant: clips[line.id][1] for line in needed if line.variant is not None and line.variant in chosen}
    agent = {line.id: clips[line.id][1].pcm for line in needed if line.role == "agent"}
    return Speech("recorded", caller, agent, {line.id: clips[line.id][1].sha256 for line in needed})


def _package(workflow: Workflow, seed: int, needed: list[Line]) -> Speech | None:
    """The caller in the package's own clips; None: it has none. The reference's lines have none there, and stay tones."""
    from apex_tui.bank.package import has_speech, package_clips

    if workflow.folder is None or not has_speech(workflow.folder):
        return None
    chosen = {variant.variant_id for found in chosen_variants(workflow, seed).values() for variant in found}
    caller_lines = [line for line in needed if line.role == "caller" and line.variant in chosen]
    clips = package_clips(workflow.folder, (line.text for line in caller_lines))
    tones = _tones(workflow, seed, [line for line in needed if line.role == "agent"])
    caller: dict[str, Clip] = {}
    digests = dict(tones.digests)
    for line in caller_lines:
        clip = clips[line.text]
        digest = digests[line.id] = clip.row.pcm16_sha256
        try:
            onset, offset = audible_edges(clip.pcm)
        except ValueError:
            raise BankError(f"{clip.row.file}: nothing in it is audible; get the package again.") from None
        caller[line.variant or ""] = Clip(line.id, clip.pcm, onset, offset, offset, digest)
    return Speech("package", caller, tones.agent, digests)


def _tones(workflow: Workflow, seed: int, needed: list[Line]) -> Speech:
    caller: dict[str, Clip] = {}
    agent: dict[str, Pcm] = {}
    digests: dict[str, str] = {}
    chosen = {variant.variant_id for found in chosen_variants(workflow, seed).values() for variant in found}
    for line in needed:
        pcm = tone_speech(line.text, line.voice)
        digest = digests[line.id] = pcm_digest(pcm)
        if line.role == "agent":
            agent[line.id] = pcm
        elif line.variant in chosen and line.variant is not None:
            onset, offset = audible_edges(pcm)
            caller[line.variant] = Clip(line.id, pcm, onset, offset, offset, digest)
    return Speech("tones", caller, agent, digests)
