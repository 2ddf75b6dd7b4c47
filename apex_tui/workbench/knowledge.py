"""Word search over the workflow's documents.

Of a recipe, words count by their stem, rare ones and those of a title for more, so that what an agent would naturally ask for is found. Under the
official profile the ranking is the official one: shared words, then document id. Deliberately not in here: meaning; synonyms are the author's
(``Document.words``), who knows what the trade calls a thing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from math import log
from typing import NamedTuple

from apex_tui.timeline.base import Json
from apex_tui.workbench.values import MAX_BYTES, canonical
from apex_tui.workflow.work_model import Document

_WORD = re.compile(r"[a-z0-9]+")
_CHAIN = re.compile(r"[a-z0-9]+(?:[-'’][a-z0-9]+)*")
_ROOM = MAX_BYTES - 1024
"""What the hits may fill of a result; the rest is for what stands around them."""
_TITLE = 2.0
"""What a word of a title, or of the author's ``words``, counts for, beside 1 in the text."""
_EMPTY = frozenset(
    (
        "a", "an", "and", "any", "are", "as", "at", "be", "been", "by", "can", "could", "did", "do", "does", "for", "from", "get", "got",
        "had", "has", "have", "how", "i", "if", "in", "into", "is", "it", "its", "many", "may", "me", "much", "must", "my", "no", "not",
        "of", "on", "or", "our", "s", "should", "so", "t", "than", "that", "the", "their", "them", "then", "there", "they", "this", "to",
        "was", "we", "were", "what", "when", "where", "which", "who", "will", "with", "would", "you", "your",
    )
)  # fmt: skip
"""Words that say nothing of what is searched."""


class _Known(NamedTuple):
    """A document, the stems of its title and of the author's words, and those of its text."""

    doc: Document
    head: frozenset[str]
    body: frozenset[str]


def words(text: str) -> frozenset[str]:
    """The set of maximal ``[a-z0-9]+`` runs of the lowercased text."""
    return frozenset(_WORD.findall(text.lower()))


def stems(text: str) -> frozenset[str]:
    """Stems of the words that say something; of ``cut-off`` its parts and the whole, and two words in a row as one, so ``cut off`` finds it."""
    found: set[str] = set()
    before = ""
    for chain in _CHAIN.findall(text.lower()):
        parts = _WORD.findall(chain)
        for part in parts:
            if before:
                found.add(_stem(before + part))
            if part not in _EMPTY:
                found.add(_stem(part))
            before = part
        if len(parts) > 1:
            found.add(_stem("".join(parts)))
    return frozenset(found)


def _stem(word: str) -> str:
    """A word without the endings of plurals, verbs and their nouns; rough, and the same on both sides."""
    if len(word) < 4 or word.isdigit():
        return word
    if word.endswith("ies"):
        word = word[:-3] + "y"
    elif word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    for ending in ("ation", "ment", "ing", "ed", "er", "ly"):
        if word.endswith(ending) and len(word) - len(ending) >= (4 if ending == "ly" else 3):
            word = word[: -len(ending)]
            break
    word = word.removesuffix("e")
    if len(word) > 5 and word.endswith("at"):
        word = word[:-2]
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "sz":
        word = word[:-1]
    return word[:-1] if len(word) > 4 and word.endswith("y") else word


class Knowledge:
    """A fixed set of documents. ``official``: ranked as the reference ranks them."""

    def __init__(self, documents: Iterable[Document], *, official: bool = False) -> None:
        self._official = official
        read = words if official else stems
        self._known = [
            _Known(doc, read(" ".join((doc.title, *(() if official else doc.words)))), read(doc.text))
            for doc in documents
        ]
        self._in = Counter(stem for known in self._known for stem in known.head | known.body)

    def search(self, query: str, top_k: int = 3) -> list[Json]:
        """Return at most ``top_k`` hits ``{doc_id, title, score, text}``: highest score first, then ``doc_id``.

        Documents that share no word are left out. What does not fit into one tool result is left out from the end; a single document
        that is too long is cut and says so.
        """
        wanted = words(query) if self._official else stems(query)
        scored = [(self._score(wanted, known), known.doc) for known in self._known]
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

    def _score(self, wanted: frozenset[str], known: _Known) -> float:
        """Shared words; of a recipe each for more the fewer documents have it, and for more in the title."""
        if self._official:
            return len(wanted & (known.head | known.body))
        shared = wanted & (known.head | known.body)
        each = (
            log(1 + len(self._known) / self._in[stem]) * (_TITLE if stem in known.head else 1.0)
            for stem in sorted(shared)
        )
        return round(sum(each), 2)


def _cut(hit: Json) -> Json:
    """The beginning of a document that is too long for one result."""
    short = {**hit, "title": hit["title"][:500]}
    while (size := len(canonical(short))) > _ROOM:
        kept = int(len(short["text"]) * _ROOM / size * 0.95)
        short["text"] = hit["text"][:kept] + " … (cut: the document is longer than one result may be)"
    return short
