"""Floor 3: sessions on disk. What lies where, how it is written, and how whatever is left of it is opened again."""
