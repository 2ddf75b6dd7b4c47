"""``agents list`` and ``agents check``: what they say about agents that work, and about those that do not."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from http_peer import Answer, HttpPeer, Request, chat_calls, chat_words
from live_kit import SECOND, agent_of
from peers.gptlive_peer import GptLivePeer
from peers.model_peer import ModelPeer
from text_kit import made

from apex_tui.agents.check import Report, check_agent
from apex_tui.agents.turns import TurnDetector, TurnEnded
from apex_tui.audio.frames import pcm_from_bytes
from apex_tui.cli.main import main
from apex_tui.timeline.virtual import run_virtual

KEY = "sk-canary-0123456789"


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("OPENAI_API_KEY", "XAI_API_KEY", "STEPFUN_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)


def test_the_list_tells_keys_families_and_the_users_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XAI_API_KEY", KEY)
    (tmp_path / "a.toml").write_text('[office]\nextends = "xai"\nkey = "OFFICE_KEY"\n')
    main(["agents", "list", "--json", "--profile-file", "a.toml"])
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["xai"]["keys"] == {"XAI_API_KEY": True}
    assert rows["office"]["keys"] == {"OFFICE_KEY": False}
    assert rows["office"]["family"] == "openai-realtime"
    assert rows["office"]["source"].endswith("a.toml")
    assert rows["rehearsal"]["key_present"] is None
    assert [name for name, row in rows.items() if not row["key_required"]] == ["rehearsal", "realtime"]
    main(["agents", "list"])
    shown = capsys.readouterr().out
    assert "XAI_API_KEY found" in shown
    assert "STEPFUN_API_KEY missing" in shown
    assert "OPENAI_API_KEY optional" in next(line for line in shown.splitlines() if line.startswith("realtime "))
    assert "slow-to-yield" in shown
    assert "forgets-correction       goes on as if nothing had been corrected" in shown
    assert KEY not in shown


@pytest.mark.realtime
async def test_a_text_agent_that_works_and_one_that_calls_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    answers = [chat_words("Hello!"), chat_calls(("c1", "note_number", '{"number": 7}')), chat_words("Noted.")]

    def script(request: Request) -> Answer:
        return Answer(answers.pop(0))

    peer = HttpPeer(script)
    async with peer.running():
        report = await check_agent(made("chat", peer.url))
    assert report.ok
    assert report.answer == "Hello!"
    assert report.tool_arguments == {"number": 7}
    assert report.usage == {"agent": {"input_tokens": 21, "output_tokens": 9, "total_tokens": 30}}
    assert report.first_audio_ms is None
    assert None not in (
        report.open_ms,
        report.first_words_ms,
        report.reply_ms,
        report.tool_call_ms,
        report.after_tool_ms,
    )
    answers = [chat_words("Hello!"), chat_words("Seven is a fine number.")]
    async with peer.running():
        report = await check_agent(made("chat", peer.url), turn_s=0.3)
    assert report.problems == ["it did not call the tool within 0.3 s; it said: Seven is a fine number."]


class Live(GptLivePeer):
    """Hears turns, asks for the number, notes it through its delegate, and says so."""

    def __init__(self) -> None:
        super().__init__()
        self._ears, self._turn = TurnDetector(), 0

    def take(self, message: dict[str, Any]) -> None:
        before = len(self.heard)
        super().take(message)
        for turn in self._ears.feed(pcm_from_bytes(bytes(self.heard[before:]))):
            if isinstance(turn, TurnEnded):
                self._turn += 1
                if self._turn == 1:
                    self.say("Which employee number?", SECOND)
                else:
                    self.delegate(("c1", "note_number", '{"number": "E2047"}'))
        if message["type"] == "response.create":
            self.say("It is noted.", SECOND)


def test_an_agent_that_takes_no_writing_is_spoken_to() -> None:
    peer = Live()
    report = run_virtual(check_agent(agent_of(peer)))
    assert report.problems == []
    assert report.turns == "spoken"
    assert report.answer == "Which employee number?"
    assert report.tool_arguments == {"number": "E2047"}
    assert peer.answers == {"c1": '{"ok": true}'}
    assert (report.capabilities["in_rate"], report.capabilities["max_session_s"]) == (24_000, 7200.0)
    assert None not in (report.first_audio_ms, report.reply_ms, report.tool_call_ms, report.after_tool_ms)
    assert peer.faults == []


def test_an_agent_without_ears_cannot_be_spoken_to(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["agents", "check", "chat", "--spoken", "--url", "http://127.0.0.1:9/v1"]) == 2
    assert "has no ears" in capsys.readouterr().err


def test_any_agent_with_ears_can_be_spoken_to() -> None:
    peer = ModelPeer("chat", cascade=True)
    peer.transcripts = ["I'd like some leave.", "E two zero four seven."]
    peer.answer("Which employee number?")
    peer.answer(calls=(("c1", "note_number", '{"number": "E2047"}'),))
    peer.answer("It is noted, thank you.")
    peer.voice = [[SECOND], [SECOND]]
    report = run_virtual(check_agent(agent_of(peer), spoken=True))
    assert report.problems == []
    assert report.tool_arguments == {"number": "E2047"}
    assert len(peer.heard) > 48_000 * 4, "both turns were heard"


@pytest.mark.realtime
def test_a_rehearsal_agent_is_checked_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["agents", "check", "rehearsal", "--json"]) == 0
    report: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert report["ok"] is True
    assert report["answer"] == "Hello, I can hear you."
    assert report["tool_arguments"] == {"number": 7}
    assert report["accepted"]["turn_detection"]["type"] == "server_vad"
    assert report["accepted"]["input_format"] == {"type": "audio/pcm", "rate": 24000}
    assert report["first_audio_ms"] > 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nobody"], "There is no agent 'nobody'; there are: rehearsal, openai"),
        (["xia"], "did you mean xai?"),
        (["openai"], "needs a key: set OPENAI_API_KEY"),
        (["realtime"], "needs an address: give one such as --url ws://"),
        (["realtime", "--url", "ws://127.0.0.1:9/x"], "Nothing listens at ws://127.0.0.1:9/x"),
        (["chat", "--url", "ws://x"], "--url ws://x: give an address such as http://"),
        (["realtime", "--url", "localhost:8765/v1"], "--url localhost:8765/v1: give a websocket address such as ws://"),
        (["realtime", "--url", "me:pw@127.0.0.1:8765"], "--url 127.0.0.1:8765: give a websocket address such as"),
        (["chat", "--url", "http://127.0.0.1:9/v1"], "nothing listens at http://127.0.0.1:9/v1"),
    ],
)
def test_what_cannot_be_checked_is_one_sentence(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["agents", "check", *arguments]) == 2
    captured = capsys.readouterr()
    assert sentence in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def test_what_a_server_says_is_no_line_of_ours(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    report = run_virtual(check_agent(agent_of(Live())))
    forged = dataclasses.replace(report, answer="Hi.\nresult           it works", problems=["it\x1b[2J failed"])

    async def answered(*_: object, **__: object) -> Report:
        return forged

    monkeypatch.setattr("apex_tui.agents.check.check_agent", answered)
    assert main(["agents", "check", "rehearsal"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith("result")] == ["result           it does not work"]
    assert "answer           Hi. result           it works" in lines
    assert "\x1b" not in "".join(lines)
