"""Which test plays which of the 26 bug reports that shaped these clients (protocol notes, section 5).

 1 a request races a turn of the server              test_row_01 (test_robustness) · "double create" (test_family_matrix)
 2 a cancel before the reply has an id                test_row_02 (test_robustness)
 3 the server thinks that all was heard               test_row_03 (test_robustness)
 4 a truncation beyond the audio                      test_row_04 (test_robustness)
 5 a truncation at 0 ms, or of text                   test_row_05 (test_robustness)
 6 history of unheard words                           test_row_06 (test_robustness)
 7 sound after a cancel                               test_row_07 (test_robustness) · "cancel race" (test_family_matrix)
 8 one call run twice, or from an incomplete item     test_row_08 (test_robustness)
 9 cut arguments run as {}                            test_row_09 (test_robustness) · "cut arguments" (test_family_matrix)
10 a failed reply looks like silence                  test_row_10 (test_robustness) · "failed response" (test_family_matrix)
11 the session's limit                                test_row_11 (test_robustness, test_robustness_sockets)
12 a message over the size limit                      test_row_12 (test_robustness, test_robustness_sockets)
13 slow pongs                                         test_row_13 (test_robustness_sockets)
14 the wrong rate                                     test_row_14 (test_robustness_more)
15 empty and double commits                           test_row_15 (test_robustness_more)
16 late and failed transcripts                        test_row_16 (test_robustness_more)
17 the agent hears itself                             test_row_17 (test_robustness_more)
18 Gemini's loop ends, goAway ignored                 test_row_18 (test_robustness_more, test_robustness_sockets)
19 a Gemini call unanswered, or answered twice        test_row_19 (test_robustness_more)
20 closes around tools and long sessions              test_row_20 (test_robustness_more)
21 a server that never says "created"                 test_row_21 (test_robustness_more)
22 GPT-Live: outputs missing before a create          test_row_22 (test_robustness_more)
23 whose timing it is; a detection that sleeps        test_row_23 (test_robustness_more) · test_onset_fallback
24 buffers without end                                test_row_24 (test_robustness_more)
25 a call's text is spoken                            test_row_25 (test_robustness_more)
26 an interruption after all audio was received       test_row_26 (test_robustness_more) · "barge-in after ..." (test_family_matrix)
"""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).parent
_LINE = re.compile(r"^ ?(\d+) .*?  +test_row_(\d\d) \(([a-z_, ]+)\)(.*)$", re.M)


def test_every_row_is_played_by_the_tests_that_the_table_names() -> None:
    assert __doc__ is not None
    lines = [(int(row), name, where.split(", "), rest) for row, name, where, rest in _LINE.findall(__doc__)]
    assert [row for row, *_ in lines] == list(range(1, 27))
    for row, name, modules, rest in lines:
        assert int(name) == row
        for module in modules:
            text = (HERE / f"{module}.py").read_text()
            assert re.search(rf"^(?:async )?def test_row_{name}_", text, re.M), f"row {row} is not in {module}"
        for module in re.findall(r"\btest_[a-z_]+", rest):
            assert (HERE / f"{module}.py").is_file(), module
        for cell in re.findall(r'"([^"]+)"', rest):
            assert f'"{cell.rstrip(". ")}' in (HERE / "test_family_matrix.py").read_text(), cell


def test_no_test_of_a_row_is_missing_in_the_table() -> None:
    found = {
        (name, path.stem)
        for path in HERE.glob("test_robustness*.py")
        for name in re.findall(r"^(?:async )?def test_row_(\d\d)_", path.read_text(), re.M)
    }
    listed = {(name, module) for _, name, where, _ in _LINE.findall(__doc__ or "") for module in where.split(", ")}
    assert found == listed
