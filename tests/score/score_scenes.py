"""Tiny timelines of who had the floor, each with one thing that happens in it."""

from __future__ import annotations

from collections.abc import Callable

from score_logs import Log


def talking(reply: str = "r1") -> Log:
    """The agent has been audible since 1000."""
    log = Log()
    log.start()
    log.reply(900, reply)
    log.on(1000, reply, 100)
    return log


def yielded() -> Log:
    log = talking()
    log.caller(1, 3000, 4500)
    log.noticed(3080)
    log.flushed(3090, "r1")
    log.generated(3100, "r1", "cancelled")
    log.off(3141, "r1")
    log.closed(3420, "r1", "flushed")
    log.caller_ends(1, 4500)
    log.end(9000)
    return log


def natural_end() -> Log:
    log = talking()
    log.generated(2000, "r1")
    log.caller(1, 3000, 4500)
    log.off(3300, "r1")
    log.closed(3600, "r1", "played")
    log.caller_ends(1, 4500)
    log.end(9000)
    return log


def unattributed() -> Log:
    log = talking()
    log.caller(1, 3000, 4500)
    log.off(3300, "r1")
    log.caller_ends(1, 4500)
    log.end(9000)
    return log


def resumed() -> Log:
    log = talking()
    log.caller(1, 3000, 4900)
    log.off(3200, "r1")
    log.on(3800, "r1")
    log.off(4400, "r1")
    log.caller_ends(1, 4900)
    log.end(9000)
    return log


def not_stopped() -> Log:
    log = talking()
    log.caller(1, 3000, 3400)
    log.caller_ends(1, 3400)
    log.off(6000, "r1")
    log.end(9000)
    return log


def cut_by_next_turn() -> Log:
    log = talking()
    log.caller(1, 3000, 3400)
    log.caller_ends(1, 3400)
    log.caller(2, 4200, 4600)
    log.caller_ends(2, 4600)
    log.off(8000, "r1")
    log.end(9000)
    return log


def cut_by_end() -> Log:
    log = talking()
    log.caller(1, 3000, 3400)
    log.caller_ends(1, 3400)
    log.end(4000)
    return log


def stale_bursts() -> Log:
    log = yielded_core()
    log.on(3600, "r1")
    log.off(3700, "r1")
    log.on(4100, "r1")
    log.off(4300, "r1")
    log.caller_ends(1, 4700)
    log.end(9000)
    return log


def yielded_core() -> Log:
    log = talking()
    log.caller(1, 3000, 4700)
    log.flushed(3100, "r1")
    log.off(3250, "r1")
    return log


def in_pause() -> Log:
    """The agent paused, and went on once the caller had finished."""
    log = talking()
    log.off(2500, "r1")
    log.caller(1, 3000, 3500)
    log.caller_ends(1, 3500)
    log.on(3800, "r1")
    log.off(5000, "r1")
    log.end(9000)
    return log


def in_pause_resumed() -> Log:
    """The agent paused, and went on over the caller's words."""
    log = talking()
    log.off(2500, "r1")
    log.caller(1, 3000, 4500)
    log.on(3400, "r1")
    log.caller_ends(1, 4500)
    log.off(5000, "r1")
    log.end(9000)
    return log


def in_pause_yielded() -> Log:
    """The agent paused, and dropped the rest."""
    log = talking()
    log.off(2500, "r1")
    log.caller(1, 3000, 4500)
    log.flushed(3100, "r1")
    log.caller_ends(1, 4500)
    log.end(9000)
    return log


def backchannel(off: float, flush: bool = True, again: float | None = None, end: float = 9000) -> Log:
    log = talking()
    log.caller(1, 3000, 3300, act="BACKCHANNEL")
    if flush:
        log.flushed(3100, "r1")
    log.caller_ends(1, 3300)
    log.off(off, "r1")
    if again is not None:
        log.on(again, "r2")
        log.off(again + 2000, "r2")
    log.end(end)
    return log


def asked(answer_on: float, *, after_tool: bool = False) -> Log:
    log = Log()
    log.start()
    log.caller(1, 1000, 3000)
    if answer_on - 150 >= 3000:
        log.caller_ends(1, 3000)
    log.reply(answer_on - 150, "r1", after_tool)
    log.on(answer_on, "r1", 40)
    if answer_on - 150 < 3000:
        log.caller_ends(1, 3000)
    log.off(answer_on + 1500, "r1")
    log.closed(answer_on + 1800, "r1")
    log.end(9000)
    return log


def waiting(tool: tuple[float, float] | None, until: float = 6500, cancel: bool = False) -> Log:
    log = Log()
    log.start()
    log.caller(1, 1000, 2000)
    log.caller_ends(1, 2000)
    if tool is not None:
        log.tool(tool[0], "t1", "search")
        log.tool_done(tool[1], "t1", "search")
    log.reply(until - 100, "r1")
    log.on(until, "r1")
    log.off(until + 800, "r1")
    log.end(until + 2000)
    return log


SCENES: list[Callable[[], Log]] = [
    yielded,
    natural_end,
    unattributed,
    resumed,
    not_stopped,
    cut_by_next_turn,
    cut_by_end,
    stale_bursts,
    in_pause,
    in_pause_resumed,
    in_pause_yielded,
    lambda: backchannel(3500),
    lambda: backchannel(3500, again=3900),
    lambda: asked(2850.0),
    lambda: waiting((2500, 6000)),
]
