"""The door for TOML: settings, agents, probes and lists of speech are written by hand, or by somebody else.

Deliberately not in here: files, their size, and what the values mean.
"""

from __future__ import annotations

from typing import Any

LARGEST = 2**63 - 1
"""Whole number, as TOML has it; Python reads larger ones, and cannot write the longest."""
_TOO_LONG = "it holds a number beyond 64 bits"


def parse_toml(raw: bytes) -> dict[str, Any]:
    """The tables of a TOML file. Raises ``ValueError``: it is none; the text says why, and on which line where that is known."""
    import tomllib  # most people have no such file, and then its parser is not needed

    try:
        tables = tomllib.loads(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ValueError(f"it is not UTF-8 (byte {error.start})") from None
    except tomllib.TOMLDecodeError:
        raise
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except ValueError:
        raise ValueError(_TOO_LONG) from None
    waiting: list[Any] = [tables]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict | list):
            waiting.extend(value.values() if isinstance(value, dict) else value)
        elif isinstance(value, int) and abs(value) > LARGEST:
            raise ValueError(_TOO_LONG)
    return tables
