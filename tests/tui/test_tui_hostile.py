"""Hostile text in every pane of every screen: nothing is parsed as markup, nothing reaches the terminal that it would obey."""

import unicodedata
from pathlib import Path

import tui_sample as sample
from tui_fakes import FakeLink, make_app, opened
from tui_hostile import HOSTILE

from apex_tui.score.verdict import Check, FieldVerdict, GateVerdict
from apex_tui.timeline import agent_facts as a
from apex_tui.timeline import caller_facts as c
from apex_tui.timeline import session_facts as s
from apex_tui.timeline import work_facts as w
from apex_tui.timeline.events import AnyFact, Event
from apex_tui.timeline.messages import Opened, Run, Scored
from apex_tui.tui.app import ApexApp
from apex_tui.tui.screen_live import LiveScreen

SHORT = tuple(t[:3000] for t in HOSTILE)


def hostile_events() -> list[Event]:
    """A session in which every text is hostile."""
    facts: list[tuple[float, AnyFact]] = [
        (0, s.SessionStarted(
            session="x", workflow=SHORT[2], workflow_version="1", workflow_digest="0", title=SHORT[0], agent=SHORT[6],
            rehearsal=False, seed=1, profile="strict", caller="bank", clock_basis="playout", virtual=False)),
        (1, a.AgentConnected(family=SHORT[0], url=SHORT[3], instructions_sha256="0", tools_sha256="0")),
    ]  # fmt: skip
    for n, text in enumerate(HOSTILE):
        ms = 100.0 * (n + 1)
        key = text[:200]
        facts += [
            (ms, c.CallerTurnStarted(turn=n, plan=text, act="ANSWER", text=text, values={key: text}, facts=(text,),
                                     onset_ms=ms, ends_ms=ms + 50, value_end_ms=ms + 50)),
            (ms, c.CallerTurnEnded(turn=n, offset_ms=ms + 50)),
            (ms, c.CallerWaits(why="gap", next_plan=text)),
            (ms, a.ReplyStarted(reply=f"r{key}")),
            (ms, a.AgentSpeechStarted(reply=f"r{key}", onset_ms=ms)),
            (ms, a.AgentSaid(reply=f"r{key}", item="i", text=text, final=True)),
            (ms, a.AgentHeardCaller(item=f"h{n}", text=text + "!", final=True)),
            (ms, a.AgentActed(key=text, source="pattern", reply=f"r{key}", evidence=text)),
            (ms, a.AgentError(kind=key, message=text)),
            (ms, w.ToolCalled(call=f"c{n}", name=text, arguments={key: text, "deep": [[text]]}, reply=None, error=text)),
            (ms, w.ArtifactVersion(artifact="f", version=n + 1, digest="0", author="agent", call=f"c{n}", lifecycle="DRAFT",
                                   fields={key or "k": text, "list": [text]}, stale={key or "k": text},
                                   changes=(w.FieldChange(field=key or "k", old=text, new=text, kind="changed"),))),
            (ms, w.ApprovalRequested(request=f"q{n}", action=text, target=text, artifact="f", version=n + 1, digest="0")),
            (ms, w.ApprovalGranted(approval=f"a{n}", request=f"q{n}", action=text, target=text, artifact="f",
                                   version=n + 1, digest="0", granted_ms=ms, flags=(text,))),
            (ms, w.ApprovalStale(approval=f"a{n}", covers=n + 1, now=n + 2, differs=(key or "k",))),
            (ms, w.CommitDecided(call=f"c{n}", action=text, target=text, decision="PREMATURE", at="call", why=text)),
            (ms, s.SessionWarning(code=key, message=text)),
            (ms, s.OperatorMarked(note=text)),
            (ms, c.EventFired(event=text, kind=text)),
        ]  # fmt: skip
    return sample.to_events(facts)


def assert_clean(app: ApexApp) -> None:
    """The screen has its size and holds nothing that a terminal obeys."""
    strips = app.screen._compositor.render_strips()
    for strip in strips:
        assert strip.cell_length == app.size.width
        for char in strip.text:
            assert unicodedata.category(char) not in ("Cc", "Cf", "Cs"), repr(strip.text)


async def test_every_pane_of_a_live_run() -> None:
    link = FakeLink([Opened(session=SHORT[1], folder=SHORT[2], sound=SHORT[5]), *hostile_events()])
    app = make_app(Run(workflow="x"), link=link)
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.pause(0.15)
        for key in "23456":
            await pilot.press(key, "home")
            assert_clean(app)
        await pilot.resize_terminal(80, 24)
        for key in "123456":
            await pilot.press(key, "home")
            assert_clean(app)
        screen = app.screen
        assert isinstance(screen, LiveScreen)
        for text in HOSTILE:
            screen.say(text)
            told = screen.banner.lines[0] if screen.banner.lines else None
            assert told is None or not [c for c in told.plain if unicodedata.category(c) in ("Cc", "Cf", "Cs")]


async def test_the_scorecard() -> None:
    gates = tuple(
        GateVerdict(gate=g, passed=False, reason=SHORT[n], checks=(Check(id=SHORT[n + 4], passed=False, reason=SHORT[n + 5]),))
        for n, g in enumerate(("TS", "PV", "AC", "AV"))
    )  # fmt: skip
    fields = tuple(
        FieldVerdict(artifact="f", field=t, expected=t, found=[t], passed=False, stale=True, required=True, corrected=True,
                     reason=t)
        for t in SHORT if "\ud800" not in t
    )  # fmt: skip
    verdict = sample.score(False).model_copy(
        update={"gates": gates, "fields": fields, "workflow": SHORT[2], "session": SHORT[6], "rehearsal": False, "agent": SHORT[3]}
    )  # fmt: skip
    record = Scored(folder="/x", score=verdict.model_dump())
    app = make_app(Run(workflow="x"), link=FakeLink([*opened(sample.session()), record], ended=True))
    async with app.run_test(size=(80, 24)) as pilot:
        for _ in range(4):
            await pilot.pause(0.06)
        assert "FAILED" in app.screen._compositor.render_strips()[0].text
        for _ in range(5):
            assert_clean(app)
            await pilot.press("pagedown")


def test_no_widget_is_given_an_f_string() -> None:
    """Markup is parsed in titles, labels and options: they are given `Content`, never a bare f-string."""
    sources = [*Path("apex_tui/tui").glob("*.py"), *Path("apex_tui/tui/widgets").glob("*.py")]
    assert len(sources) > 20
    for path in sources:
        text = path.read_text(encoding="utf-8")
        for pattern in (
            "Static(",
            "Label(",
            "notify(",
            "from_markup",
            "border_title = f",
            'border_title = "',
            "Option(f",
        ):
            assert pattern not in text, f"{path}: {pattern}"
