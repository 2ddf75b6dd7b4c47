"""Every error that a user can meet, and the exit code that it maps to.

    ApexError
    ├── UserError            exit 2: the user's mistake (file, key, name, port); one sentence with the way out
    │   ├── WorkflowError    a recipe or an official package that cannot be used
    │   ├── BankError        a clip that is missing, cut, or not what its digest says
    │   └── RecordingError   a session folder that cannot be opened
    └── SessionInvalid       exit 3: the run cannot be judged (infrastructure, simulator, operator)

The message is all that is shown; it never holds a key or another secret.
"""

from __future__ import annotations

EXIT_OK = 0
EXIT_FAILED = 1
EXIT_USER = 2
EXIT_INVALID = 3


class ApexError(Exception):
    """Root of all errors that are reported in one sentence. ``exit_code`` is what the command returns."""

    exit_code = EXIT_USER


class UserError(ApexError):
    """The user's mistake: names the file, field or key, and the way out."""


class WorkflowError(UserError):
    """A workflow (recipe or official package) that cannot be loaded or does not hold together."""


class BankError(UserError):
    """A speech bank that is missing, incomplete, cut or altered."""


class RecordingError(UserError):
    """A session folder that cannot be opened, or was written by a newer version."""


class SessionInvalid(ApexError):
    """The session ended in a way that judges nobody: infrastructure, the simulated caller, or the operator."""

    exit_code = EXIT_INVALID
