"""The speech bank: what every clip of a workflow says and where its edges lie, checked before it is spoken.

``manifest`` the models of ``manifest.json`` · ``marks`` pause marks in a text · ``shape`` levels, trimming, joining ·
``bank`` opening and verifying · ``voices`` and ``fetch`` the speech engines · ``render`` making the clips.
Only ``bank``, ``manifest``, ``marks`` and ``shape`` are needed to run a session; the rest needs the extra ``render``.
"""
