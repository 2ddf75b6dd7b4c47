"""Plans: what they ask for, in which order and with which seeds, and how a wrong one is told."""

from __future__ import annotations

import itertools
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apex_tui.cli import main
from apex_tui.engine.speech import Speech
from apex_tui.timeline.errors import UserError
from apex_tui.timeline.messages import Run
from apex_tui.trials import campaign as module
from apex_tui.trials.campaign import cells_of
from apex_tui.trials.campaign_cells import Cell
from apex_tui.trials.campaign_inputs import speech_inputs
from apex_tui.trials.official_layout_package import export_package
from apex_tui.trials.plan import Plan, contenders, read_plan, seed_of, wishes
from apex_tui.workflow.library import find_workflow
from apex_tui.workflow.official import read_package

SMALL = {"name": "p", "workflows": ["leave-request"], "agents": ["rehearsal"]}


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "plan.yaml"
    path.write_text(text)
    return path


def test_all_of_one_repetition_comes_before_the_next() -> None:
    plan = Plan.model_validate(SMALL | {"workflows": ["x", "y"], "agents": ["a", "b"], "repeats": 2})
    order = [(w.repeat, w.workflow, w.contender.label) for w in wishes(plan)]
    assert order == [(r, w, a) for r in (0, 1) for w in ("x", "y") for a in ("a", "b")]


@given(st.sets(st.integers(0, 50), min_size=1, max_size=5), st.integers(1, 6))
def test_seeds_vary_per_repetition_and_no_two_sessions_share_one(seeds: set[int], repeats: int) -> None:
    plan = Plan.model_validate(SMALL | {"seeds": tuple(sorted(seeds)), "repeats": repeats})
    found = [w.seed for w in wishes(plan)]
    assert len(set(found)) == len(found) == len(seeds) * repeats
    assert set(found[: len(seeds)]) == seeds, "the first repetition runs the seeds as they are written"


def test_official_seeds_are_the_same_each_time() -> None:
    plan = Plan.model_validate(SMALL | {"seeds": (1,), "repeats": 3, "official_seeds": True})
    assert [w.seed for w in wishes(plan)] == [1, 1, 1]
    assert seed_of(plan, 1, 2) == 1


def test_a_list_among_the_options_is_an_axis() -> None:
    agent = {
        "name": "mine",
        "agent": "rehearsal",
        "options": {"tool_latency": {"get_employee": 9.0}, "tool_failures": ({"a": 1},)[0]},
    }
    assert len(contenders(Plan.model_validate(SMALL | {"agents": [agent]}))) == 1
    varied = {
        "name": "mine",
        "agent": "cascade",
        "options": {"llm": ("small", "large"), "tts": ("one", "two", "three")},
    }
    found = contenders(Plan.model_validate(SMALL | {"agents": [varied]}))
    assert len(found) == 6
    assert found[0].label == "mine [llm=small, tts=one]"
    assert found[5].parts == {"llm": "large", "tts": "three"}
    assert found[5].options == {"parts": {"llm": "large", "tts": "three"}}, "as the engine's command has them"


def documented(number: int, tmp_path: Path) -> Path:
    """The plans of docs/campaigns.md, in their order."""
    text = (Path(__file__).parents[2] / "docs" / "campaigns.md").read_text(encoding="utf-8")
    lines = text.partition("## A plan")[2].partition("    apex-tui campaign plan.yaml [")[0].splitlines()
    starts = [i for i, line in enumerate(lines) if line.startswith("    name: ")]
    block = itertools.takewhile(lambda line: line.startswith("    "), lines[starts[number] :])
    return written(tmp_path, "\n".join(line[4:] for line in block))


def test_the_first_plan_of_the_documentation_runs_without_a_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in os.environ if name.endswith("_API_KEY")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    path = documented(0, tmp_path)
    cells = cells_of(read_plan(path), path.parent)
    assert len(cells) == len({cell.digest for cell in cells}) == 12
    assert all(cell.virtual and cell.agent.startswith("rehearsal") for cell in cells)


def test_the_whole_plan_of_the_documentation_can_be_read(tmp_path: Path) -> None:
    plan = read_plan(documented(1, tmp_path))
    assert Plan.model_fields.keys() - plan.model_fields_set == {"schema_version", "official_seeds"}
    parts = [one for one in contenders(plan) if one.agent == "cascade"]
    assert [one.options["parts"] for one in parts] == [{"llm": "http://a/v1"}, {"llm": "http://b/v1"}]
    for one in contenders(plan):
        Run.model_validate({"workflow": "leave-request", "agent": one.agent, **one.options})


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ("workflows:\n  - leave-request\n  - leave-requst\nagents: [rehearsal]\n", "plan.yaml:4: workflows.1: There is no workflow 'leave-requst'"),
        ("workflows: [leave-request]\nagents:\n  - rehersal\n", "plan.yaml:4: agents.0: "),
        ("workflows: [leave-request]\nagents: [rehearsal]\nchannels: [clean, bable]\n", "plan.yaml:4: channels.1: there is no channel 'bable'"),
        ("workflows: [leave-request]\nagents:\n  - name: mine\n    agent: rehearsal\n    options:\n      instructions: x\n",
         "plan.yaml:7: agents.0.options.instructions: input should be"),
        ("workflows: [leave-request]\nagents:\n  - agent: rehearsal\n    options: {tool_latency: {no_such: 9}}\n",
         "plan.yaml:5: agents.0.options.tool_latency: leave-request has no tool 'no_such'."),
        ("workflows: [leave-request]\nagents:\n  - agent: openai\n", "plan.yaml:4: agents.0: The agent openai needs a key: set OPENAI_API_KEY"),
    ],
)  # fmt: skip
def test_what_a_plan_names_and_cannot_have_is_told_with_file_line_and_key(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    changed: str,
    said: str,
) -> None:
    monkeypatch.setattr(module, "load_speech", lambda *_: Speech("tones", {}, {}, {}))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.chdir(tmp_path)
    path = written(tmp_path, "name: p\n" + changed)
    assert main(["campaign", str(path), "--out", str(tmp_path / "out")]) == 2
    told = capsys.readouterr().err.strip()
    assert said in told
    assert "\n" not in told
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name: p\nworkflows: [leave-request]\nagents: [rehearsal]\nrepeat: 3\n", "plan.yaml:4: repeat: unknown key (did you mean repeats?)"),
        ("name: p\nworkflows: [leave-request]\n", "agents: missing"),
        ("name: p\nworkflows: []\nagents: [rehearsal]\n", "plan.yaml:2: workflows:"),
        ("name: p\nworkflows: [x]\nagents: [rehearsal, rehearsal]\n", "rehearsal is there twice"),
        ("name: p\nworkflows: [x]\nagents: [rehearsal]\nrepeats: none\n", "plan.yaml:4: repeats:"),
        ("name: p\nworkflows: [x]\nagents: [{agent: rehearsal, options: {tool_latenzy: 3}}]\n", "did you mean tool_latency?"),
        ("name: p\nworkflows: [x]\nagents: [{agent: rehearsal, usd_per_minute: .inf}]\n", "agents.0.usd_per_minute:"),
        ("name: p\nworkflows: [x]\nagents: [rehearsal]\nseeds: [true]\n", "plan.yaml:4: seeds.0:"),
        ("name: p\nworkflows: [x]\nagents: [rehearsal]\nrepeats: true\n", "plan.yaml:4: repeats:"),
        ("name: p\nworkflows: [x]\nagents: [rehearsal]\nmax_s: .nan\n", "plan.yaml:4: max_s:"),
        ("- a\n- b\n", "expected keys such as name"),
        ("name: [\n", "plan.yaml:"),
    ],
)  # fmt: skip
def test_a_wrong_plan_is_told_in_one_sentence(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UserError) as error:
        read_plan(written(tmp_path, text))
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_what_cannot_be_run_is_said_before_the_first_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "load_speech", lambda *_: Speech("tones", {}, {}, {}))
    with pytest.raises(UserError, match="no workflow 'leave-requst'"):
        cells_of(Plan.model_validate(SMALL | {"workflows": ["leave-requst"]}), tmp_path)
    with pytest.raises(UserError, match="no agent 'rehersal'"):
        cells_of(Plan.model_validate(SMALL | {"agents": ["rehersal"]}), tmp_path)
    both = ["leave-request", "leave-request-uncorrected"]
    with pytest.raises(UserError, match=r"agents\.0: .*forgets-correction.* does not apply to the workflow"):
        cells_of(
            Plan.model_validate(SMALL | {"workflows": both, "agents": ["rehearsal:fault=forgets-correction"]}), tmp_path
        )
    slow = {"agent": "rehearsal", "options": {"tool_latency": {"no_such": 9.0}}}
    with pytest.raises(UserError, match=r"options\.tool_latency: leave-request has no tool 'no_such'"):
        cells_of(Plan.model_validate(SMALL | {"agents": [slow]}), tmp_path)
    with pytest.raises(UserError, match="babble"):
        cells_of(Plan.model_validate(SMALL | {"channels": ["bable"]}), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_cell_is_another_when_anything_about_it_is() -> None:
    base = Cell(workflow="w", workflow_digest="d", label="a", agent="a", inputs={"speech": "s"}, seed=1, repeat=0)
    changes: list[dict[str, Any]] = [
        {"seed": 2}, {"repeat": 1}, {"channel": "telephone"}, {"profile": "official"}, {"model": "m"}, {"agent": "x"}, {"virtual": True},
        {"workflow_digest": "other"}, {"app_version": "9"}, {"options": {"tool_latency": {"a": 1.0}}}, {"max_s": 3.0},
        {"inputs": {**base.inputs, "speech": "other clips"}},
    ]  # fmt: skip
    digests = {base.model_copy(update=change).digest for change in changes}
    assert len(digests) == len(changes)
    assert base.digest not in digests
    assert base.model_copy(update={"usd_per_minute": 1.0}).digest == base.digest


def test_the_speech_of_a_package_is_part_of_its_cells(tmp_path: Path) -> None:
    folder, _ = export_package(find_workflow("leave-request"), tmp_path)
    workflow = read_package(folder)
    assert speech_inputs(workflow) == {}, "tones follow from the words"
    (folder / "user" / "audio").mkdir()
    index = folder / "user" / "audio" / "index.jsonl"
    row = {"file": "a.flac", "text": "Hello.", "num_samples": 5, "pcm16_sha256": "1" * 64}
    found = []
    for digest in ("1" * 64, "2" * 64):
        index.write_text(json.dumps({**row, "pcm16_sha256": digest}) + "\n")
        found.append(speech_inputs(workflow)["speech"])
    assert found[0] != found[1]


def test_a_file_of_an_agents_options_counts_by_what_is_in_it(tmp_path: Path) -> None:
    plan = Plan.model_validate(
        SMALL | {"agents": [{"agent": "mine", "url": "ws://127.0.0.1:9/x", "options": {"profile_file": "mine.toml"}}]}
    )
    digests = []
    for home, about in (("here", "one"), ("there", "one"), ("elsewhere", "another")):
        (tmp_path / home).mkdir()
        (tmp_path / home / "mine.toml").write_text(
            f'[mine]\nextends = "openai"\nabout = "{about}"\nkey_required = false\n'
        )
        cell = cells_of(plan, tmp_path / home)[0]
        assert cell.options["profile_file"] == str(tmp_path / home / "mine.toml"), "relative to the plan"
        digests.append(cell.digest)
    assert digests[0] == digests[1] != digests[2]
    (tmp_path / "here" / "mine.toml").unlink()
    with pytest.raises(UserError, match=r"mine\.toml cannot be read"):
        cells_of(plan, tmp_path / "here")


def test_all_means_every_workflow_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "load_speech", lambda *_: Speech("tones", {}, {}, {}))
    monkeypatch.setattr(module, "_check", lambda *_: None)
    cells = cells_of(Plan.model_validate(SMALL | {"workflows": ["all"], "virtual": True}), tmp_path)
    assert {cell.workflow for cell in cells} >= {"leave-request", "payment"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--channel", "clean+telephone"], "--channel: clean stands alone"),
        (["--channel", "babble:snr=\u0663"], "must be a number from"),
        (["--direct", "\u0665 hold"], "write 'SECONDS WHAT [UTTERANCE]'"),
        (["--tool-latency", "x=\u0663s"], "write NAME=DURATION"),
        (["--seed", "-9999"], "--seed"),
    ],
)
def test_a_run_takes_no_value_that_a_plan_refuses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], said: str
) -> None:
    assert main(["run", "leave-request", "--virtual", "--out", str(tmp_path / "o"), *options]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "o").exists()


def test_a_file_in_the_place_of_a_campaign_is_told_as_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, json.dumps(SMALL | {"virtual": True}))
    assert main(["campaign", str(path), "--out", str(path)]) == 2
    assert "a file lies where a folder is needed; choose another place (--out)" in capsys.readouterr().err
