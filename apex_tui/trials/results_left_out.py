"""What a table leaves out although nothing is wrong with it: identical repeats, examples, regressions, directed sessions; and the words for it.

In here: when a session is another one again. Deliberately not in here: finding sessions (``results_read``), and files that cannot be believed.
"""

from __future__ import annotations

import hashlib
import json

from apex_tui.store.meta import SessionMeta
from apex_tui.trials.results_verdict import CountedScore

APART = frozenset({"examples", "regressions"})
"""Folders among sessions whose sessions were not run to be counted; naming the folder itself counts them."""
REPEAT = "an identical repeat (or a copy) of a session that is counted: in simulated time, the same seed and agent, and no sample or number differs"


def repeats_note(n: int) -> str:
    """How many sessions are left out because they repeat another to the sample."""
    return (
        f"{n} identical repeat{'' if n == 1 else 's'} left out: simulated time with the same seed and agent gives the same session again, "
        "so it is counted once"
    )


def apart_note(n: int) -> str:
    """How many sessions are left out because they lie in a folder of examples or regressions."""
    return f"{n} session{'' if n == 1 else 's'} of examples or regressions left out: name their folder itself to count them"


def directed_note(n: int) -> str:
    """How many sessions are left out because somebody directed the caller."""
    return f"{n} directed session{'' if n == 1 else 's'} left out: a person steered the caller, so they count with no others"


def sameness(agent: str, channel: str, meta: SessionMeta, score: CountedScore) -> str | None:
    """What two sessions in simulated time share when one is the other again; None where nothing proves it (real time, no digests of the lanes).

    Such a repeat is no second observation of the agent: n, intervals and Reliable@k would claim what nobody saw.
    """
    if not meta.virtual or meta.caller_sha256 is None or meta.agent_sha256 is None:
        return None
    content = [
        agent, channel, meta.agent, meta.workflow, meta.workflow_digest, meta.seed, meta.parameters, meta.instructions_sha256,
        meta.tools_sha256, meta.labels, meta.caller_sha256, meta.agent_sha256, score.model_dump(mode="json", exclude={"session"}),
    ]  # fmt: skip
    return hashlib.sha256(
        json.dumps(content, sort_keys=True, default=str).encode("utf-8", "backslashreplace")
    ).hexdigest()
