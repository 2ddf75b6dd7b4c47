import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from store_sessions import meta

from apex_tui.store import layout, roots
from apex_tui.store.layout import SessionFolder, create, session_name, sessions_root, slug
from apex_tui.store.meta import SessionMeta, labels_of, mask_addresses, mask_url
from apex_tui.timeline.base import SCHEMA_VERSION
from apex_tui.timeline.errors import RecordingError


def test_a_name_says_when_what_who_and_the_seed() -> None:
    name = session_name("2030-02-03T05:05:06+01:00", "Refund_Claim v2", "openai:gpt/x", 7)
    assert name == "20300203T040506Z-refund_claim-v2-openai-gpt-x-7"
    assert session_name("2030-02-03T04:05:06", "w", "a", 1) == "20300203T040506Z-w-a-1"


@settings(max_examples=50, deadline=None)
@given(text=st.text(max_size=80))
def test_a_slug_is_a_safe_part_of_a_path(text: str) -> None:
    part = slug(text)
    assert 1 <= len(part) <= 60
    assert set(part) <= set("abcdefghijklmnopqrstuvwxyz0123456789_-")
    assert not part.startswith("-")
    assert slug(part) == part
    assert len(slug("é1" * 200)) <= 60


def test_a_folder_is_private_and_a_taken_name_gets_a_number(tmp_path: Path) -> None:
    parent = tmp_path / "new" / "sessions"
    names = [create(parent, "one").name for _ in range(3)]
    assert names == ["one", "one-2", "one-3"]
    assert all((parent / name).stat().st_mode & 0o777 == 0o700 for name in names)


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/etc"])
def test_a_name_cannot_leave_its_parent(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="cannot be the name"):
        create(tmp_path, name)


def test_a_parent_that_is_a_file_is_refused_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RecordingError, match="no session can be kept in"):
        create(tmp_path / "file", "one")


def test_the_root_of_sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(layout.ROOT_VARIABLE, str(tmp_path))
    assert sessions_root() == tmp_path
    monkeypatch.delenv(layout.ROOT_VARIABLE)
    # A checkout has a project file and a bank beside the package; an installed package has neither.
    monkeypatch.setattr(roots, "_PACKAGE", tmp_path / "apex_tui")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    installed = sessions_root()
    assert installed.name == "sessions"
    assert installed.parent.name == "apex-tui"
    assert layout.examples_root() == tmp_path / "apex_tui" / "_data" / "examples"
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "speech_bank").mkdir()
    assert sessions_root() == tmp_path / "sessions"
    assert layout.examples_root() == tmp_path / "sessions" / "examples"


def test_every_file_names_its_format(tmp_path: Path) -> None:
    folder = create(tmp_path, "one")
    folder.write_meta(meta())
    folder.write_workflow({"id": "toy"})
    folder.write_score({"success": True})
    folder.write_artifact("claim", 3, {"fields": {"amount": "12 €", "odd": "\ud800"}})
    for path in (folder.meta, folder.workflow, folder.score, folder.artifacts / "claim-v3.json"):
        assert json.loads(path.read_text())["schema_version"] == SCHEMA_VERSION
    assert json.loads((folder.artifacts / "claim-v3.json").read_text())["fields"]["odd"] == "\ud800"
    assert not list(folder.path.rglob("*.new")), "drafts do not stay"


def test_artifacts_of_any_name_stay_inside_and_apart(tmp_path: Path) -> None:
    folder = SessionFolder(tmp_path)
    paths = {folder.artifact_path(name, 1) for name in ("claim", "Claim", "../claim", "cl/aim")}
    assert len(paths) == 4
    assert {path.parent for path in paths} == {folder.artifacts}


def test_a_file_that_cannot_be_replaced_stays_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = create(tmp_path, "one")
    folder.write_meta(meta())
    before = folder.meta.read_bytes()

    def no_space(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", no_space)
    folder.write_artifact("claim", 1, {})  # never waits for the disk: frames are being paced
    with pytest.raises(RecordingError, match=r"session\.json cannot be written: No space left on device"):
        folder.write_meta(meta(outcome="completed"))
    assert folder.meta.read_bytes() == before
    assert [path.name for path in folder.path.iterdir() if path.is_file()] == ["session.json"]


def test_the_recording_may_be_compressed(tmp_path: Path) -> None:
    folder = SessionFolder(tmp_path)
    assert folder.find_audio() is None
    (tmp_path / "audio.ogg").write_bytes(b"")
    assert folder.find_audio() == tmp_path / "audio.ogg"
    folder.audio.write_bytes(b"")
    assert folder.find_audio() == folder.audio


@pytest.mark.parametrize(
    ("url", "masked"),
    [
        (None, None),
        ("wss://api.example.com/v1/realtime?model=x", "wss://api.example.com/v1/realtime?model=***"),
        ("ws://me:secret@host:8000/p?key=abc&flag#frag", "ws://host:8000/p?key=***&***"),
        ("ws://[bad", "***"),
    ],
)
def test_an_agents_address_is_masked(url: str | None, masked: str | None) -> None:
    assert mask_url(url) == masked
    assert mask_url(masked) == masked
    assert meta(agent_url=url).agent_url == masked


def test_an_address_in_a_sentence_is_masked_and_the_sentence_stays() -> None:
    told = {
        "last": ["wss://u:p@a.example/x?key=abc refused it (#42); is it a server? see http://b:c@d.example/y"],
        "n": 1,
    }
    assert mask_addresses(told) == {
        "last": ["wss://a.example/x?key=*** refused it (#42); is it a server? see http://d.example/y"], "n": 1
    }  # fmt: skip


def test_labels_follow_from_the_run() -> None:
    assert labels_of(True) == ("rehearsal (scripted)",)
    assert labels_of(False, True, "operator") == ("timing degraded", "ended by the operator")
    assert labels_of(False, False, "completed") == ()


def test_an_unknown_key_of_the_same_format_is_passed_over() -> None:
    again = SessionMeta.model_validate({**meta().model_dump(mode="json"), "later": 1})
    assert again == meta()
