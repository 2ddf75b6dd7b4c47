"""The cascade: speech to text, a chat model, text to speech, with turn detection and barge-in of our own.

``agent`` is the seam, ``voice`` and ``ears`` are the two audio endpoints, ``sentences`` cuts what is spoken (pure). The model is
the text families'. Each part has its own address, model and key, and is swapped without the others.
"""
