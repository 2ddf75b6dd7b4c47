"""Floor 2: the workflow model, and the readers that produce it."""
