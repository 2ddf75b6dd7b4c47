"""Sound in replay: an engine is told where the cursor is, and the screen says what it found."""

from pathlib import Path

import tui_sample as sample
from textual.pilot import Pilot
from tui_fakes import FakeLink, make_app

from apex_tui.timeline.errors import UserError
from apex_tui.timeline.messages import AnyCommand, Failed, Listen, Meters, Opened, Pause, Play
from apex_tui.tui.app import Replay
from apex_tui.tui.render_band import Levels
from apex_tui.tui.replay_sound import ReplaySound
from apex_tui.tui.screen_replay import ReplayScreen

FOUND = Opened(session="s", folder="/s/one", sound="sound on Box")
FOLDER = Path("/s/one")


def meters(ms: float) -> Meters:
    return Meters(media_ms=ms, caller_db=-30, agent_db=-20, late_ms=0, queue_ms=0)


def last(link: FakeLink) -> AnyCommand:
    return link.sent[-1]


async def started(link: FakeLink) -> ReplaySound:
    sound = ReplaySound(lambda: link, FOLDER)
    sound.play(1000.0, 1.0)
    assert sound.to_start
    assert await sound.start() is None
    return sound


async def test_it_joins_when_it_is_ready_where_the_cursor_is_by_then() -> None:
    link = FakeLink()
    sound = await started(link)
    assert link.sent == [Listen(folder=str(FOLDER))]
    assert sound.follow(1500.0, 1.0) is None
    link.items = [FOUND]
    assert sound.follow(1800.0, 1.0) == "sound on Box"
    assert link.sent[1:] == [Play(at_ms=1800.0, speed=1.0)]
    link.items = [meters(1850.0)]
    sound.follow(1900.0, 1.0)
    levels: Levels | None = sound.levels
    assert levels == Levels(-30, -20)
    assert len(link.sent) == 2, "near enough"
    link.items = [meters(1900.0)]
    sound.follow(2400.0, 1.0)
    assert last(link) == Play(at_ms=2400.0, speed=1.0), "brought together again"
    sound.pause()
    sound.pause()
    assert last(link) == Pause()
    assert sound.levels is None
    await sound.close()
    assert link.detached


async def test_what_cannot_be_played_is_one_sentence() -> None:
    link = FakeLink([Failed(message="audio.wav is neither a WAV nor an Ogg file", exit_code=2)])
    sound = await started(link)
    assert sound.follow(0.0, 1.0) == "no sound: audio.wav is neither a WAV nor an Ogg file"
    assert not sound.on

    class Refusing(FakeLink):
        async def start(self, command: AnyCommand) -> None:
            raise UserError("the engine could not be started: no memory")

    other = ReplaySound(Refusing, FOLDER)
    other.play(0.0, 1.0)
    assert await other.start() == "no sound: the engine could not be started: no memory"
    assert not ReplaySound(FakeLink, None).toggle()


async def test_the_keys_of_a_replay_move_the_sound() -> None:
    link = FakeLink([FOUND])
    app = make_app(Replay(FOLDER), link=link, verdict=sample.score())
    async with app.run_test(size=(120, 36)) as pilot:

        async def press(*keys: str) -> None:
            await pilot.press(*keys)
            await app.workers.wait_for_complete()
            await wait(pilot)

        await press()
        assert isinstance(app.screen, ReplayScreen)
        await press("right")
        assert link.sent == [], "nothing is started before something plays"
        await press("space")
        assert link.sent[0] == Listen(folder=str(FOLDER))
        assert "sound on Box" in app.screen.banner.lines[0].plain
        await press("plus")
        assert last(link) == Play(at_ms=1000.0, speed=2.0)
        await press("s")
        assert last(link) == Pause()
        assert "sound off" in app.screen.banner.lines[0].plain
        await press("s")
        assert last(link) == Play(at_ms=1000.0, speed=2.0)
        await press("space")
        assert last(link) == Pause()
    assert link.detached


async def wait(pilot: Pilot[int]) -> None:
    for _ in range(2):
        await pilot.pause(0.06)
