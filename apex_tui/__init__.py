"""apex_tui: professional workflows against full-duplex voice agents, on one clock."""

__version__ = "0.1.0"
