"""Virtual time: an asyncio event loop whose clock jumps to the next timer instead of waiting for it.

In here: ``VirtualLoop`` (time starts at 0.0 and moves only when nothing is ready) and ``run_virtual`` (``asyncio.run`` on
such a loop). A scripted call of minutes runs in milliseconds, and twice the same way: equal deadlines fire in the order
in which they were set, each at exactly its own ``time()``.

Deliberately not in here: anything that lives in real time. Threads, sockets, pipes, signals and subprocesses would make
the outcome depend on the machine, so each is refused with a ``RuntimeError`` that says so. Real sessions run on the
ordinary loop.
"""

from __future__ import annotations

import asyncio
import heapq
import math
import threading
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context
from typing import Any, NoReturn, TypeVar, TypeVarTuple

_T = TypeVar("_T")
_Ts = TypeVarTuple("_Ts")

MAX_TURNS_AT_ONE_INSTANT = 1_000_000
"""Turns of the loop without any progress of time before it is called a spin: far above what a session does in one
instant (hundreds), yet reached within seconds, so that a busy wait fails instead of hanging."""

_PURGE_AT = 256
"""Cancelled timers kept in the heap before a clean-up is considered: timeouts are mostly cancelled, and each would
otherwise stay until its deadline."""

_REFUSED = {
    "a thread": ("run_in_executor", "set_default_executor"),
    "a subprocess": ("subprocess_exec", "subprocess_shell"),
    "a signal handler": ("add_signal_handler", "remove_signal_handler"),
    "a pipe": ("connect_read_pipe", "connect_write_pipe"),
    "a socket": (
        "add_reader",
        "remove_reader",
        "add_writer",
        "remove_writer",
        "getaddrinfo",
        "getnameinfo",
        "create_connection",
        "create_server",
        "create_unix_connection",
        "create_unix_server",
        "create_datagram_endpoint",
        "connect_accepted_socket",
        "start_tls",
        "sendfile",
        "sock_recv",
        "sock_recv_into",
        "sock_recvfrom",
        "sock_recvfrom_into",
        "sock_sendall",
        "sock_sendto",
        "sock_connect",
        "sock_accept",
        "sock_sendfile",
    ),
}
"""What depends on the machine, by the methods of a loop that would start it."""


class _Timer(asyncio.TimerHandle):
    """A timer that knows whether it is still in the heap (asyncio's own handle does, but does not declare it)."""

    __slots__ = ()
    _scheduled: bool


class VirtualLoop(asyncio.BaseEventLoop):
    """An event loop in virtual time.

    ``time()`` is in seconds since the loop was made. When no callback is ready, it becomes the deadline of the earliest
    timer; when there is no timer either, the loop raises ``RuntimeError`` and names the tasks that wait for ever.
    """

    _ready: deque[asyncio.Handle]
    _stopping: bool
    _thread_id: int | None

    def __init__(self) -> None:
        super().__init__()
        self._now = 0.0
        self._turns = 0  # turns since time last moved
        self._timers: list[tuple[float, int, _Timer]] = []
        self._timers_made = 0  # breaks ties: equal deadlines fire in the order in which they were set
        self._timers_cancelled = 0
        self._home_thread = threading.get_ident()

    def time(self) -> float:
        """Return the virtual time in seconds since this loop was made."""
        return self._now

    def call_at(
        self,
        when: float,
        callback: Callable[[*_Ts], object],
        *args: *_Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """Call back at virtual time ``when`` (seconds); a time in the past means now, infinity means never.

        Raises ``ValueError`` when ``when`` is not a number.
        """
        self._check_closed()
        if math.isnan(when):
            raise ValueError("a timer needs a time, not NaN")
        handle = _Timer(when, callback, args, self, context)
        self._timers_made += 1
        heapq.heappush(self._timers, (when, self._timers_made, handle))
        handle._scheduled = True
        return handle

    def call_soon_threadsafe(
        self, callback: Callable[[*_Ts], object], *args: *_Ts, context: Context | None = None
    ) -> asyncio.Handle:
        """Call back soon; only from the loop's own thread (asyncio itself does so at shutdown).

        Raises ``RuntimeError`` from any other thread.
        """
        if threading.get_ident() != (self._thread_id or self._home_thread):
            _refuse("call_soon_threadsafe", "a thread")
        return self.call_soon(callback, *args, context=context)

    def close(self) -> None:
        """Close the loop and forget its timers."""
        super().close()
        self._timers.clear()

    def _check_closed(self) -> None:
        if self.is_closed():
            raise RuntimeError("Event loop is closed")

    def _timer_handle_cancelled(self, handle: _Timer) -> None:
        if not handle._scheduled:
            return
        self._timers_cancelled += 1
        if self._timers_cancelled > _PURGE_AT and self._timers_cancelled * 2 > len(self._timers):
            # ``handle`` itself is marked as cancelled only after this call.
            self._timers = [entry for entry in self._timers if entry[2] is not handle and not entry[2].cancelled()]
            heapq.heapify(self._timers)
            handle._scheduled = False
            self._timers_cancelled = 0

    def _run_once(self) -> None:
        ready = self._ready
        if not ready and not self._stopping:
            self._jump()
        self._collect_due()
        self._turns += 1
        if self._turns > MAX_TURNS_AT_ONE_INSTANT:
            raise RuntimeError(
                f"virtual time stands still at {self._now:.6f} s: something spins without waiting "
                f"(pending: {self._pending_tasks()})"
            )
        # Only what is ready now: callbacks that these add belong to the next turn.
        for _ in range(len(ready)):
            handle = ready.popleft()
            if not handle._cancelled:
                handle._run()

    def _jump(self) -> None:
        timers = self._timers
        while timers and timers[0][2]._cancelled:
            heapq.heappop(timers)[2]._scheduled = False
            self._timers_cancelled -= 1
        if not timers or timers[0][0] == math.inf:
            raise RuntimeError(
                f"deadlock in virtual time at {self._now:.6f} s: nothing is ready and no timer is set, "
                f"so these would wait for ever: {self._pending_tasks()}"
            )
        when = timers[0][0]
        if when > self._now:
            self._now = when
            self._turns = 0

    def _collect_due(self) -> None:
        timers, now = self._timers, self._now
        while timers and timers[0][0] <= now:
            handle = heapq.heappop(timers)[2]
            handle._scheduled = False
            if handle._cancelled:
                self._timers_cancelled -= 1
            else:
                self._ready.append(handle)

    def _pending_tasks(self) -> str:
        names = sorted(f"{task.get_name()} ({_coroutine_name(task)})" for task in asyncio.all_tasks(self))
        shown = ", ".join(names[:10]) or "no task"
        return shown if len(names) <= 10 else f"{shown} and {len(names) - 10} more"


def _coroutine_name(task: asyncio.Task[Any]) -> str:
    coro = task.get_coro()
    return str(getattr(coro, "__qualname__", coro))


def _refuse(method: str, what: str) -> NoReturn:
    raise RuntimeError(f"{method}: {what} cannot be used in virtual time, where nothing waits for the real world")


def _refusal(method: str, what: str) -> Callable[..., NoReturn]:
    def refused(self: VirtualLoop, *args: object, **kwargs: object) -> NoReturn:
        _refuse(method, what)

    refused.__name__ = method
    refused.__doc__ = f"Refused: {what} cannot be used in virtual time."
    return refused


for _what, _methods in _REFUSED.items():
    for _method in _methods:
        setattr(VirtualLoop, _method, _refusal(_method, _what))


def run_virtual(main: Coroutine[Any, Any, _T]) -> _T:
    """Run ``main`` to its end in virtual time and return its result, like ``asyncio.run``.

    What is still running afterwards is cancelled, and the loop is closed. Raises what ``main`` raises, and
    ``RuntimeError`` on a deadlock, on a spin, or inside a running loop.
    """
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)
