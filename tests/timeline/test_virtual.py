"""Virtual time: it jumps, it is exact, it is the same twice, and it refuses the real world."""

from __future__ import annotations

import asyncio
import gc
import socket
import threading
import time
from collections.abc import Awaitable, Callable

import pytest

from apex_tui.timeline.virtual import VirtualLoop, run_virtual


def now() -> float:
    return asyncio.get_running_loop().time()


def test_an_hour_passes_at_once() -> None:
    async def main() -> float:
        await asyncio.sleep(3600)
        return now()

    began = time.monotonic()
    assert run_virtual(main()) == 3600.0
    assert time.monotonic() - began < 60


def test_time_starts_at_zero_and_stands_still_while_anything_is_ready() -> None:
    async def main() -> list[float]:
        seen = [now()]
        for _ in range(1000):
            await asyncio.sleep(0)
        seen.append(now())
        return seen

    assert run_virtual(main()) == [0.0, 0.0]


@pytest.mark.parametrize("start", [0.0, 0.1, 1234.567])
def test_absolute_deadlines_fire_at_exactly_their_time(start: float) -> None:
    async def main() -> list[tuple[float, float]]:
        loop = asyncio.get_running_loop()
        fired: list[tuple[float, float]] = []
        done = asyncio.Event()

        def tick(deadline: float, last: bool) -> None:
            fired.append((deadline, loop.time()))
            if last:
                done.set()

        for k in range(1, 5001):
            loop.call_at(start + k * 0.02, tick, start + k * 0.02, k == 5000)
        await done.wait()
        return fired

    fired = run_virtual(main())
    assert len(fired) == 5000
    assert all(deadline == at for deadline, at in fired)


def test_deadlines_one_ulp_apart_do_not_share_a_time() -> None:
    async def main() -> list[float]:
        loop = asyncio.get_running_loop()
        seen: list[float] = []
        for when in (3 * 0.1, 0.3):  # 0.30000000000000004 and 0.3
            loop.call_at(when, lambda: seen.append(loop.time()))
        await asyncio.sleep(1)
        return seen

    assert run_virtual(main()) == [0.3, 3 * 0.1]


def test_equal_deadlines_fire_in_the_order_in_which_they_were_set() -> None:
    async def main() -> list[int]:
        loop = asyncio.get_running_loop()
        order: list[int] = []
        for n in range(100):
            loop.call_at(1.0, order.append, n)
        await asyncio.sleep(2)
        return order

    assert run_virtual(main()) == list(range(100))


def test_a_deadline_in_the_past_fires_now() -> None:
    async def main() -> float:
        await asyncio.sleep(5)
        fired = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_at(1.0, lambda: fired.set_result(now()))
        return float(await fired)

    assert run_virtual(main()) == 5.0


def test_timeouts_and_cancellation() -> None:
    async def main() -> list[object]:
        seen: list[object] = []
        try:
            async with asyncio.timeout(0.25):
                await asyncio.sleep(10)
        except TimeoutError:
            seen.append(now())
        try:
            await asyncio.wait_for(asyncio.Event().wait(), 0.5)
        except TimeoutError:
            seen.append(now())
        task = asyncio.create_task(asyncio.sleep(10))
        await asyncio.sleep(1)
        task.cancel()
        result = await asyncio.gather(task, return_exceptions=True)
        seen += [type(result[0]), now()]
        return seen

    assert run_virtual(main()) == [0.25, 0.75, asyncio.CancelledError, 1.75]


def test_gather_takes_as_long_as_the_longest() -> None:
    async def wait(seconds: float) -> float:
        await asyncio.sleep(seconds)
        return now()

    async def main() -> list[float]:
        return [*await asyncio.gather(wait(3), wait(1), wait(2)), now()]

    assert run_virtual(main()) == [3.0, 1.0, 2.0, 3.0]


def test_cancelled_timers_neither_fire_nor_move_time_nor_pile_up() -> None:
    async def main() -> tuple[float, int]:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        for _ in range(10_000):
            loop.call_later(100, pytest.fail, "a cancelled timer fired").cancel()
        kept = [loop.call_later(0.5, lambda: None) for _ in range(10)]
        loop.call_later(50, pytest.fail, "a cancelled timer fired").cancel()
        await asyncio.sleep(1)
        assert not any(handle.cancelled() for handle in kept)
        return loop.time(), len(loop._timers)

    at, timers = run_virtual(main())
    assert at == 1.0
    assert timers < 1000


def test_the_same_program_runs_the_same_way_twice() -> None:
    async def main() -> list[tuple[str, float]]:
        log: list[tuple[str, float]] = []
        queue: asyncio.Queue[int] = asyncio.Queue(2)

        async def producer() -> None:
            for n in range(50):
                await queue.put(n)
                await asyncio.sleep(0.02 if n % 3 else 0)

        async def consumer(name: str) -> None:
            while True:
                log.append((f"{name}{await queue.get()}", now()))
                await asyncio.sleep(0.03)

        consumers = [asyncio.create_task(consumer(name)) for name in "ab"]
        await producer()
        for task in consumers:
            task.cancel()
        return log

    first = run_virtual(main())
    assert len(first) >= 48
    assert run_virtual(main()) == first


def test_a_deadlock_names_who_waits() -> None:
    async def main() -> None:
        waiter = asyncio.create_task(asyncio.Event().wait(), name="the caller's ear")
        await asyncio.sleep(2)
        await waiter

    with pytest.raises(
        RuntimeError, match=r"deadlock in virtual time at 2\.000000 s.*the caller's ear \(Event\.wait\)"
    ):
        run_virtual(main())


def test_a_timer_at_infinity_is_no_timer() -> None:
    with pytest.raises(RuntimeError, match="deadlock"):
        run_virtual(asyncio.sleep(float("inf")))


def test_a_timer_needs_a_number() -> None:
    with pytest.raises(ValueError, match="NaN"):
        run_virtual(asyncio.sleep(float("nan")))


def test_a_spin_is_reported_instead_of_hanging(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apex_tui.timeline.virtual.MAX_TURNS_AT_ONE_INSTANT", 500)

    async def main() -> None:
        while True:
            await asyncio.sleep(0)

    with pytest.raises(RuntimeError, match=r"stands still at 0\.000000 s"):
        run_virtual(main())


async def _connect() -> None:
    await asyncio.open_connection("localhost", 9)


async def _serve() -> None:
    await asyncio.start_server(lambda reader, writer: None, "localhost", 0)


async def _resolve() -> None:
    await asyncio.get_running_loop().getaddrinfo("localhost", 9)


async def _reader() -> None:
    left, right = socket.socketpair()
    with left, right:
        asyncio.get_running_loop().add_reader(left, lambda: None)


async def _receive() -> None:
    left, right = socket.socketpair()
    with left, right:
        await asyncio.get_running_loop().sock_recv(left, 1)


async def _to_thread() -> None:
    await asyncio.to_thread(time.monotonic)


async def _executor() -> None:
    await asyncio.get_running_loop().run_in_executor(None, time.monotonic)


async def _exec() -> None:
    await asyncio.create_subprocess_exec("true")


async def _shell() -> None:
    await asyncio.create_subprocess_shell("true")


async def _signal() -> None:
    asyncio.get_running_loop().add_signal_handler(10, lambda: None)


@pytest.mark.parametrize(
    ("attempt", "what"),
    [
        (_connect, "a socket"),
        (_serve, "a socket"),
        (_resolve, "a socket"),
        (_reader, "a socket"),
        (_receive, "a socket"),
        (_to_thread, "a thread"),
        (_executor, "a thread"),
        (_exec, "a subprocess"),
        (_shell, "a subprocess"),
        (_signal, "a signal handler"),
    ],
)
def test_the_real_world_is_refused(attempt: Callable[[], Awaitable[None]], what: str) -> None:
    async def main() -> None:
        await attempt()

    with pytest.raises(RuntimeError, match=f"{what} cannot be used in virtual time"):
        run_virtual(main())


def test_another_thread_cannot_call_in() -> None:
    async def main() -> list[str]:
        loop = asyncio.get_running_loop()
        said: list[str] = []

        def intrude() -> None:
            try:
                loop.call_soon_threadsafe(said.append, "ran")
            except RuntimeError as error:
                said.append(str(error))

        thread = threading.Thread(target=intrude)
        thread.start()
        thread.join()
        await asyncio.sleep(1)
        return said

    (said,) = run_virtual(main())
    assert "a thread cannot be used in virtual time" in said


def test_everything_is_closed_at_the_end() -> None:
    ended: list[str] = []

    async def stays() -> None:
        try:
            await asyncio.sleep(1e9)
        finally:
            ended.append("cancelled")

    async def main() -> asyncio.AbstractEventLoop:
        asyncio.get_running_loop().stays = asyncio.create_task(stays())  # type: ignore[attr-defined]
        await asyncio.sleep(1)
        return asyncio.get_running_loop()

    loop = run_virtual(main())
    assert ended == ["cancelled"]
    assert loop.is_closed()
    with pytest.raises(RuntimeError, match="closed"):
        loop.call_later(1, lambda: None)


def test_an_error_comes_out_and_the_loop_is_not_left_open() -> None:
    async def main() -> None:
        await asyncio.sleep(1)
        raise LookupError("lost")

    with pytest.raises(LookupError, match="lost"):
        run_virtual(main())
    gc.collect()  # an unclosed loop would warn here, and warnings are errors


def test_a_wake_up_is_cheap() -> None:
    async def main() -> None:
        for _ in range(5000):
            await asyncio.sleep(0.02)

    began = time.process_time()
    run_virtual(main())
    each_us = (time.process_time() - began) / 5000 * 1e6
    assert each_us < 100, each_us  # about 5 us on a quiet machine; the margin is for a shared one
