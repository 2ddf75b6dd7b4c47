"""What lies between the caller and the agent: people talking in the background, a telephone line, a network that loses packets.

A channel is written ``clean``, or as parts joined by ``+``:

    telephone                       300-3400 Hz, 8 kHz mu-law and back
    babble:snr=10                   six talkers, ``snr`` dB below the caller's active speech
    loss:rate=0.03,burst=3          share of lost 20 ms packets, mean run of lost ones
    loss:...,conceal=repeat         the last packet again instead of silence

Sound passes them in the order of nature whatever the order of writing: room, line, network. The caller's edges come from the manifest and are
not moved; the channel adds no delay (see ``telephone``). Same seed and same caller frames: same bytes. Deliberately not in here: which clips
the babble is made from, and the agent's lane, which stays clean.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from apex_tui.audio.babble import babble
from apex_tui.audio.frames import FRAME_SAMPLES, Pcm, pcm_bytes
from apex_tui.audio.loss import Conceal, PacketLoss
from apex_tui.audio.telephone import Telephone
from apex_tui.timeline.errors import UserError
from apex_tui.workflow.determinism import seeded_rng

CLEAN = "clean"
MAX_SPEC = 200
_HINT = "write clean, telephone, babble:snr=10, loss:rate=0.03,burst=3 or several joined by +"


@dataclass(frozen=True, slots=True)
class Loss:
    """Share of lost packets, mean burst in packets, and what stands for a lost one."""

    rate: float = 0.03
    burst: float = 3.0
    conceal: Conceal = "silence"


@dataclass(frozen=True, slots=True)
class ChannelSpec:
    """A channel; ``str`` gives its one canonical spelling. ``babble_snr_db``: dB of the caller's active speech over the babble."""

    babble_snr_db: float | None = None
    telephone: bool = False
    loss: Loss | None = None

    @property
    def clean(self) -> bool:
        """Whether the agent gets the caller's samples as they are."""
        return self == ChannelSpec()

    def __str__(self) -> str:
        parts = []
        if self.babble_snr_db is not None:
            parts.append(f"babble:snr={self.babble_snr_db:g}")
        if self.telephone:
            parts.append("telephone")
        if self.loss is not None:
            conceal = "" if self.loss.conceal == "silence" else f",conceal={self.loss.conceal}"
            parts.append(f"loss:rate={self.loss.rate:g},burst={self.loss.burst:g}{conceal}")
        return "+".join(parts) or CLEAN


def parse_channel(text: str) -> ChannelSpec:
    """Read a channel.

    Raises:
        UserError: a part or a key that does not exist, or a value that it cannot have.
    """
    parts = [part.strip() for part in text.strip().split("+")]
    if len(text) > MAX_SPEC:
        raise UserError(f"--channel: longer than {MAX_SPEC} characters; {_HINT}.")
    if parts == [CLEAN]:
        return ChannelSpec()
    found: dict[str, dict[str, str]] = {}
    for part in parts:
        name, _, rest = part.partition(":")
        if name == CLEAN:
            raise UserError(f"--channel: {CLEAN} stands alone: leave it out, or the other parts.")
        if name not in ("babble", "telephone", "loss"):
            raise UserError(f"--channel: there is no channel {name!r}; {_HINT}.")
        if name in found:
            raise UserError(f"--channel: {name} stands twice; name it once.")
        found[name] = _options(name, rest)
    snr = _number("babble", found["babble"], "snr", 10.0, -10.0, 60.0) if "babble" in found else None
    loss = _loss(found["loss"]) if "loss" in found else None
    return ChannelSpec(snr, "telephone" in found, loss)


_KEYS = {"babble": ("snr",), "telephone": (), "loss": ("rate", "burst", "conceal")}


def _options(name: str, rest: str) -> dict[str, str]:
    given: dict[str, str] = {}
    for option in filter(None, (piece.strip() for piece in rest.split(","))):
        key, _, value = option.partition("=")
        known = _KEYS[name]
        if key not in known:
            takes = f"it takes {', '.join(known)}" if known else "it takes none"
            raise UserError(f"--channel: {name} has no option {key!r}; {takes}.")
        if key in given:
            raise UserError(f"--channel: {name} has {key} twice; give it once.")
        given[key] = value.strip()
    return given


def _number(part: str, given: dict[str, str], key: str, default: float, low: float, high: float) -> float:
    text = given.get(key)
    if text is None:
        return default
    value = float(text) if re.fullmatch(r"-?[0-9]+(?:\.[0-9]+)?", text) else None
    if value is None or not low <= value <= high:
        raise UserError(f"--channel: {part} {key}={text!r} must be a number from {low:g} to {high:g}.")
    return value


def _loss(given: dict[str, str]) -> Loss:
    conceal = given.get("conceal", "silence")
    for known in get_args(Conceal):
        if conceal == known:
            rate = _number("loss", given, "rate", 0.03, 0.001, 0.5)
            return Loss(rate, _number("loss", given, "burst", 3.0, 1.0, 50.0), known)
    raise UserError(f"--channel: loss conceal={conceal!r} must be {' or '.join(get_args(Conceal))}.")


class Channel:
    """The channel of one session. ``send`` takes the caller's frames in order.

    Args:
        spec: what lies in between.
        seed: whatever the session's randomness hangs on (workflow, seed ...).
        voices: clips for the babble; needed only with babble.
        speech_db: active level of the caller's clean speech (dBFS), to which the SNR refers.

    Raises ``ValueError`` for babble without clips.
    """

    def __init__(
        self, spec: ChannelSpec, seed: tuple[object, ...], voices: Sequence[Pcm] = (), speech_db: float = -23.0
    ) -> None:
        self.spec = spec
        self._sha = hashlib.sha256()
        self._frame = 0
        self._babble: NDArray[np.int32] | None = None
        if spec.babble_snr_db is not None:
            self._babble = babble(voices, speech_db - spec.babble_snr_db, seeded_rng(*seed, "channel", "babble"))
        self._telephone = Telephone() if spec.telephone else None
        loss = spec.loss
        self._loss = (
            PacketLoss(loss.rate, loss.burst, loss.conceal, seeded_rng(*seed, "channel", "loss")) if loss else None
        )

    def send(self, frame: Pcm) -> Pcm:
        """The frame as the agent gets it. Raises ``ValueError`` when it has not 480 samples."""
        if len(frame) != FRAME_SAMPLES:
            raise ValueError(f"a channel takes frames of {FRAME_SAMPLES} samples, not {len(frame)}")
        self._sha.update(pcm_bytes(frame))
        if self._babble is not None:
            mixed = frame + self._babble[self._frame % len(self._babble)]
            frame = np.minimum(np.maximum(mixed, -32_768), 32_767).astype(np.int16)
        self._frame += 1
        if self._telephone is not None:
            frame = self._telephone.send(frame)
        return frame if self._loss is None else self._loss.send(frame)

    @property
    def clean_sha256(self) -> str:
        """SHA-256 of the caller's lane before the channel, so far."""
        return self._sha.hexdigest()

    @property
    def lost_packets(self) -> int | None:
        """How many packets the network lost so far; None when it loses none."""
        return None if self._loss is None else self._loss.lost
