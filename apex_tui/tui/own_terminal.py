"""The terminal as Textual drives it, but for what would cost a person the screen or the terminal: odd bytes, glyphs that its encoding does not
have, and a stop that nobody announced.
"""

from __future__ import annotations

import codecs
import io
from functools import partial
from typing import Any

from rich.cells import cell_len
from textual.drivers import linux_driver
from textual.drivers.linux_driver import LinuxDriver


class OwnTerminal(LinuxDriver):
    """Textual's driver on Linux and macOS; Textual is pinned to one version, so its inner names hold."""

    def start_application_mode(self) -> None:
        """Take the terminal over. What its encoding does not have is drawn with other characters: an escape would be six cells for one."""
        if isinstance(self._file, io.TextIOWrapper):
            self._file.reconfigure(errors=STAND_IN)
        super().start_application_mode()  # type: ignore[no-untyped-call]

    def run_input_thread(self) -> None:
        """Read keys; a byte that is no UTF-8 is a replacement character.

        Textual's reader dies of one, and the whole screen with it; a terminal in Latin-1 sends one for each accented letter, and old mouse reports
        from column 96 on hold one. ``getincrementaldecoder`` is the one name by which the reader finds a decoder.
        """
        vars(linux_driver)["getincrementaldecoder"] = forgiving_decoder
        super().run_input_thread()

    def _sigcont_application(self, *args: Any) -> None:
        """Go on after a stop.

        Of SIGSTOP a process is not told: the screen was never left. Entering it twice would take the state of a terminal under the screen for the
        state to give back at the end, so that the shell would be left without echo.
        """
        if self._auto_restart and not self._must_signal_resume and self._writer_thread is not None:
            self.suspend_application_mode()
            self._must_signal_resume = True
        super()._sigcont_application(*args)


def forgiving_decoder(encoding: str) -> partial[codecs.IncrementalDecoder]:
    """What makes decoders that replace what they cannot decode."""
    return partial(codecs.getincrementaldecoder(encoding), "replace")


STAND_IN = "apex_tui.stand_in"
"""Name of the way of encoding that writes a character of the same width for each one that the terminal's encoding does not have."""
_LIKE = {
    "·": ".", "…": ".", "—": "-", "–": "-", "−": "-", "✓": "v", "✗": "x", "╳": "X", "×": "x", "▲": "^", "►": ">", "▸": ">", "◆": "*", "●": "*",
    "○": "o", "■": "#", "≠": "!", "±": "~", "←": "<", "→": ">", "↑": "^", "↓": "v", "’": "'", "‘": "'", "“": '"', "”": '"',
    "─": "-", **dict.fromkeys("━╼╾╺╸", "="), **dict.fromkeys("│┃╻╹", "|"), "╋": "X",
}  # fmt: skip


def stand_in(error: UnicodeError) -> tuple[str, int]:
    """ASCII of the width of what could not be encoded: a like character where there is one, ``+`` for a corner, ``#`` for a block, else ``?``."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(_like, error.object[error.start : error.end])), error.end


def _like(char: str) -> str:
    if char in _LIKE:
        return _LIKE[char]
    if "\u2500" <= char <= "\u257f":
        return "+"
    return "#" if "\u2580" <= char <= "\u259f" else "?" * cell_len(char)


codecs.register_error(STAND_IN, stand_in)
