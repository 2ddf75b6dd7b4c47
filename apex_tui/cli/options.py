"""Arguments and flags that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print data as JSON on stdout.")]
ProfileFile = Annotated[
    Path | None, typer.Option("--profile-file", help="Your own agents and dialects (TOML); see docs/agents.md.")
]
PartUrl = Annotated[str | None, typer.Option(help="Address of this part of a cascade.")]
HtmlFile = Annotated[Path | None, typer.Option("--html", help="Also write one self-contained HTML file.")]
WithSound = Annotated[bool, typer.Option("--with-sound", help="Put the recordings into the HTML file.")]
NameOrPath = Annotated[str, typer.Argument(help="A workflow's id, a recipe file, or an official package's folder.")]
Plain = Annotated[
    bool, typer.Option("--plain", help="One line per event instead of a screen (for screen readers and pipes).")
]
Fps = Annotated[int | None, typer.Option("--fps", help="Repaints a second, 1 to 60; 5 suits a slow line.")]
ThemeName = Annotated[str | None, typer.Option("--theme", help="dark, light, contrast, ansi or ansi-light.")]
