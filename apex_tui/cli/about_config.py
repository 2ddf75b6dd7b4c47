"""``apex-tui config``: the settings in force, and where each comes from."""

from __future__ import annotations

import json

from apex_tui.store.settings import OPTIONS, config_path, layout_path, load_settings


def show(*, as_json: bool = False) -> None:
    """Print every setting with its value and source, then the keymap and the places of the files.

    Raises:
        UserError: the file or the environment holds something that cannot be used.
    """
    from apex_tui.tui.keymap import check_keymap
    from apex_tui.tui.keys import action_ids

    settings = load_settings(actions=action_ids())
    check_keymap(settings.keymap, config_path())
    if as_json:
        rows = {
            name: {"value": settings.values[name], "source": settings.sources[name], "help": option.help}
            for name, option in OPTIONS.items()
        }
        record = {"file": str(config_path()), "layout": str(layout_path()), "settings": rows, "keymap": settings.keymap}
        print(json.dumps(record, ensure_ascii=False, indent=2))
        return
    there = "" if config_path().is_file() else " (not there: all defaults)"
    print(f"file    {config_path()}{there}")
    print(f"layout  {layout_path()} (remembered by the screen)")
    print()
    cells = max(map(len, OPTIONS))
    for name, option in OPTIONS.items():
        value = settings.values[name]
        shown = str(value).lower() if isinstance(value, bool) else str(value)
        print(f"{name:<{cells}} {shown:<12} {settings.sources[name]:<34} {option.help}")
    for action, keys in settings.keymap.items():
        print(f"keymap.{action} = {keys}")
