"""Work of a screen that goes on beside it, without a trace when the screen leaves first."""

from collections.abc import Callable, Coroutine
from typing import Any, cast

from textual.dom import DOMNode
from textual.worker import WorkType


def background(
    node: DOMNode,
    work: Callable[[], Coroutine[Any, Any, object]],
    *,
    name: str,
    group: str = "default",
    exclusive: bool = False,
) -> None:
    """Start ``work`` as a worker of ``node``.

    The function is handed over, not its coroutine: of a worker that is cancelled before its first step (the next row was chosen at once, the
    app ends) a coroutine would be left over, and Python says so in the middle of the terminal.
    """
    node.run_worker(cast("WorkType[object]", work), name=name, group=group, exclusive=exclusive)
