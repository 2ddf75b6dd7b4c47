"""The speech engines of the bank: Kokoro-82M (int8) for callers, hibari's ``heart`` for the rehearsal agent.

Both run offline on one CPU core and give the same bytes for the same text every time. Everything heavy is imported inside
functions: only rendering needs the extra ``render``. Fetching the weights is ``fetch``'s matter.
"""

from __future__ import annotations

import hashlib
import json
import threading
from pathlib import Path
from typing import Any

import numpy as np

from apex_tui.audio.frames import Pcm
from apex_tui.bank.fetch import KOKORO_SHA256, VOICE_SHA256, ensure_kokoro
from apex_tui.bank.manifest import Engine, Source
from apex_tui.timeline.errors import UserError

HIBARI_VOICE = "heart"
HIBARI_VERSION = "0.2.1"
"""Also the phonemiser of Kokoro; another version may pronounce differently."""
HIBARI_SHA256 = "5f70741d4e900f4e85d0037498736cc1b3e1b9a63a13546a5da1e63abf4fccd8"
HIBARI_SEED = 1
"""Fixes hibari's noise component; without a seed no two renderings are equal."""
MAX_PHONEMES = 500
"""Kokoro's style table has 510 rows, one per length."""


def voice_names() -> tuple[str, ...]:
    """Every voice that can be rendered."""
    return (*sorted(VOICE_SHA256), HIBARI_VOICE)


def engine_of(voice: str) -> tuple[Engine, str]:
    """Engine and its identity: SHA-256 over weights, voice file and phonemiser. UserError for an unknown voice."""
    if voice == HIBARI_VOICE:
        name: Engine = "hibari-heart"
        identity = (name, HIBARI_SHA256, f"hibari-tts {HIBARI_VERSION}", f"seed {HIBARI_SEED}")
    elif voice in VOICE_SHA256:
        name = "kokoro-82m-int8"
        identity = (name, KOKORO_SHA256, VOICE_SHA256[voice], f"hibari-tts {HIBARI_VERSION}")
    else:
        raise UserError(f"voice {voice!r} is unknown; choose one of {', '.join(voice_names())}.")
    return name, hashlib.sha256("\n".join(identity).encode()).hexdigest()


def sources_of(voices: set[str]) -> tuple[Source, ...]:
    """Provenance of every model and voice file behind these voices, for the manifest."""
    kokoro = sorted(voices - {HIBARI_VOICE})
    found = []
    if kokoro:
        licence = "Apache-2.0 (weights), MIT (ONNX export)"
        found.append(Source(name="Kokoro-82M int8", version="1.0", sha256=KOKORO_SHA256, licence=licence))
        found.append(Source(name="hibari-tts phonemiser", version=HIBARI_VERSION, sha256=None, licence="Apache-2.0"))
    for voice in kokoro:
        digest = VOICE_SHA256[voice]
        found.append(Source(name=f"Kokoro voice {voice}", version="1.0", sha256=digest, licence="Apache-2.0"))
    if HIBARI_VOICE in voices:
        digest = HIBARI_SHA256
        found.append(Source(name="hibari heart", version=HIBARI_VERSION, sha256=digest, licence="Apache-2.0"))
    return tuple(found)


class Voices:
    """Loads each engine at its first use; ``synth`` may be called from several threads."""

    def __init__(self) -> None:
        self._load = threading.Lock()
        self._kokoro: tuple[Any, dict[str, int], Path] | None = None
        self._hibari: Any = None
        self._g2p: dict[bool, Any] = {}
        self._speak_one = threading.Lock()  # the phonemiser keeps caches that are not made for threads

    def synth(self, text: str, voice: str) -> Pcm:
        """Plain words to 24 kHz mono. UserError: unknown voice, missing extra, no network for the weights, text too long."""
        engine_of(voice)
        audio = self._speak_hibari(text) if voice == HIBARI_VOICE else self._speak_kokoro(text, voice)
        pcm: Pcm = np.rint(np.clip(audio, -1.0, 1.0) * 32767.0).astype(np.int16)
        return pcm

    def _speak_hibari(self, text: str) -> Any:
        with self._load:
            if self._hibari is None:
                hibari = _import_hibari()
                engine = hibari.Hibari(voice=HIBARI_VOICE, threads=1)
                if hashlib.sha256(Path(engine.model_path).read_bytes()).hexdigest() != HIBARI_SHA256:
                    raise UserError(f"{engine.model_path}: not the model of hibari-tts {HIBARI_VERSION}; reinstall it.")
                self._hibari = engine
        with self._speak_one:
            return self._hibari(text, seed=HIBARI_SEED)

    def _speak_kokoro(self, text: str, voice: str) -> Any:
        with self._load:
            if self._kokoro is None:
                self._kokoro = _load_kokoro()
            session, vocabulary, folder = self._kokoro
            british = voice.startswith("b")
            if british not in self._g2p:
                from hibari.g2p import G2P

                self._g2p[british] = G2P(british=british)
        with self._speak_one:
            phonemes = self._g2p[british](text)
        ids = [vocabulary[char] for char in phonemes if char in vocabulary]
        if not 0 < len(ids) <= MAX_PHONEMES:
            raise UserError(f"{text[:40]!r} has {len(ids)} phonemes, not 1 to {MAX_PHONEMES}; split the utterance.")
        styles = np.fromfile(folder / f"{voice}.bin", np.float32).reshape(-1, 256)
        inputs = {
            "tokens": np.array([[0, *ids, 0]], np.int64),
            "style": styles[len(ids)][None],
            "speed": np.array([1.0], np.float32),
        }
        return session.run(None, inputs)[0].reshape(-1)


def _import_hibari() -> Any:
    try:
        import hibari
        import onnxruntime  # noqa: F401  # hibari imports it late; a missing one must be told here
    except ImportError as error:
        raise UserError("speech can only be rendered with the extra: pip install 'apex-tui[render]'.") from error
    if hibari.__version__ != HIBARI_VERSION:
        raise UserError(f"hibari-tts is {hibari.__version__}, not {HIBARI_VERSION}: pip install 'apex-tui[render]'.")
    return hibari


def _load_kokoro() -> tuple[Any, dict[str, int], Path]:
    """Session (one thread: the same bytes on any number of cores), phoneme ids, folder of the voice files."""
    hibari = _import_hibari()
    import onnxruntime

    folder = ensure_kokoro()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(folder / "kokoro.onnx"), options, providers=["CPUExecutionProvider"])
    vocabulary = json.loads((Path(hibari.__file__).parent / "assets" / "vocab.json").read_text(encoding="utf-8"))
    return session, vocabulary, folder
