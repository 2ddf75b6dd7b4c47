"""``python -m apex_tui`` is ``apex-tui``."""

import sys

from apex_tui.cli import main

if __name__ == "__main__":
    sys.exit(main())
