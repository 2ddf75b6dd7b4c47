"""Where an address leads, as far as it tells. Pure."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit


def is_loopback(url: str) -> bool:
    """Whether the address is this machine, where no proxy is wanted and a key leaves nothing. What is no address is not."""
    try:
        host = urlsplit(url).hostname or ""
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
