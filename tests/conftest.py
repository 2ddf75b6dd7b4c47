"""Every session that a test runs in its own process is judged again from its own files, and the verdict must be the stored one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from apex_tui.engine import session as engine
from apex_tui.score.judge import score_folder
from apex_tui.score.verdict import Score


@pytest.fixture(autouse=True, scope="session")
def judged_again() -> Iterator[None]:
    """Compare the verdict that a finished session wrote with the one that its folder gives."""
    with pytest.MonkeyPatch.context() as patch:
        finish = engine._Session._finish

        def checked(self: Any, *given: Any) -> Any:
            result = finish(self, *given)
            stored = Score.model_validate_json(self.folder.score.read_bytes())
            assert score_folder(self.folder.path) == stored, f"{self.folder.path}: rescoring gives another verdict"
            return result

        patch.setattr(engine._Session, "_finish", checked)
        yield
