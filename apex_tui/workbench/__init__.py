"""Floor 3: the workbench that the agent's tools act on: artifact versions, authority, knowledge and world. No I/O, no clock."""

from apex_tui.workbench.calls import CallBegun, CallDone
from apex_tui.workbench.schemas import tool_schemas
from apex_tui.workbench.workbench import Workbench

__all__ = ["CallBegun", "CallDone", "Workbench", "tool_schemas"]
