"""Floor 4: voice agents behind one seam, one folder per protocol family, and the rehearsal agent.

``seam`` the contract with the engine · ``instructions`` the prompt · ``registry`` agents by name · ``dialects`` what each server wants, as
data · ``keys`` where keys are · ``transports`` and ``websocket`` how messages travel · ``realtime`` the OpenAI-realtime family ·
``text`` chat completions and Responses · ``cascade`` speech to text, chat, text to speech · ``rehearsal`` the scripted agent ·
``own_agent`` an agent of your own in Python · ``check`` one turn and one tool call.
Deliberately not in here: how audio was played or what the caller does; the engine knows that.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from apex_tui.agents.own_agent import Call, Say, Turn, serve, serving

__all__ = ["Call", "Say", "Turn", "serve", "serving"]


def __getattr__(name: str) -> Any:
    """The names for an agent of your own, loaded when they are wanted: the engine needs none of them."""
    if name in __all__:
        from importlib import import_module

        return getattr(import_module("apex_tui.agents.own_agent"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
