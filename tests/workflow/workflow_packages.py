"""Where the official toy package is, and how to get a copy of it that a test may change."""

from __future__ import annotations

import shutil
from pathlib import Path

from sample_package import published_sample


def toy() -> Path:
    """The published sample package, or a loud skip."""
    return published_sample()


def toy_copy(folder: Path) -> Path:
    """A writable copy of the toy package."""
    copy = folder / "toy_form_001"
    shutil.copytree(toy(), copy)
    for path in (copy, *copy.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return copy
