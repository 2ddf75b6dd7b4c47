"""Plots in characters, and the slices that were asked for."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

import pytest
from campaign_kit import copy_session
from rich.console import Console

from apex_tui.cli import main
from apex_tui.cli.about_results import Form, show
from apex_tui.trials.results import table_of
from apex_tui.trials.results_model import Mean, Spread, Table
from apex_tui.trials.results_read import read_results
from apex_tui.trials.tables import print_table
from apex_tui.trials.tables_plots import BAR, PLOT_WIDTH, answers, effort, reliability


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("plots")
    for agent, letters in (("good", "+++"), ("poor", "+--")):
        for number, letter in enumerate(letters):
            copy_session(root, f"{agent}-{number}", agent=agent, success=letter == "+", seed=number)
    return root


@pytest.fixture(scope="module")
def table(folder: Path) -> Table:
    return table_of(read_results([folder]))


def named(agent: object) -> str:
    return str(getattr(agent, "label", ""))


def test_bars_have_the_length_of_their_share_and_the_interval_its_place(table: Table) -> None:
    assert [line[:BAR].count("█") for line in reliability(table, named)] == [BAR, 0]
    agent = table.agents[0].model_copy(update={"reliable_k": Mean(value=0.5, n=12, low=0.25, high=0.75)})
    shown, edges = reliability(table.model_copy(update={"agents": (agent,)}), named)
    assert shown[:BAR].count("█") == BAR // 2
    assert (edges.index("├"), edges.index("┤")) == (6, 18)
    assert edges.endswith("95 % from 25.0 to 75.0")


def test_answers_are_told_in_words(table: Table) -> None:
    agent = table.agents[0]
    agents = tuple(
        agent.model_copy(update={"turns": agent.turns.model_copy(update={"first_audible_ms": Spread(n=1, median=ms)})})
        for ms in (600.0, 1500.0, 3000.0)
    )
    head, *lines = answers(table.model_copy(update={"agents": agents}), named)
    assert "0 to 3000 ms" in head
    assert [line[:BAR].count("█") for line in lines] == [round(BAR / 5), BAR // 2, BAR]
    assert ["natural" in lines[0], "holds together" in lines[1], "strained" in lines[2]] == [True] * 3


def test_marks_stand_where_their_numbers_say_and_never_hide_each_other(table: Table) -> None:
    first, second = table.agents
    slow = second.model_copy(update={"complete_ms": Spread(n=1, median=50_000.0), "reliable_k": Mean(value=0.5, n=2)})
    fast = first.model_copy(update={"complete_ms": Spread(n=3, median=100_000.0), "usd": Mean(value=0.25, n=3)})
    lines = effort(table.model_copy(update={"agents": (fast, slow, slow)}), named)
    rows = [line.partition("│")[2] for line in lines if "│" in line]
    assert rows[0].index("a") == round((PLOT_WIDTH - 1) / 1.1)
    assert rows[5].index("b") == round((PLOT_WIDTH - 1) / 2.2)
    assert rows[5].index("c") == rows[5].index("b") + 1
    assert "0.250 USD a session" in lines[-3]
    nobody = first.model_copy(update={"complete_ms": Spread()})
    assert effort(table.model_copy(update={"agents": (nobody,)}), named) == []


def test_the_terminal_shows_them(table: Table) -> None:
    out = io.StringIO()
    print_table(table, Console(file=out, width=100))
    assert "Reliable@3 against the time to complete" in out.getvalue()
    assert "chosen and checked by machine" in out.getvalue()


def test_only_the_slices_that_were_asked_for(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["results", str(folder), "--by", "risk", "--by", "archetype", "--json"]) == 0
    found = {part["axis"] for part in json.loads(capsys.readouterr().out)["slices"]}
    assert found == {"risk", "archetype"}
    assert main(["results", str(folder), "--by", "colour"]) == 2
    assert "--by 'colour': choose one of archetype, " in capsys.readouterr().err


def test_options_that_say_nothing_here_are_mistakes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words, told in (
        (["results", str(folder), "--data", "x"], "--data goes with --official"),
        (["results", "--official", str(folder), "--csv"], "--csv does not go with --official"),
        (["results", "--official"], "name a campaign's folder"),
        (["compare", "good", "good", "--in", str(folder)], "good is named twice"),
    ):
        assert main(words) == 2
        assert told in capsys.readouterr().err


def test_pipes_links_and_hostile_names_are_named_and_never_waited_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = copy_session(tmp_path, "whole", success=True)
    pipe = copy_session(tmp_path, "pipe", success=True)
    (pipe / "score.json").unlink()
    os.mkfifo(pipe / "score.json")
    (tmp_path / "link").symlink_to(whole)
    (tmp_path / "notes.txt").write_text("hello")
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "readme.md").write_text("hello")
    (tmp_path / "bad\x1b[31m").mkdir()
    found = read_results([tmp_path])
    assert [row.path.name for row in found.rows] == ["whole"]
    assert {Path(path).name: why.partition(":")[0] for path, why in found.skipped.items()} == {
        "pipe": "score.json is no regular file",
        "link": "a link",
        "notes.txt": "not the folder of a session",
        "foreign": "not a session",
        "bad\x1b[31m": "an empty folder",
    }
    assert main(["results", str(tmp_path), "--json"]) == 0
    assert "\x1b" not in capsys.readouterr().err


class Gone(io.StringIO):
    """A reader that left, as ``head`` does."""

    def write(self, text: str, /) -> int:
        raise BrokenPipeError


def test_the_page_is_written_although_nobody_reads_the_table(
    folder: Path, table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout", Gone())
    with pytest.raises(BrokenPipeError):
        show(table, read_results([folder]).rows, Form(as_markdown=True, html=tmp_path / "page.html"))
    assert "</html>" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_the_table_is_printed_although_the_page_cannot_be_written(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["results", str(folder), "--html", str(tmp_path / "no" / "where" / "page.html")]) == 2
    said = capsys.readouterr()
    assert "Reliable@3" in said.out
    assert "page.html" in said.err
