"""Where the official toy package is, and how to get a copy of it that a test may change."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
COMPAT = Path(os.environ.get("APEX_TUI_COMPAT") or ROOT.parent / "shared" / "compat")


def toy() -> Path:
    """The toy package, or a loud skip."""
    folder = COMPAT / "toy_form_001"
    if not folder.is_dir():
        pytest.skip(
            f"official toy package not found at {folder}: set APEX_TUI_COMPAT to the folder that holds toy_form_001"
        )
    return folder


def toy_copy(folder: Path) -> Path:
    """A writable copy of the toy package."""
    copy = folder / "toy_form_001"
    shutil.copytree(toy(), copy)
    for path in (copy, *copy.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return copy
