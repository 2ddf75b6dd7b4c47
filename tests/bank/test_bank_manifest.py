import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from apex_tui.bank.manifest import Clip, ClipSpec, Manifest, load_manifest, text_digest, write_manifest
from apex_tui.timeline.errors import BankError

CLIP: dict[str, Any] = {
    "id": "ans.v1",
    "role": "caller",
    "text": "five <pause 1.0s> six",
    "voice": "am_michael",
    "plan": "ans",
    "variant": "v1",
    "facts": ["amount"],
    "hold": [],
    "value_end_part": None,
    "file": "ans.v1.opus",
    "samples": 48_000,
    "onset": 700,
    "offset": 46_000,
    "pauses": [[10_000, 34_000]],
    "value_end": 46_000,
    "file_sha256": "a" * 64,
    "pcm_sha256": "b" * 64,
    "engine": "kokoro-82m-int8",
    "engine_sha256": "c" * 64,
    "level_db": -23.0,
}
MANIFEST: dict[str, Any] = {
    "schema_version": 1,
    "workflow": "toy",
    "revision": 1,
    "encoder": "opusenc",
    "sources": [{"name": "Kokoro", "version": "1", "sha256": None, "licence": "Apache-2.0"}],
    "clips": [CLIP],
}


def fault(tmp_path: Path, content: Any) -> str:
    path = tmp_path / "toy" / "manifest.json"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    with pytest.raises(BankError) as caught:
        load_manifest(path)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert str(path) in sentence
    assert sentence.endswith("`apex-tui bank render toy`.")
    return sentence


def test_a_manifest_survives_writing_and_reading(tmp_path: Path) -> None:
    manifest = Manifest.model_validate_json(json.dumps(MANIFEST))
    path = tmp_path / "manifest.json"
    write_manifest(path, manifest)
    first = path.read_bytes()
    assert load_manifest(path) == manifest
    write_manifest(path, load_manifest(path))
    assert path.read_bytes() == first
    assert [p.name for p in tmp_path.iterdir()] == ["manifest.json"]


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"[" * 100_000, b"[1]", b'"x"', b'{"schema_version": true}'])
def test_what_is_no_manifest_is_told(tmp_path: Path, content: bytes) -> None:
    assert "not a JSON object with a whole number as schema_version" in fault(tmp_path, content)


def test_a_newer_manifest_is_refused(tmp_path: Path) -> None:
    assert "written by a newer version (schema 2)" in fault(tmp_path, {**MANIFEST, "schema_version": 2})


@pytest.mark.parametrize(
    ("update", "field"),
    [
        ({"extra": 1}, "clips.0.extra"),
        ({"file": "../ans.v1.opus"}, "clips.0.file"),
        ({"file": "/etc/passwd.opus"}, "clips.0.file"),
        ({"file": "folder/ans.opus"}, "clips.0.file"),
        ({"pcm_sha256": "A" * 64}, "clips.0.pcm_sha256"),
        ({"samples": "48000"}, "clips.0.samples"),
        ({"samples": 24_000 * 601}, "clips.0.samples"),
        ({"onset": 46_000}, "out of order"),
        ({"offset": 48_001, "value_end": 48_001}, "out of order"),
        ({"value_end": 47_000}, "value_end lies outside"),
        ({"pauses": [[10_000, 47_000]]}, "pauses are out of order"),
        ({"pauses": [[34_000, 10_000]]}, "pauses are out of order"),
        ({"pauses": []}, "pauses are not those of the text"),
        ({"value_end_part": 2}, "value_end_part is 2"),
        ({"text": "five <pose>"}, "unknown mark"),
        ({"id": "Ans V1"}, "clips.0.id"),
    ],
)
def test_a_faulty_clip_is_named(tmp_path: Path, update: dict[str, Any], field: str) -> None:
    assert field in fault(tmp_path, {**MANIFEST, "clips": [{**CLIP, **update}]})


def test_ids_and_files_are_unique(tmp_path: Path) -> None:
    assert "id 'ans.v1' occurs twice" in fault(tmp_path, {**MANIFEST, "clips": [CLIP, CLIP]})
    twin = {**CLIP, "id": "ans.v2"}
    assert "file 'ans.v1.opus' occurs twice" in fault(tmp_path, {**MANIFEST, "clips": [CLIP, twin]})


def test_the_digest_follows_text_and_voice_only() -> None:
    clip = Clip.model_validate_json(json.dumps(CLIP))
    spec = ClipSpec(id="ans.v1", role="caller", text=CLIP["text"], voice="am_michael")
    assert text_digest(spec) == text_digest(clip)
    for update in ({"text": "five"}, {"voice": "bf_emma"}, {"value_end_part": 0}):
        assert text_digest(spec.model_copy(update=update)) != text_digest(spec)


def test_a_spec_is_strict() -> None:
    with pytest.raises(ValidationError):
        ClipSpec.model_validate({"id": "a", "role": "caller", "text": "x", "voice": "am_michael", "mood": "calm"})
