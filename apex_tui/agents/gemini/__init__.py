"""The Gemini Live family: turns with ``interrupted``, asynchronous tools, connections that hand over to the next.

``profile`` what may be chosen, the set-up message and tool schemas · ``wire`` reading what a server sent · ``turns`` whose words and
audio belong to which reply · ``client`` the protocol without I/O · ``agent`` the I/O around it, with resumption.
"""
