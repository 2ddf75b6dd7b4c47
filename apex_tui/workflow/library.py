"""Which workflows there are, and how a name or a path on the command line becomes one.

In here: our own recipes beside this package, the user's own place, recipe files and official package folders. Deliberately not in here: how
each is read.
"""

from __future__ import annotations

import difflib
import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import platformdirs

from apex_tui.timeline.errors import WorkflowError
from apex_tui.timeline.paths import user_path
from apex_tui.workflow.compile import read_recipe
from apex_tui.workflow.files import parse_yaml, read_text
from apex_tui.workflow.model import UNCORRECTED, Workflow

LIBRARY = Path(__file__).resolve().parent.parent / "workflows"
"""Our recipes: ``<archetype>/<id>.yaml``."""
OWN_VARIABLE = "APEX_TUI_WORKFLOWS"
"""Environment variable that names the user's own place for workflows."""


def own_place() -> Path:
    """Where the user's own workflows lie, ``<id>/<id>.yaml``: ``APEX_TUI_WORKFLOWS``, else the user's data folder. It need not exist.

    Never the checkout: it may hold people's voices.
    """
    named = os.environ.get(OWN_VARIABLE)
    return user_path(named) if named else Path(platformdirs.user_data_dir("apex-tui", appauthor=False)) / "workflows"


def own_recipes() -> dict[str, Path]:
    """The user's own recipes by id (the file's name)."""
    return {path.stem: path for path in sorted(own_place().glob("*/*.yaml"))}


@dataclass(frozen=True)
class Card:
    """A workflow in a list. ``fields`` and ``corrections`` are numbers; ``caller`` is the caller's profile."""

    id: str
    title: str
    archetype: str
    summary: str
    path: Path
    profession: str = ""
    industry: str = ""
    caller: str = ""
    autonomy: str = ""
    fields: int = 0
    corrections: int = 0


MAX_PATH = 1000
"""Characters; no file system takes much more, and one part of a path may have 255."""


def list_workflows(folder: Path = LIBRARY) -> list[Card]:
    """Return a card per recipe in ``folder``, by archetype and id, without compiling any. ``WorkflowError``: one cannot be read."""
    cards = [_card(path, path.stat().st_mtime_ns) for path in sorted(folder.glob("*/*.yaml"))]
    return sorted(cards, key=lambda card: (card.archetype, card.id))


def list_own() -> list[Card]:
    """Return a card per recipe in the user's own place; that of one that cannot be read says why."""
    cards = []
    for name, path in own_recipes().items():
        try:
            cards.append(_card(path, path.stat().st_mtime_ns))
        except (WorkflowError, OSError) as error:
            cards.append(Card(name, "cannot be read", "", str(error), path))
    return sorted(cards, key=lambda card: (card.archetype, card.id))


def is_named(name: str) -> bool:
    """Whether it is the id of one of our workflows, of a twin, or of one of the user's own."""
    return is_ours(name) or name.removesuffix(UNCORRECTED) in own_recipes()


def is_ours(name: str, folder: Path = LIBRARY) -> bool:
    """Whether it is the id of one of our workflows, or of a twin; an id goes before a path of the same name."""
    return any(path.stem == name.removesuffix(UNCORRECTED) for path in folder.glob("*/*.yaml"))


def find_workflow(name_or_path: str, folder: Path = LIBRARY) -> Workflow:
    """Return one of our workflows, or of the user's own, by id (with ``-uncorrected``: its twin), or the one at a path: a recipe (``.yaml``) or
    an official package.

    Raises ``WorkflowError``: it cannot be read, or there is none; then it names the nearest ids.
    """
    own = own_recipes() | {path.stem: path for path in sorted(folder.glob("*/*.yaml"))}
    if name_or_path in own:
        return read_recipe(own[name_or_path])
    if name_or_path.endswith(UNCORRECTED) and name_or_path.removesuffix(UNCORRECTED) in own:
        return read_recipe(own[name_or_path.removesuffix(UNCORRECTED)], twin=True)
    if not name_or_path.strip():
        raise WorkflowError(f"No workflow is named; there are {', '.join(own)}, or give a path to a recipe or package.")
    if len(name_or_path) > MAX_PATH:
        raise WorkflowError(f"{name_or_path[:40]}… is too long for a name or a path; there are {', '.join(own)}.")
    path = user_path(name_or_path)
    try:
        folder_named = path.is_dir()
    except OSError as error:
        raise WorkflowError(
            f"{name_or_path[:80]}: {error.strerror or error}; name a recipe, a package or one of {', '.join(own)}."
        ) from error
    if folder_named:
        if not (path / "task.yaml").is_file():
            raise WorkflowError(
                f"{name_or_path}: no task.yaml in it; name a package folder, a recipe file or one of {', '.join(own)}."
            )
        return _package(path)
    if path.is_file():
        if path.name == "task.yaml":
            return _package(path.parent)
        if path.suffix not in (".yaml", ".yml"):
            raise WorkflowError(f"{name_or_path}: not a recipe (.yaml) and not a package folder.")
        return read_recipe(path)
    beside = [f"{name_or_path}{suffix}" for suffix in (".yaml", ".yml") if Path(f"{path}{suffix}").is_file()]
    if not beside and (path.suffix in (".yaml", ".yml") or len(path.parts) > 1):
        raise WorkflowError(
            f"{name_or_path}: there is no such file; name a recipe, a package or one of {', '.join(own)}."
        )
    near = beside or difflib.get_close_matches(name_or_path, own, n=3, cutoff=0.5)
    there = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(own)}."
    raise WorkflowError(f"There is no workflow {name_or_path!r}; {there} A path to a recipe or package works too.")


def _package(folder: Path) -> Workflow:
    from apex_tui.workflow.official import read_package  # a format of its own, which our recipes do without

    return read_package(folder)


@lru_cache(maxsize=512)
def _card(path: Path, changed_ns: int) -> Card:
    del changed_ns  # only part of what is remembered: a recipe is read again when it was changed
    data = parse_yaml(read_text(path, path.name), path.name, as_written=True)
    if not isinstance(data, dict) or not isinstance(data.get("id"), str):
        raise WorkflowError(f"{path.name}: id: missing.")
    artifact, caller = data.get("artifact"), data.get("caller")
    fields = artifact.get("fields") if isinstance(artifact, dict) else None
    return Card(
        id=data["id"],
        title=str(data.get("title", data["id"])),
        archetype=str(data.get("archetype", "")),
        summary=str(data.get("summary", "")),
        path=path,
        profession=str(data.get("profession", "")),
        industry=str(data.get("industry", "")),
        caller=str(caller.get("profile", "")) if isinstance(caller, dict) else "",
        autonomy=str(data.get("autonomy", "")),
        fields=len(fields) if isinstance(fields, dict) else 0,
        corrections=len(data.get("corrections") or {}),
    )
