"""Floor 6: the engine. Runs a workflow against an agent and writes one timeline; never imports the screen."""
