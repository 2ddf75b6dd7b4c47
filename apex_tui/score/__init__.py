"""Floor 5: verdicts. Everything here is a function of the event log and the workflow snapshot."""
