"""What a command tells of a session while it runs.

In here: what happens when nobody can be told any more (``| head``, a full disk). Deliberately not in here: the words (``plain``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Narration(Generic[T]):
    """Passes on what happens in a session. It is called in the middle of the session's work, which an error of the stream must not break off:
    the session is told to end in order, and the error is raised after that.
    """

    def __init__(self, tell: Callable[[T], None], stop: Callable[[str], None]) -> None:
        self._tell = tell
        self._stop = stop
        self._lost: OSError | None = None

    def __call__(self, item: T) -> None:
        """Tell it, as long as it can be told."""
        if self._lost is not None:
            return
        try:
            self._tell(item)
        except OSError as error:
            self._lost = error
            self._stop("what is told of it can no longer be written")

    def check(self) -> None:
        """The session is over. Raises ``OSError``: not all of it could be told."""
        if self._lost is not None:
            raise self._lost
