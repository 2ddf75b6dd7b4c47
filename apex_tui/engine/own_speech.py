"""A session whose caller speaks in a person's own clips: those beside the recipe, then the bank's where it has the very line, then tones.

Deliberately not in here: how clips are stored (``bank.own``).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from apex_tui.audio.clips import pcm_digest
from apex_tui.audio.edges import audible_edges
from apex_tui.audio.tones import tone_speech
from apex_tui.bank.bank import SpeechBank, find_bank_root
from apex_tui.bank.manifest import MANIFEST_NAME, ClipSpec, load_manifest, text_digest
from apex_tui.bank.own import OwnSpeech, decoded, read_own
from apex_tui.engine.caller_side import Clip
from apex_tui.workflow.lines import Line


def clips_of(folder: Path, lines: Sequence[tuple[Line, ClipSpec]]) -> dict[str, tuple[str, Clip]]:
    """Line id -> (who speaks it, its clip), for every line: ``recorded``, ``bank`` or ``tones``.

    Raises:
        BankError: a clip is not what the manifest says.
    """
    own = read_own(folder)
    found: dict[str, tuple[str, Clip]] = {}
    rest: list[tuple[Line, ClipSpec]] = []
    for line, spec in lines:
        clip = own.clip(line.role, line.text)
        if clip is None:
            rest.append((line, spec))
            continue
        pcm = decoded(folder, clip)
        found[line.id] = (
            "recorded",
            Clip(line.id, pcm, clip.onset, clip.offset, clip.offset, clip.pcm_sha256, clip.pauses),
        )
    found |= {name: ("bank", clip) for name, clip in _from_bank(own, rest).items()}
    for line, _ in rest:
        if line.id not in found:
            pcm = tone_speech(line.text, line.voice)
            onset, offset = audible_edges(pcm)
            found[line.id] = ("tones", Clip(line.id, pcm, onset, offset, offset, pcm_digest(pcm)))
    return found


def _from_bank(own: OwnSpeech, lines: Sequence[tuple[Line, ClipSpec]]) -> dict[str, Clip]:
    """The lines that the bank's folder ``stands_in`` speaks in the same words and voice, under whatever id."""
    if own.stands_in is None or not lines:
        return {}
    folder = find_bank_root() / own.stands_in
    if not (folder / MANIFEST_NAME).is_file():
        return {}
    by_words = {(clip.role, text_digest(clip)): clip for clip in load_manifest(folder / MANIFEST_NAME).clips}
    wanted = {
        line.id: by_words[line.role, text_digest(spec)]
        for line, spec in lines
        if (line.role, text_digest(spec)) in by_words
    }
    bank = SpeechBank.open(
        folder, {clip.id: clip for clip in wanted.values()}.values(), {c.id for c in wanted.values()}
    )
    found: dict[str, Clip] = {}
    for name, clip in wanted.items():
        loaded = bank.clip(clip.id)
        meta = loaded.meta
        found[name] = Clip(name, loaded.pcm, meta.onset, meta.offset, meta.value_end, meta.pcm_sha256, meta.pauses)
    return found
