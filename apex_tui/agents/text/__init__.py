"""Agents that write: chat completions and Responses over HTTP, streamed.

``agent`` is the seam; ``chat`` and ``responses`` are the two dialects (pure); ``conversation`` keeps what was said (pure);
``endpoint`` is the only place with a socket. The cascade uses the same model behind its voice.
"""
