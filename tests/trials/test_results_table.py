"""The table: what counts, how it is averaged and ranked, what is named and left out, and that every form says the same."""

from __future__ import annotations

import csv
import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from campaign_kit import FORGETS, copied, copy_session, recorded
from rich.console import Console

from apex_tui.cli import main
from apex_tui.timeline.errors import UserError
from apex_tui.trials.compare_agents import compare_agents
from apex_tui.trials.html_report import html_report
from apex_tui.trials.results import Contradiction, check_sums, table_of
from apex_tui.trials.results_model import Table
from apex_tui.trials.results_read import read_results
from apex_tui.trials.tables import csv_text, markdown, print_table, rows_of


def fill(root: Path, outcomes: dict[str, dict[str, str]], **more: Any) -> Path:
    """Agent -> workflow -> a letter per session: + succeeded, - failed."""
    for agent, workflows in outcomes.items():
        for workflow, letters in workflows.items():
            for number, letter in enumerate(letters):
                copy_session(
                    root,
                    f"{agent}-{workflow}-{number}",
                    workflow=workflow,
                    agent=agent,
                    success=letter == "+",
                    seed=number,
                    **more,
                )
    return root


def table(root: Path, k: int = 3) -> Table:
    return table_of(read_results([root]), k)


def test_pass_and_reliable_are_averaged_over_workflows(tmp_path: Path) -> None:
    found = table(fill(tmp_path, {"a": {"x": "+++", "y": "++-", "z": "---", "w": "+--"}})).agents[0]
    assert found.pass_1.value == pytest.approx((1 + 2 / 3 + 0 + 1 / 3) / 4)
    assert found.pass_k.value == pytest.approx(3 / 4)
    assert found.reliable_k.value == pytest.approx(1 / 4)
    assert (found.success.hits, found.success.n) == (6, 12)
    assert found.pass_1.low is None


def test_tokens_are_averaged_over_the_sessions_that_state_them(tmp_path: Path) -> None:
    usages: tuple[dict[str, Any], ...] = (
        {
            "agent": {"input_tokens": 700.0, "output_tokens": 200.0, "total_tokens": 900.0},
            "transcript": {"seconds": 3.0},
        },
        {"agent": {"seconds": 60.0}, "delegate": {"input_tokens": 80.0, "output_tokens": 20.0}},
        {"agent": {"seconds": 60.0}},
        {},
    )
    for number, usage in enumerate(usages):
        copy_session(tmp_path, f"s{number}", seed=number, score={"usage": usage})
    found = table(tmp_path)
    assert (found.agents[0].tokens.value, found.agents[0].tokens.n) == (500.0, 2)
    cells = dict(dict(rows_of(found))["effort"])
    assert cells["tokens per session"](found.agents[0]).startswith("500")
    assert ",tokens," in csv_text(found)


def test_ranking_is_by_reliable_at_k_and_not_by_pass_at_k(tmp_path: Path) -> None:
    steady = {"x": "+++", "y": "---", "z": "---"}
    lucky = {"x": "+--", "y": "+--", "z": "+--"}
    agents = table(fill(tmp_path, {"lucky": lucky, "steady": steady})).agents
    assert [(a.label, a.rank) for a in agents] == [("steady", 1), ("lucky", 2)]
    assert agents[1].pass_k.value == 1.0


def test_equal_agents_share_a_rank(tmp_path: Path) -> None:
    agents = table(fill(tmp_path, {"a": {"x": "+++"}, "b": {"x": "+++"}, "c": {"x": "---"}})).agents
    assert [(a.label, a.rank) for a in agents] == [("a", 1), ("b", 1), ("c", 3)]


def test_rehearsals_stand_in_no_ranking_and_last(tmp_path: Path) -> None:
    fill(tmp_path, {"worse": {"x": "---"}})
    fill(tmp_path, {"rehearsal": {"x": "+++"}}, rehearsal=True)
    agents = table(tmp_path).agents
    assert [(a.label, a.rank) for a in agents] == [("worse", 1), ("rehearsal", None)]


def test_workflows_that_not_all_ran_often_enough_are_left_out_and_named(tmp_path: Path) -> None:
    found = table(fill(tmp_path, {"a": {"x": "+++", "y": "+++", "z": "++"}, "b": {"x": "---", "y": "-"}}))
    assert found.too_few == {"y": ("b",), "z": ("a", "b")}
    assert found.uncommon == ("z",)
    a, b = found.agents
    assert (a.reliable_k.value, a.reliable_k.n, a.pass_1.n) == (1.0, 1, 2)
    assert (b.reliable_k.value, b.pass_1.value) == (0.0, 0.0)


def test_invalid_sessions_leave_the_denominator_and_are_counted(tmp_path: Path) -> None:
    fill(tmp_path, {"a": {"x": "++-"}})
    for number, validity in enumerate(("infrastructure", "simulator", "cut_off")):
        copy_session(tmp_path, f"bad-{number}", workflow="x", agent="a", success=False, score={"validity": validity})
    found = table(tmp_path).agents[0]
    assert (found.sessions, found.scored, found.success.n) == (6, 3, 3)
    assert found.invalid == {"cut_off": 1, "infrastructure": 1, "simulator": 1}
    assert found.pass_1.value == pytest.approx(2 / 3)
    assert found.inclusive.value == pytest.approx(2 / 4), (
        "the infrastructure session counts as a failure there, the others do not"
    )


def test_other_conditions_are_other_rows(tmp_path: Path) -> None:
    fill(tmp_path / "clean", {"a": {"x": "+"}})
    fill(tmp_path / "phone", {"a": {"x": "-"}}, meta={"parameters": {"channel": "telephone"}})
    fill(tmp_path / "official", {"a": {"x": "-"}}, score={"environment_profile": "official"})
    fill(tmp_path / "coached", {"a": {"x": "-"}}, meta={"parameters": {"instructions": "coaching"}})
    fill(tmp_path / "button", {"a": {"x": "-"}}, meta={"labels": ["push-to-talk"]})
    fill(tmp_path / "own", {"a": {"x": "-"}}, meta={"labels": ["tools over MCP", "state seen by a probe"]})
    fill(tmp_path / "slow", {"a": {"x": "-"}}, meta={"parameters": {"tool_latency": {"pay": 40000.0}}})
    labels = [a.label for a in table(tmp_path, 1).agents]
    assert len(labels) == 7
    assert any("tool latency pay: 40000.0" in label for label in labels)
    assert any("tools over MCP, state seen by a probe" in label for label in labels)
    assert any("coaching instructions" in label for label in labels)
    assert any("push-to-talk" in label for label in labels)
    assert any("channel telephone" in label for label in labels)
    assert any("environment official" in label for label in labels)


def test_slices_sum_to_the_totals_and_small_ones_are_hatched(tmp_path: Path) -> None:
    for number in range(6):
        risk = {"risk_tier": "R0_ROUTINE" if number else "R2_CONSEQUENTIAL_ACTION"}
        fill(tmp_path, {"a": {f"w{number}": "+-"}}, labels=risk)
    found = table(tmp_path)
    risks = {s.label: s.cuts["a"] for s in found.slices if s.axis == "risk"}
    assert {label: (c.workflows, c.sessions, c.successes, c.hatched) for label, c in risks.items()} == {
        "R0_ROUTINE": (5, 10, 5, False),
        "R2_CONSEQUENTIAL_ACTION": (1, 2, 1, True),
    }
    assert sum(c.afa_n for c in risks.values()) == found.agents[0].afa.n
    axes = {s.axis for s in found.slices}
    assert axes >= {"archetype", "industry", "approval", "artifact", "autonomy", "knowledge burden", "tool burden", "caller profile",
                    "difficulty", "risk", "delegation", "duplex phenomena", "temporal dynamics"}  # fmt: skip


def test_a_table_whose_slices_do_not_sum_is_refused(tmp_path: Path) -> None:
    found = table(fill(tmp_path, {"a": {"x": "+-"}}))
    part = next(s for s in found.slices if s.axis == "risk")
    wrong = part.model_copy(update={"cuts": {"a": part.cuts["a"].model_copy(update={"successes": 2})}})
    broken = found.model_copy(update={"slices": (wrong,)})
    with pytest.raises(Contradiction, match="slices by risk"):
        check_sums(broken)


def test_corrections_and_their_twin(tmp_path: Path) -> None:
    fields = json.loads((recorded() / "score.json").read_text())["fields"]
    wrong = [f | {"passed": not f["corrected"], "uptake": "censored" if f["corrected"] else None} for f in fields]
    copy_session(tmp_path, "s", workflow="x", agent="a", success=False, score={"fields": wrong})
    copy_session(
        tmp_path, "t", workflow="x-uncorrected", agent="a", score={"fields": [f | {"corrected": False} for f in fields]}
    )
    whole = table(tmp_path, 1)
    agent = whole.agents[0]
    found = agent.corrections
    n = sum(f["corrected"] for f in fields)
    assert n > 0
    assert (found.corrected.hits, found.corrected.n, found.other.value, found.gap) == (0, n, 1.0, 1.0)
    assert found.twin is not None
    assert (found.twin.hits, found.twin.n, found.twin_gap) == (n, n, 1.0)
    assert (found.linked.hits, found.linked.n) == (1, 1)
    assert (agent.pass_1.value, agent.pass_1.n, agent.reliable_k.value, agent.inclusive.value, agent.success.n) == (
        0,
        1,
        0,
        0,
        1,
    )
    assert agent.twins is not None
    assert (agent.twins.pass_1.value, agent.twins.pass_1.n, agent.twins.scored, agent.sessions) == (1.0, 1, 1, 1)
    assert any("uncorrected twins are a control" in note for note in whole.notes)
    assert "twins_pass_at_1,1.0,,,1," in csv_text(whole)


def test_an_agent_that_ran_only_twins_takes_no_workflow_from_the_others(tmp_path: Path) -> None:
    fill(tmp_path, {"a": {"x": "+++", "x-uncorrected": "+-"}, "b": {"x-uncorrected": "++"}})
    a, b = table(tmp_path).agents
    assert (a.rank, a.reliable_k.value, a.reliable_k.n, a.twins and a.twins.pass_1.value) == (1, 1.0, 1, 0.5)
    assert (b.rank, b.pass_1.value, b.sessions, b.twins and b.twins.sessions) == (None, None, 0, 2)


def test_twins_stand_in_no_pair_of_agents(tmp_path: Path) -> None:
    fill(tmp_path, {"a": {"x": "++", "x-uncorrected": "++"}, "b": {"x": "+-", "x-uncorrected": "--"}})
    found = compare_agents(read_results([tmp_path]).rows, "a", "b")
    assert ([pair.workflow for pair in found.pairs], found.difference.value, found.twins) == (["x"], -0.5, 4)


def test_an_agent_that_never_stops_counts_as_the_window(tmp_path: Path) -> None:
    stop = {"barge_in": 99, "kind": "overlap", "onset_ms": 1.0, "stop_kind": "not_stopped"}
    floor = json.loads((recorded() / "score.json").read_text())["floor"]
    copy_session(tmp_path, "s", score={"floor": floor | {"barge_ins": [*floor["barge_ins"], stop]}})
    turns = table(tmp_path, 1).agents[0].turns
    assert (turns.yielded.hits, turns.yielded.n) == (1, 2)
    assert (turns.stop_delay_ms.n, turns.stop_delay_ms.censored) == (2, 1)
    assert turns.stop_delay_ms.median == pytest.approx((2000 + floor["barge_ins"][0]["stop_delay_ms"]) / 2)


def test_damaged_half_written_and_foreign_files_are_named_and_never_counted(tmp_path: Path) -> None:
    fill(tmp_path, {"a": {"x": "+"}})
    for name, file, text in (
        ("cut", "score.json", '{"schema_version": 1, "sess'),
        ("other-score", "score.json", '{"schema_version": 1, "hello": "world"}'),
        ("newer", "score.json", None),
        ("no-meta", "session.json", ""),
        ("no-workflow", "workflow.json", "[]"),
    ):
        place = copy_session(tmp_path, name)
        if text is None:
            content = json.loads((place / file).read_text()) | {"schema_version": 99}
            text = json.dumps(content)
        (place / file).write_text(text)
    stolen = copy_session(tmp_path, "stolen")
    (stolen / "score.json").write_text((tmp_path / "a-x-0" / "score.json").read_text())
    (tmp_path / "half-written").mkdir()
    (tmp_path / "half-written" / "events.jsonl").write_text("{}\n")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "deep").mkdir()
    (tmp_path / "result.json").write_text("{}")
    found = read_results([tmp_path])
    assert [row.path.name for row in found.rows] == ["a-x-0"]
    named = {Path(path).name: why for path, why in found.skipped.items()}
    assert set(named) >= {
        "cut",
        "other-score",
        "newer",
        "no-meta",
        "no-workflow",
        "stolen",
        "half-written",
        "result.json",
    }
    assert named["cut"] == "score.json is cut or damaged"
    assert "another session" in named["stolen"]
    assert "--rescore" in named["newer"]


def test_a_folder_that_is_not_there_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not a folder"):
        read_results([tmp_path / "nothing"])


def test_rescoring_gives_the_stored_verdict_again(tmp_path: Path) -> None:
    place = copied(recorded(FORGETS), tmp_path / recorded(FORGETS).name)
    stored = read_results([tmp_path]).rows[0].score
    (place / "score.json").unlink()
    assert read_results([tmp_path]).rows == []
    assert read_results([tmp_path], rescore=True).rows[0].score == stored


def test_every_form_says_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fill(tmp_path, {"a|b <i>": {"x": "++-"}, "=c": {"x": "---"}})
    found = table(tmp_path)
    read = {name: how(found.agents[0]) for _, rows in rows_of(found) for name, how in rows}
    text = io.StringIO()
    print_table(found, Console(file=text, width=200))
    page = markdown(found)
    for name in ("Reliable@3", "Pass@1", "AV artifact validity", "AFA (fields)", "yielded within 2 s", "complete"):
        assert name in text.getvalue()
        assert read[name] in text.getvalue()
        assert read[name] in page
    assert "a\\|b &lt;i>" in page
    rows = list(csv.DictReader(io.StringIO(csv_text(found))))
    success = next(r for r in rows if r["measure"] == "success" and r["scope"] == "total" and r["agent"] == "a|b <i>")
    assert (success["hits"], success["n"]) == ("2", "3")
    assert float(success["value"]) == pytest.approx(2 / 3, abs=1e-6)
    assert {r["agent"] for r in rows} == {"a|b <i>", "'=c"}, "a spreadsheet must not run a name as a formula"
    assert main(["results", str(tmp_path), "--json"]) == 0
    assert Table.model_validate_json(capsys.readouterr().out) == found


def test_what_was_skipped_is_said_on_stderr_and_data_stays_on_stdout(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(tmp_path, {"a": {"x": "+"}})
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "session.json").write_text("{")
    assert main(["results", str(tmp_path), "--csv"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("scope,axis,label,agent")
    assert "broken: session.json is cut or damaged" in err
    assert main(["results", str(tmp_path)]) == 0
    out, err = capsys.readouterr()
    assert ((out + err).count("broken: session.json"), err) == (1, ""), "a table says it once, below its rows"
    assert main(["results", str(tmp_path), "--csv", "--json"]) == 2
    assert main(["results", str(tmp_path), "-a", "nobody"]) == 2


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def test_the_page_needs_nothing_from_outside_and_runs_nothing_from_names(tmp_path: Path) -> None:
    copied(recorded(), tmp_path / recorded().name)
    fill(tmp_path, {"<script>alert(1)</script>": {"x": "-"}})
    readings = read_results([tmp_path])
    (next(row.path for row in readings.rows if not row.score.rehearsal) / "events.jsonl").unlink()
    page = html_report(table_of(readings), readings.rows, with_sound=True)
    parsed = _Page()
    parsed.feed(page)
    sources = [a[name] for _, a in parsed.tags for name in ("src", "href", "xlink:href", "srcset") if a.get(name)]
    assert all((s or "").startswith("data:audio/ogg;base64,") for s in sources)
    assert len(sources) == 1
    assert sum(tag == "script" for tag, _ in parsed.tags) == 1
    assert "<script>alert" not in page
    assert not re.search(r"https?://", page)
    lanes = [a for tag, a in parsed.tags if tag == "svg" and a.get("class") == "lanes"]
    assert len(lanes) == 1, "the session with a log is drawn, the other says why not"
    boxes = [a["class"] for tag, a in parsed.tags if tag == "rect" and a.get("class") in ("caller", "agent")]
    assert boxes.count("caller") >= 7
    assert boxes.count("agent") >= 7
    assert "rehearsal (scripted)" in page


def test_without_sound_the_page_holds_none(tmp_path: Path) -> None:
    copied(recorded(), tmp_path / recorded().name)
    readings = read_results([tmp_path])
    assert "<audio" not in html_report(table_of(readings), readings.rows)
    assert 'class="lanes"' not in html_report(table_of(readings), readings.rows, timelines=0)


def test_a_table_without_sessions_is_no_success(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["results", str(tmp_path)]) == 1
    assert "no session to count" in capsys.readouterr().out


def test_an_identical_repeat_is_counted_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("first", "again", "once-more"):
        copy_session(tmp_path, name)
    copy_session(tmp_path, "real-time", meta={"virtual": False})
    copy_session(tmp_path, "real-time-2", meta={"virtual": False})
    copy_session(tmp_path, "another-seed", seed=2)
    copy_session(tmp_path, "another-sound", meta={"agent_sha256": "f" * 64})
    copy_session(tmp_path, "another-verdict", success=False)
    found = read_results([tmp_path])
    assert found.repeats == 2
    assert sum(row.path.name in ("first", "again", "once-more") for row in found.rows) == 1
    assert len(found.rows) == 6
    made = table_of(found, 1)
    assert sum(agent.scored for agent in made.agents) == 6
    assert any(note.startswith("2 identical repeats left out") for note in made.notes)
    assert main(["results", str(tmp_path), "--csv"]) == 0
    told = [line for line in capsys.readouterr().err.splitlines() if "identical repeat" in line]
    assert len(told) == 1
    assert "first and 1 more: " in told[0] or "once-more and 1 more: " in told[0]


def test_examples_and_regressions_count_only_where_their_folder_is_named(tmp_path: Path) -> None:
    copy_session(tmp_path, "mine")
    copy_session(tmp_path / "examples", "example", seed=2)
    for seed in (3, 4):
        copy_session(tmp_path / "regressions", f"again-{seed}", seed=seed)
    found = read_results([tmp_path])
    assert [row.path.name for row in found.rows] == ["mine"]
    assert found.apart == 3
    assert found.skipped == {
        str(tmp_path / "examples"): "1 session of examples: name this folder itself to count it",
        str(tmp_path / "regressions"): "2 sessions of regressions: name this folder itself to count them",
    }
    assert any(note.startswith("3 sessions of examples or regressions") for note in table_of(found).notes)
    assert len(read_results([tmp_path, tmp_path / "regressions"]).rows) == 3
    assert [row.path.name for row in read_results([tmp_path / "examples"]).rows] == ["example"]


def test_a_session_whose_caller_was_pinned_is_averaged_with_no_other(tmp_path: Path) -> None:
    copy_session(tmp_path, "free")
    copy_session(tmp_path, "pinned", meta={"parameters": {"regression": "a-failure"}})
    assert [a.sessions for a in table(tmp_path, 1).agents] == [1, 1]
    assert any("caller pinned by a regression" in a.label for a in table(tmp_path, 1).agents)


def test_failures_stand_under_the_table_with_their_place(tmp_path: Path) -> None:
    fill(tmp_path, {"a": {"x": "+-"}, "b": {"x": "-" * 25}})
    text = io.StringIO()
    print_table(table(tmp_path, 1), Console(file=text, width=200))
    shown = text.getvalue()
    assert "failures (26); `apex-tui why PATH artifact.field`" in shown
    assert f"  x · a · seed 1: AV: end_date is stale\n    {tmp_path / 'a-x-1'}\n" in shown
    assert "and 6 more: --json, --markdown and --html name them all" in shown


def test_the_correction_gap_is_in_the_csv_as_in_the_table(tmp_path: Path) -> None:
    copied(recorded(FORGETS), tmp_path / recorded(FORGETS).name)
    found = table(tmp_path, 1)
    rows = {r["measure"]: r for r in csv.DictReader(io.StringIO(csv_text(found))) if r["scope"] == "total"}
    fixes = found.agents[0].corrections
    assert fixes.gap == 1
    assert (float(rows["correction_gap"]["value"]), int(rows["correction_gap"]["n"])) == (fixes.gap, fixes.corrected.n)
    assert rows["twin_gap"]["value"] == ""


@pytest.mark.parametrize(
    "marks", [{"stop_kind": "invalid"}, {"echo_suspect": True}, {"across_stall": True}, {"kind": "in_pause"}]
)
def test_a_barge_in_that_proves_nothing_stands_in_no_share(tmp_path: Path, marks: dict[str, Any]) -> None:
    stop = {"barge_in": 99, "kind": "overlap", "onset_ms": 1.0, "stop_kind": "not_stopped"}
    floor = json.loads((recorded() / "score.json").read_text())["floor"]
    copy_session(tmp_path, "s", score={"floor": floor | {"barge_ins": [*floor["barge_ins"], stop | marks]}})
    turns = table(tmp_path, 1).agents[0].turns
    assert (turns.yielded.hits, turns.yielded.n) == (1, 1)
    assert (turns.stop_delay_ms.n, turns.stop_delay_ms.censored) == (1, 0)


def test_an_agent_without_a_voice_has_no_number_of_sound(tmp_path: Path) -> None:
    copy_session(tmp_path, "s", score={"limits": {"floor": "not applicable: the agent has no voice"}})
    found = table(tmp_path, 1).agents[0]
    turns = found.turns
    means = (turns.cut_ins, turns.dead_air, turns.silent_wait, turns.unanswered, turns.overlap_ratio)
    assert [(mean.value, mean.n) for mean in means] == [(None, 0)] * 5
    assert (turns.yielded.n, turns.first_audible_ms.n, found.scored) == (0, 0, 1)
