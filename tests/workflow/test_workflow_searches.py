"""An agent that searches in words of its own finds the right document beside the distractors, in every workflow that has documents."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from apex_tui.workbench.knowledge import Knowledge
from apex_tui.workflow.library import LIBRARY, find_workflow

SEARCHES = yaml.safe_load((Path(__file__).resolve().parents[1] / "data" / "searches.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", sorted(path.stem for path in LIBRARY.glob("*/*.yaml")))
def test_what_an_agent_would_search_for_is_found(name: str) -> None:
    documents = find_workflow(name).documents
    knowledge = Knowledge(documents)
    wanted = {kind: SEARCHES[kind].get(name, {}) for kind in ("first", "among_three")}
    assert set(wanted["first"]) == set(wanted["among_three"]) == {doc.doc_id for doc in documents if doc.gold}
    hits = {
        kind: {
            (doc, query): [hit["doc_id"] for hit in knowledge.search(str(query))]
            for doc, queries in rows.items()
            for query in queries
        }
        for kind, rows in wanted.items()
    }
    assert {key: found for key, found in hits["first"].items() if found[:1] != [key[0]]} == {}
    assert {key: found for key, found in hits["among_three"].items() if key[0] not in found} == {}


def test_compounds_plurals_and_endings_are_one_word() -> None:
    knowledge = Knowledge(find_workflow("arrears-plan").documents)
    for query in ("cutoff", "cut-off", "cut off", "cutoffs", "CUTTING OFF"):
        assert knowledge.search(query)[0]["doc_id"] == "cutoff_policy", query
    assert knowledge.search("of the and how many") == [], "words that say nothing find nothing"
