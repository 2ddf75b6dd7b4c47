"""The GPT-Live family: one continuous duplex track, no turns, tools through delegation.

``profile`` what may be chosen and the start message · ``track`` replies cut out of the track by energy · ``work`` which calls are open
and when the delegate may go on · ``client`` the protocol without I/O · ``agent`` the I/O around it.
"""
