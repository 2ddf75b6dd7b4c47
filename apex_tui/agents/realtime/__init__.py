"""The OpenAI-realtime family (GA shape): a protocol core without I/O, and the agent around it.

``profile`` what differs between servers · ``sessions`` the session message · ``door`` and ``errors`` reading what a server sent · ``speaking`` and
``hearing`` items of the agent's speech, transcripts of the caller's · ``order`` repeated and late messages · ``replies`` which reply may speak,
and when a new one may be asked for · ``client`` the protocol · ``onset`` an ear beside the server's · ``push_to_talk`` the button · ``agent`` the
I/O around it.
"""
