"""Floor 7: whatever runs many sessions: checks of workflows."""
