"""``python -m apex_tui.engine``: makes the interpreter quick to start, and then is the engine (``child``).

Deliberately without imports of its own: a screen waits for the first frame.
"""

from __future__ import annotations

import gc
import os
import sys


def main() -> int:
    """Run one session as the screen's child. Returns the exit code."""
    gc.disable()  # imports leave no garbage; the session turns it on again when it is over
    # Else pydantic would look through every installed package for some.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    from apex_tui.engine.child import main as serve

    return serve()


if __name__ == "__main__":
    sys.exit(main())
