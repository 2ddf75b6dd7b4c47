"""Local servers that behave as the providers are documented to, faults included; they run in memory and over real sockets."""
