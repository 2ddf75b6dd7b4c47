"""Audio on the sample clock: frames, play-out, edges, clips, recordings and sinks.

In here: everything that counts in samples of 24 kHz mono. Deliberately not in here: agents' wires, the caller's plan, and
what the timings mean; nothing is imported on the way in, so that a reader of clips does not load a sound device.
"""
