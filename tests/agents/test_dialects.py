from __future__ import annotations

from pathlib import Path

import pytest

from apex_tui.agents.dialects import load_profiles
from apex_tui.agents.dialects.loader import SHIPPED
from apex_tui.agents.realtime.profile import OPENAI, Profile
from apex_tui.timeline.errors import UserError


@pytest.fixture(autouse=True)
def _no_user_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def written(tmp_path: Path, content: str) -> Path:
    path = tmp_path / "agents.toml"
    path.write_text(content, encoding="utf-8")
    return path


def profile(name: str, user_file: Path | None = None) -> Profile:
    found = load_profiles(user_file)[name].profile
    assert isinstance(found, Profile)
    return found


def test_all_shipped_dialects_load() -> None:
    names = list(load_profiles())
    assert {"openai", "xai", "stepfun", "realtime", "chat", "responses", "cascade"} <= set(names)
    assert len(SHIPPED) == len(names)


def test_the_openai_file_states_the_defaults_of_the_protocol() -> None:
    shipped = profile("openai")
    assert shipped == OPENAI.__class__(about=shipped.about)


def test_what_the_dialects_differ_in() -> None:
    xai, stepfun = profile("xai"), profile("stepfun")
    assert (xai.session_shape, stepfun.session_shape) == ("xai", "beta")
    assert (xai.tool_shape, stepfun.tool_shape) == ("flat", "nested")
    assert (xai.ready_after_timeout, xai.user_transcript) == (True, "cumulative")
    assert stepfun.max_session_s == 1800
    assert stepfun.voice is None, "an empty text leaves a field out"
    assert profile("realtime").url == ""
    assert not xai.capabilities().truncate


def test_a_user_changes_single_keys_and_adds_agents(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        '[stepfun]\ntool_shape = "flat"\n[mine]\nextends = "realtime"\nurl = "ws://127.0.0.1:9/r"\nkey = "MY_KEY"\nin_rate = 16000\n',
    )
    assert profile("stepfun", path).tool_shape == "flat"
    assert profile("stepfun", path).session_shape == "beta"
    mine = profile("mine", path)
    assert (mine.url, mine.key, mine.in_rate, mine.tools_echo) == ("ws://127.0.0.1:9/r", "MY_KEY", 16_000, "if_present")
    assert load_profiles(path)["mine"].source == str(path)


def test_the_default_place_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "config" / "apex-tui"
    folder.mkdir(parents=True)
    (folder / "agents.toml").write_text('[xai]\nvoice = "rex"\n')
    assert profile("xai").voice == "rex"


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ('[openai]\ntool_shap = "flat"\n', r"\[openai\] has an unknown key 'tool_shap'; did you mean tool_shape\?"),
        (
            '[openai]\nzzzz = "flat"\n',
            r"unknown key 'zzzz'; known are about, agent_text|unknown key 'zzzz'; known are about",
        ),
        ('[openai]\ntool_shape = "deep"\n', r"\[openai\] tool_shape = 'deep': input should be 'flat' or 'nested'"),
        ("[openai]\nin_rate = 1\n", r"\[openai\] in_rate = 1: input should be 8000"),
        ('[mine]\nurl = "ws://x"\n', r'\[mine\] is a new agent; say what it starts from with extends = "..."'),
        ('[mine]\nextends = "nobody"\n', r"\[mine\] extends 'nobody', which does not exist; there are: openai"),
        ('[mine]\nextends = "chat"\nfamily = "cascade"\n', "cannot change its family"),
        ('url = "ws://x"\n', "url stands outside of a table"),
        ("[rehearsal]\nx = 1\n", "choose another name"),
        ('["../x"]\nextends = "chat"\n', "is no name"),
        ("[openai\n", "is not TOML"),
    ],
)
def test_whatever_is_wrong_is_one_sentence(tmp_path: Path, content: str, sentence: str) -> None:
    path = written(tmp_path, content)
    with pytest.raises(UserError, match=sentence) as caught:
        load_profiles(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_named_with_its_option(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"nothing\.toml cannot be read .*--profile-file"):
        load_profiles(tmp_path / "nothing.toml")
