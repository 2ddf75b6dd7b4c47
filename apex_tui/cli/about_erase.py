"""``apex-tui erase``: a person's voice and words out of a session, and out of the clips that were made of it; and what remains."""

from __future__ import annotations

import json
import shutil
import sys
from datetime import UTC, datetime
from pathlib import Path

from apex_tui.bank.own import OwnClip, read_own, remove_clips
from apex_tui.cli.text import clean
from apex_tui.store.erase import erase, need_person
from apex_tui.store.recording import find_recording, list_recordings, open_recording
from apex_tui.store.roots import reviews_folder, sessions_root
from apex_tui.timeline.errors import EXIT_OK, UserError
from apex_tui.workflow.compile import OWN_SPEECH
from apex_tui.workflow.library import own_recipes
from apex_tui.workflow.model import UNCORRECTED

REMAINS = (
    "what the agent said and wrote, which may repeat what the person said",
    "times, levels and verdicts",
    "copies that somebody exported, pages that hold the sound, review files that you wrote (--draft), and scenarios made elsewhere (--out)",
)


def run(session: str, turns: list[int], *, scenarios: bool, agreed: bool, as_json: bool) -> int:
    """Erase, and say what was removed and what remains."""
    recording = open_recording(find_recording(session))
    need_person(recording)
    name = recording.meta.session
    clips = _clips_of(name, turns)
    whole = "every word" if not turns else f"turn {', '.join(map(str, turns))}"
    if not agreed:
        held = sum(map(len, clips.values()))
        raise UserError(
            f"this silences {whole} of the caller in {recording.folder.path} and removes {held} clips; it cannot be undone: add --yes."
        )
    utc = datetime.now(tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")  # noqa: TID251 - the tombstone's date
    removed = _remove(clips, scenarios=scenarios)
    done = erase(recording, utc, turns)
    begun = [reviews_folder() / f"{recording.folder.name}{end}" for end in (".yaml", ".yaml.new", ".heard.yaml")]
    for review in filter(Path.is_file, begun):
        review.unlink()
        removed.append("removed the review that was begun, with its words")
    left = list(REMAINS)
    left += [
        f"the voice in {path}, which replayed a scenario of it: erase it too"
        for path in _replays(clips, recording.folder.path.parent)
    ]
    if recording.meta.caller == "recorded":
        left.append(
            "the words of the scenario in its workflow.json, by which the verdict stays the same: remove the session to be rid of them"
        )
    if not scenarios:
        left += [f"the words in {path}, which its recipe says: --scenarios removes it whole" for path in clips]
    if as_json:
        print(
            json.dumps(
                {
                    "session": name,
                    "silenced_s": done.silenced_s,
                    "texts": done.texts,
                    "raw_messages_removed": done.wire,
                    "clips_removed": {str(path): len(found) for path, found in clips.items()},
                    "remains": left,
                },
                ensure_ascii=False,
            )
        )
        return EXIT_OK
    print(
        f"erased in {recording.folder.path}: {done.silenced_s:.1f} s of voice silenced, {done.texts} texts redacted",
        end="",
    )
    print(", raw messages removed" if done.wire else "")
    for line in removed:
        print(clean(line))
    print("what remains:", file=sys.stderr)
    for line in left:
        print(clean(f"  {line}"), file=sys.stderr)
    return EXIT_OK


def _clips_of(session: str, turns: list[int]) -> dict[Path, list[OwnClip]]:
    """Recipe of the user's own -> its clips that were recorded in this session (in these turns)."""
    found: dict[Path, list[OwnClip]] = {}
    for recipe in own_recipes().values():
        speech = recipe.with_suffix(OWN_SPEECH)
        mine = [
            clip
            for clip in read_own(speech).clips
            if clip.session == session and (not turns or {clip.turn, *clip.also} & set(turns))
        ]
        if mine:
            found[recipe] = mine
    return found


def _replays(clips: dict[Path, list[OwnClip]], beside: Path) -> list[Path]:
    """Sessions in the usual place, and where this one lies, that replayed a scenario made of it; the voice is in each of them."""
    ids = {recipe.stem for recipe in clips}
    places = {place.resolve(): place for place in (beside, sessions_root())} if ids else {}
    return [
        row.path
        for place in places.values()
        for row in list_recordings(place)
        if row.workflow.removesuffix(UNCORRECTED) in ids
    ]


def _remove(clips: dict[Path, list[OwnClip]], *, scenarios: bool) -> list[str]:
    told = []
    for recipe, mine in clips.items():
        remove_clips(recipe.with_suffix(OWN_SPEECH), mine)
        if scenarios:
            told.append(f"removed the scenario {_drop(recipe)}")
        else:
            told.append(f"removed {len(mine)} clips of {recipe.stem}: its lines are spoken by others now")
    return told


def _drop(recipe: Path) -> Path:
    """Remove a scenario whole: its folder, unless that holds more than this one. Returns what was removed."""
    folder = recipe.parent
    if folder.name == recipe.stem and list(folder.glob("*.yaml")) == [recipe]:
        shutil.rmtree(folder)
        return folder
    shutil.rmtree(recipe.with_suffix(OWN_SPEECH))
    recipe.unlink()
    return recipe
