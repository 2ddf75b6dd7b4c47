"""The OpenAI-realtime family (GA shape): a protocol core without I/O, and the agent around it.

``profile`` what differs between servers · ``door`` reading what a server sent · ``replies`` which reply may speak, and
when a new one may be asked for · ``client`` the protocol · ``agent`` the I/O around it.
"""
