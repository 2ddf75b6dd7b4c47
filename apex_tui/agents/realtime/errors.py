"""What a server says went wrong, in few words and without keys. Pure; deliberately not in here: what follows from it."""

from __future__ import annotations

from typing import Any

from apex_tui.agents.realtime.door import MAX_ID, ident, obj, text, without_secrets


def error_parts(error: dict[str, Any]) -> tuple[str, str]:
    """Kind (code, else type, else the message's start) and message of an ``error`` object, without keys."""
    why = without_secrets(text(error.get("message")))
    kind = ident(error.get("code")) or ident(error.get("type")) or why[:80] or "error"
    return without_secrets(kind), why or kind


def reason_of(details: dict[str, Any]) -> str:
    """Why a reply ended, from its ``status_details``."""
    reason = text(details.get("reason"))
    error = obj(details.get("error"))
    if error:
        kind, why = error_parts(error)
        reason = ": ".join(dict.fromkeys(part for part in (reason, kind, why) if part))
    return reason[:MAX_ID]
