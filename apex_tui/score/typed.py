"""Full-match readings of a value: numbers, dates, identifiers, phones, plain text. The strict graders stand on these.

A reading takes the whole text or nothing: "200 (was 240)" is no number, "31 November 2026" no date. Times are naive; nothing here knows
today's date, so that relative words ("tomorrow") are never read.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import date, time
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

_LONGEST = 200
"""Characters that are read at all; no number, date or identifier is longer."""

_SYMBOLS = {"$": "usd", "us$": "usd", "€": "eur", "£": "gbp", "¥": "jpy"}
_UNITS = {
    "usd": "usd", "dollar": "usd", "dollars": "usd", "eur": "eur", "euro": "eur", "euros": "eur", "gbp": "gbp", "pound": "gbp",
    "pounds": "gbp", "jpy": "jpy", "yen": "jpy", "%": "%", "percent": "%", "day": "day", "days": "day", "working days": "day",
    "working day": "day", "business days": "day", "business day": "day", "hour": "hour", "hours": "hour", "minute": "minute",
    "minutes": "minute", "week": "week", "weeks": "week", "month": "month", "months": "month", "year": "year", "years": "year",
    "km": "km", "mile": "mile", "miles": "mile", "kg": "kg",
}  # fmt: skip
_NUMBER = re.compile(
    r"(?P<sign>[-+]?)\s*(?P<symbol>us\$|[$€£¥]|usd|eur|gbp|jpy)?\s*(?P<sign2>-?)"
    r"(?P<digits>[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?P<fraction>\.[0-9]+)?\s*(?P<unit>%|[a-z ]*[a-z])?"
)
_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul", "august aug",
            "september sept sep", "october oct", "november nov", "december dec",
        ),
        start=1,
    )
    for name in names.split()
}  # fmt: skip
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_WEEKDAY = re.compile(r"(?P<name>" + "|".join(f"{day}|{day[:3]}" for day in _WEEKDAYS) + r")\.?,?\s+")
_TIME = r"(?:[t ]\s*(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})(?::[0-9]{2}(?:\.[0-9]+)?)?(?:z|[+-][0-9]{2}:?[0-9]{2})?)?"
_SUFFIX = r"(?:st|nd|rd|th)?"
_ISO = re.compile(r"(?P<year>[0-9]{4})-(?P<month>[0-9]{1,2})-(?P<day>[0-9]{1,2})" + _TIME)
_MONTH_FIRST = re.compile(
    r"(?P<word>[a-z]+)\.?\s+(?:the\s+)?(?P<day>[0-9]{1,2})" + _SUFFIX + r",?\s+(?P<year>[0-9]{4})" + _TIME
)
_DAY_FIRST = re.compile(
    r"(?:the\s+)?(?P<day>[0-9]{1,2})" + _SUFFIX + r"\s+(?:of\s+)?(?P<word>[a-z]+)\.?,?\s+(?P<year>[0-9]{4})" + _TIME
)
_SLASHED = re.compile(r"(?P<first>[0-9]{1,2})/(?P<second>[0-9]{1,2})/(?P<year>[0-9]{4})" + _TIME)
_HYPHENS = r"\-‐‑‒–—−"
_PHONE = re.compile(r"\+?[0-9(][0-9()\s./" + _HYPHENS + "]*[0-9]")
_IDENTIFIER = re.compile(r"[^\W_]+(?:[\s" + _HYPHENS + r"]+[^\W_]+)*")
_INNER = re.compile(r"(?<=[^\W_])[\s" + _HYPHENS + r"]+(?=[^\W_])")


class Amount(NamedTuple):
    """A number and its unit (None: none was named)."""

    value: Decimal
    unit: str | None


class Day(NamedTuple):
    """A calendar day, and the time of day when one was named."""

    day: date
    at: time | None


def text_of(value: Any) -> str:
    """The text of a value: outer white space gone, runs of it single, compatibility forms unified; 4821.0 is "4821"."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return " ".join(unicodedata.normalize("NFKC", str(value)).split())


def number_of(value: Any) -> Amount | None:
    """The number that the whole value is: 555.23, "$555.23", "1,200", "5 days". None for anything else, booleans included."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    text = text_of(value).casefold().replace("−", "-")
    if isinstance(value, int | float):
        try:
            number = Decimal(text)
        except InvalidOperation:  # pragma: no cover - JSON numbers are decimal
            return None
        return Amount(number, None) if number.is_finite() else None
    match = _NUMBER.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None or (match["sign"] and match["sign2"]):
        return None
    unit = _UNITS.get(match["unit"]) if match["unit"] else None
    symbol = match["symbol"]
    prefix = _SYMBOLS.get(symbol, symbol) if symbol else None
    if (match["unit"] and unit is None) or (prefix and unit and prefix != unit):
        return None
    number = Decimal(match["digits"].replace(",", "") + (match["fraction"] or ""))
    return Amount(-number if "-" in (match["sign"], match["sign2"]) else number, prefix or unit)


def date_of(value: Any, locale: str = "en-US") -> Day | None:
    """The day that the whole value names; a wrong weekday or a day that does not exist gives None.

    Read are 2026-12-14 (also with a time of day), "December 14, 2026", "14 Dec 2026", "the 14th of December 2026", each with a weekday before
    it, and 12/14/2026 in the order of ``locale``: month first in en-US, day first elsewhere.
    """
    text = text_of(value).casefold()
    if len(text) > _LONGEST:
        return None
    weekday = _WEEKDAY.match(text)
    if weekday:
        text = text[weekday.end() :]
    for pattern in (_ISO, _MONTH_FIRST, _DAY_FIRST, _SLASHED):
        match = pattern.fullmatch(text)
        day = _day(match, locale) if match else None
        if day is not None:
            agrees = weekday is None or _WEEKDAYS[day.day.weekday()].startswith(weekday["name"])
            return day if agrees else None
    return None


def _day(match: re.Match[str], locale: str) -> Day | None:
    parts = match.groupdict()
    if "first" in parts:
        month_first = locale == "en-US"
        month, day = (parts["first"], parts["second"]) if month_first else (parts["second"], parts["first"])
    else:
        month = parts["month"] if "month" in parts else _MONTHS.get(parts["word"], 0)
        day = parts["day"]
    try:
        at = time(int(parts["hour"]), int(parts["minute"])) if parts["hour"] else None
        return Day(date(int(parts["year"]), int(month), int(day)), at)
    except ValueError:  # no such day
        return None


def phone_of(value: Any) -> str | None:
    """The digits of a telephone number; a North American number with its country code 1 equals the one without. None: not a number."""
    text = text_of(value)
    if len(text) > _LONGEST or not _PHONE.fullmatch(text):
        return None
    digits = "".join(char for char in text if char.isdigit())
    return digits[1:] if len(digits) == 11 and digits[0] == "1" else digits


def is_identifier(value: Any) -> bool:
    """Whether a value is a code such as "CC-330": letters and digits in groups, at least one digit in it."""
    text = text_of(value)
    return len(text) <= _LONGEST and any(map(str.isdigit, text)) and _IDENTIFIER.fullmatch(text) is not None


def identifier_of(value: Any) -> str:
    """A code without case and without the spaces and hyphens between its groups; every letter and digit stays."""
    return _INNER.sub("", text_of(value)).casefold()


def words_of(value: Any) -> str:
    """A choice such as PAID_TIME_OFF as words: case, underscores and hyphens do not matter."""
    return " ".join(re.sub(r"[\s_" + _HYPHENS + r"]+", " ", text_of(value)).split()).casefold()


def address_of(value: Any) -> str:
    """An address as its words in lower case; punctuation does not matter."""
    return " ".join(re.findall(r"[^\W_]+", text_of(value).casefold()))
