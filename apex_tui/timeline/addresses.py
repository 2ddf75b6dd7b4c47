"""Where an address leads, as far as it tells. Pure."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit

MAX_HOST = 60
"""Characters of a host that are shown."""


def is_loopback(url: str) -> bool:
    """Whether the address is this machine, where no proxy is wanted and a key leaves nothing. What is no address is not."""
    try:
        host = urlsplit(url).hostname or ""
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def host_of(url: str) -> str:
    """Host and port that the address leads to; of a long one the end, which tells whose it is. What is no address is taken as it is."""
    try:
        host = urlsplit(url).netloc.rpartition("@")[2] or url
    except ValueError:
        host = url
    return host if len(host) <= MAX_HOST else f"…{host[1 - MAX_HOST :]}"
