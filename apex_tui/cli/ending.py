"""How a command ends: the one place that maps errors to exit codes and sentences.

0 succeeded, 1 the workflow or a check failed, 2 the user's mistake, 3 the session is invalid.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from apex_tui.cli.text import MAX_SENTENCE, clean
from apex_tui.timeline.errors import EXIT_USER, ApexError

INTERRUPTED = 130
"""Exit code after Ctrl-C."""


def say(sentence: object) -> None:
    """One sentence on stderr; what it quotes from outside (an address, a close reason) may hold terminal escapes."""
    print(f"apex-tui: {clean(sentence, MAX_SENTENCE)}", file=sys.stderr)


def exit_code(command: Callable[[], int]) -> int:
    """Run a command; a user's mistake becomes one sentence on stderr and its code, never a traceback."""
    try:
        return command()
    except ApexError as error:
        say(error)
        return error.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output left (as in `apex-tui ... | head`): nothing more can be said.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        say(
            f"{error.filename or 'the system'}: {error.strerror or error}; free some room or choose another place (--out)."
        )
        return EXIT_USER
