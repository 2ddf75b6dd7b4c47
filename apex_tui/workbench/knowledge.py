"""Word search over the workflow's documents, with the official ranking: shared words, then document id. No stemming, no weights."""

from __future__ import annotations

import re
from collections.abc import Iterable

from apex_tui.timeline.base import Json
from apex_tui.workbench.values import MAX_BYTES, canonical
from apex_tui.workflow.model import Document

_WORD = re.compile(r"[a-z0-9]+")
_ROOM = MAX_BYTES - 1024
"""What the hits may fill of a result; the rest is for what stands around them."""


def words(text: str) -> frozenset[str]:
    """The set of maximal ``[a-z0-9]+`` runs of the lowercased text."""
    return frozenset(_WORD.findall(text.lower()))


class Knowledge:
    """A fixed set of documents."""

    def __init__(self, documents: Iterable[Document]) -> None:
        self._documents = [(words(f"{doc.title} {doc.text}"), doc) for doc in documents]

    def search(self, query: str, top_k: int = 3) -> list[Json]:
        """Return at most ``top_k`` hits ``{doc_id, title, score, text}``: highest number of shared words first, then ``doc_id``.

        Documents that share no word are left out. What does not fit into one tool result is left out from the end; a single document
        that is too long is cut and says so.
        """
        wanted = words(query)
        scored = [(len(wanted & known), doc) for known, doc in self._documents]
        ranked = sorted(((score, doc) for score, doc in scored if score), key=lambda hit: (-hit[0], hit[1].doc_id))
        hits: list[Json] = [
            {"doc_id": doc.doc_id, "title": doc.title, "score": score, "text": doc.text}
            for score, doc in ranked[: max(0, top_k)]
        ]
        while len(hits) > 1 and len(canonical(hits)) > _ROOM:
            hits.pop()
        if hits and len(canonical(hits)) > _ROOM:
            hits[0] = _cut(hits[0])
        return hits


def _cut(hit: Json) -> Json:
    """The beginning of a document that is too long for one result."""
    short = {**hit, "title": hit["title"][:500]}
    while (size := len(canonical(short))) > _ROOM:
        kept = int(len(short["text"]) * _ROOM / size * 0.95)
        short["text"] = hit["text"][:kept] + " … (cut: the document is longer than one result may be)"
    return short
