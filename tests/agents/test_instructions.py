from __future__ import annotations

from agent_kit import TOOLS, workflow

from apex_tui.agents.instructions import build_instructions, instructions_sha256, tools_sha256


def test_the_prompt_states_the_public_side() -> None:
    prompt = build_instructions(workflow())
    for wanted in (
        "Leave request",
        "HR assistant",
        "A3_APPROVAL_GATED_COMMIT",
        "approval first: submit",
        "- date (string; required; when it changes, renew days): first day of the leave",
        "- kind (string; one of annual, unpaid)",
        "Ask for what you need",
        "When the caller corrects something, update the artifact",
    ):
        assert wanted in prompt


def test_the_prompt_holds_no_secret() -> None:
    prompt = build_instructions(workflow())
    assert "SECRET" not in prompt
    assert "2026-12-14" not in prompt
    assert "fourteenth" not in prompt


def test_digests_depend_on_the_content_only() -> None:
    assert instructions_sha256("é") == "4a99557e4033c3539de2eb65472017cad5f9557f7a0625a09f1c3f6e2ba69c4c"
    turned = [dict(reversed(list(tool.items()))) for tool in TOOLS]
    assert tools_sha256(turned) == tools_sha256(TOOLS)
    assert tools_sha256(TOOLS[:1]) != tools_sha256(TOOLS)
