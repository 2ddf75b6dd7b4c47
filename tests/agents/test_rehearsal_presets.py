from __future__ import annotations

import pytest
from agent_kit import LINES, workflow

from apex_tui.agents.registry import make_agent
from apex_tui.agents.rehearsal.faults import FAULTS
from apex_tui.agents.rehearsal.manner import FADE_MS, Manner
from apex_tui.agents.rehearsal.presets import PRESETS, parse
from apex_tui.timeline.errors import UserError


def test_a_plain_name_has_the_plain_manner() -> None:
    assert parse("rehearsal").manner == Manner()
    assert parse("rehearsal").fault is None


def test_presets_and_parameters_are_read_in_order() -> None:
    slow = parse("rehearsal:slow-to-yield,burst=8").manner
    assert (slow.stop_ms, slow.burst, slow.steady, slow.foreknown) == (900.0, 8.0, True, False)
    assert parse("rehearsal:slow-to-yield,stop=20").manner.stop_ms == 20.0
    both = parse("rehearsal:stop=130,answer=600,burst=8").manner
    assert (both.stop_ms, both.answer_ms, both.burst) == (130.0, 600.0, 8.0)
    assert parse("rehearsal:fault=skips-commit").fault == "skips-commit"


def test_never_and_what_only_foreknowledge_makes_true() -> None:
    assert parse("rehearsal:stop=never").manner.yields is False
    assert parse("rehearsal:stop=0").manner.foreknown
    assert parse("rehearsal:answer=-200").manner.foreknown
    assert not parse("rehearsal:answer=600").manner.foreknown


def test_a_stop_is_announced_a_fade_earlier_and_only_when_there_is_something_to_stop() -> None:
    manner = parse("rehearsal:stop=130").manner
    assert manner.announce_ms(speaking=True) == 130 - FADE_MS
    assert manner.announce_ms(speaking=False) == 90
    assert parse("rehearsal:detect=250").manner.announce_ms(speaking=True) == 250


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_is_another_manner_and_survives_the_way_to_a_child(name: str) -> None:
    manner = parse(f"rehearsal:{name}").manner
    assert manner != Manner()
    assert Manner.from_dict(manner.as_dict()) == manner


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("rehearsal:slowly", "there is no preset 'slowly'; there are: prompt, slow-to-yield"),
        ("rehearsal:stopp=1", "there is no parameter 'stopp'; there are: stop, detect"),
        (
            "rehearsal:stop=soon",
            "stop is caller's onset to the agent's last audible sample, in ms, or never; 'soon' is",
        ),
        ("rehearsal:stop=100,detect=50", "give stop or detect"),
        ("rehearsal:burst=0", "burst must be from 1 to 50"),
        ("rehearsal:noise=200", "noise_ms must be 0, or at least 500"),
        ("rehearsal:backchannels=maybe", "backchannels is yes or no, not 'maybe'"),
    ],
)
def test_a_wrong_name_is_one_sentence(name: str, sentence: str) -> None:
    with pytest.raises(UserError) as caught:
        parse(name)
    assert sentence in str(caught.value)


def made(name: str) -> str:
    return make_agent(
        name, url=None, model=None, workflow=workflow(), lines=LINES, virtual=True, wire=None, log_path=None
    ).name


def test_the_agent_bears_the_whole_name() -> None:
    assert made("rehearsal:bursty") == "rehearsal:bursty"


def test_a_fault_that_does_not_exist_or_apply_is_one_sentence() -> None:
    with pytest.raises(UserError, match="no planted fault 'laziness'; there are: forgets-correction"):
        made("rehearsal:fault=laziness")
    with pytest.raises(UserError, match="discloses does not apply to the workflow tiny"):
        made("rehearsal:fault=discloses")
    assert len(FAULTS) == 24
