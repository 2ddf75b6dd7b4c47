"""Floor 1: what can happen, the log it is written to, the clocks, and the fold that turns it into state."""
