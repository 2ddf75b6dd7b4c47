"""The caller's channel of one session: which clips of the bank babble behind the caller, and how loud.

The babble is made from clips that this session does not speak, of all workflows in the bank, without the caller's own voice (as long as there
is another one): a second person with the same voice would be a second caller. Their digest stands in the session's parameters. Deliberately
not in here: what a channel does to sound (``audio.channel``).
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np

from apex_tui.audio.channel import Channel, ChannelSpec
from apex_tui.audio.frames import Pcm
from apex_tui.bank.bank import SpeechBank, find_bank_root
from apex_tui.bank.manifest import MANIFEST_NAME, load_manifest
from apex_tui.bank.shape import active_level_db
from apex_tui.engine.speech import Speech
from apex_tui.store.meta import SessionMeta
from apex_tui.timeline.errors import BankError
from apex_tui.workflow.determinism import seeded_rng
from apex_tui.workflow.model import Workflow

MOST_CLIPS = 36
"""About six for each talker: 20 s of speech without a repeat."""


def make_channel(spec: ChannelSpec, workflow: Workflow, seed: int, speech: Speech) -> tuple[Channel, str | None]:
    """The channel, and the digest of the clips that babble (None without babble).

    Raises:
        BankError: babble is wanted and the bank has no clips for it, or a damaged one.
    """
    if spec.babble_snr_db is None:
        return Channel(spec, (workflow.scenario_id, seed)), None
    voices, digest = _voices(workflow, seed, speech, find_bank_root())
    return Channel(spec, (workflow.scenario_id, seed), voices, _speech_db(speech)), digest


def _speech_db(speech: Speech) -> float:
    """Active level of everything that the caller may say, in dBFS."""
    said = [speech.caller[name].pcm for name in sorted(speech.caller)]
    return active_level_db(np.concatenate(said)) if said else -23.0


def _voices(workflow: Workflow, seed: int, speech: Speech, root: Path) -> tuple[list[Pcm], str]:
    spoken = set(speech.digests.values())
    banks = {path.parent: load_manifest(path) for path in sorted(root.glob(f"*/{MANIFEST_NAME}"))}
    free = [(folder, clip) for folder, bank in banks.items() for clip in bank.clips if clip.pcm_sha256 not in spoken]
    others = [(folder, clip) for folder, clip in free if clip.voice != workflow.caller.voice] or free
    if not others:
        raise BankError(f"{root}: there is no clip to make babble from; render a workflow with apex-tui bank render.")
    others.sort(key=lambda entry: (entry[0].name, entry[1].id))
    seeded_rng(workflow.scenario_id, seed, "channel", "voices").shuffle(others)
    voices: list[Pcm] = []
    sha = hashlib.sha256()
    for folder, clip in others[:MOST_CLIPS]:
        # A clip is its own spec: what it says is of no matter here, only that it is the file that was rendered.
        loaded = SpeechBank.open(folder, [clip], {clip.id}).clip(clip.id)
        voices.append(loaded.pcm[clip.onset : clip.offset])
        sha.update(clip.pcm_sha256.encode())
    return voices, sha.hexdigest()


def with_channel(meta: SessionMeta, channel: Channel, babble_sha256: str | None) -> SessionMeta:
    """The caller's channel among the parameters, and as a label beside every number unless it is clean."""
    parameters = {**meta.parameters, "channel": str(channel.spec)}
    if babble_sha256 is not None:
        parameters["babble_sha256"] = babble_sha256
    labels = meta.labels if channel.spec.clean else (*meta.labels, f"channel {channel.spec}")
    return meta.model_copy(update={"parameters": parameters, "labels": labels})
