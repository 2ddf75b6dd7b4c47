"""Values as people say and write them: the forms by which a value is found in speech, and one form in which to say it.

In here: English number words, dates, amounts, identifiers, telephone numbers. Deliberately not in here: matching (the caller's observer does it)
and understanding free text. US order of month and day.
"""

from __future__ import annotations

import datetime
import re
from typing import Literal

Kind = Literal["text", "enum", "identifier", "phone", "date", "money", "integer", "number", "boolean"]
"""What a field holds, as an author thinks of it."""

JSON_TYPES: dict[Kind, str] = {"money": "number", "integer": "integer", "number": "number", "boolean": "boolean"}
"""Kind -> JSON type of the field; every other kind is a string."""

_ONES = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen", "fourteen",
    "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_ODD_ORDINALS = {
    "one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth", "nine": "ninth", "twelve": "twelfth",
}  # fmt: skip
_MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]


def cardinal(number: int) -> str:
    """Return a whole number below a million in words: 555 -> "five hundred fifty-five"."""
    if number < 0:
        return f"minus {cardinal(-number)}"
    if number < 20:
        return _ONES[number]
    if number < 100:
        tens, ones = divmod(number, 10)
        return _TENS[tens] + (f"-{_ONES[ones]}" if ones else "")
    size, word = (100, "hundred") if number < 1000 else (1000, "thousand")
    if number >= 1_000_000:
        return str(number)
    whole, rest = divmod(number, size)
    return f"{cardinal(whole)} {word}" + (f" {cardinal(rest)}" if rest else "")


def ordinal(number: int) -> str:
    """Return a whole number as a rank in words: 23 -> "twenty-third"."""
    head, mark, last = cardinal(number).rpartition("-")
    regular = f"{last[:-1]}ieth" if last.endswith("y") else f"{last}th"
    last = _ODD_ORDINALS.get(last, regular)
    return f"{head}{mark}{last}"


def spoken(kind: Kind, value: object, said: tuple[str, ...] = ()) -> str:
    """Return ``value`` as a person says it aloud. ``said``: the author's own forms of it; the first one wins."""
    if said:
        return said[0]
    if kind == "date":
        day = datetime.date.fromisoformat(str(value))
        return f"{_MONTHS[day.month - 1]} {ordinal(day.day)}"
    if kind == "money" and isinstance(value, int | float):
        dollars, cents = _money(value)
        return f"{cardinal(dollars)} dollars" + (f" and {cardinal(cents)} cents" if cents else "")
    if kind in ("integer", "number") and isinstance(value, int | float) and float(value).is_integer():
        return cardinal(int(value))
    if kind in ("identifier", "phone"):
        return _spelled(str(value))
    return str(value).replace("_", " ") if kind == "enum" else str(value)


def forms(kind: Kind, value: object, said: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return the spoken and written forms of ``value``, the author's own (``said``) included, without repetition."""
    derived: list[str]
    if kind == "date":
        derived = _date_forms(datetime.date.fromisoformat(str(value)))
    elif kind == "money" and isinstance(value, int | float):
        derived = _money_forms(*_money(value))
    elif kind in ("integer", "number") and isinstance(value, int | float) and float(value).is_integer():
        derived = [str(int(value)), cardinal(int(value))]
    elif kind in ("identifier", "phone"):
        derived = _code_forms(str(value))
    else:
        derived = [str(value), str(value).replace("_", " ")]
    return tuple(dict.fromkeys((*said, *derived)))


def month_forms(value: object) -> tuple[str, ...]:
    """Return the forms of a date that name its month: those that cannot be taken for another month's day."""
    month = _MONTHS[datetime.date.fromisoformat(str(value)).month - 1]
    return tuple(
        form for form in forms("date", value) if form.startswith(month[:3]) or month in form or "-" in form[:5]
    )


def comparable(text: str) -> str:
    """Return a text for comparing forms with speech: lower case, single spaces, hyphens and commas gone, ``$`` and decimals kept."""
    text = re.sub(r"(?<=\d),(?=\d{3}\b)", "", text.lower())
    return " ".join(re.sub(r"(?<!\d)\.|\.(?!\d)|[^\w\s$./]", " ", text).split())


def states(text: str, form: str) -> bool:
    """Whether ``text`` holds ``form`` as whole words (both through ``comparable``)."""
    return re.search(_whole(form), comparable(text)) is not None


def without(text: str, found: tuple[str, ...]) -> str:
    """Return ``text`` with the given forms cut out, longest first, so that "five hundred" is not found in "five hundred fifty"."""
    text = comparable(text)
    for form in sorted(found, key=lambda form: -len(comparable(form))):
        text = re.sub(_whole(form), " | ", text)
    return text


def _whole(form: str) -> str:
    return rf"(?<![\w$]){re.escape(comparable(form))}(?!\w|[./]\d)"


def _money(value: float) -> tuple[int, int]:
    return divmod(round(value * 100), 100)


def _date_forms(day: datetime.date) -> list[str]:
    month, number, word = _MONTHS[day.month - 1], day.day, ordinal(day.day)
    th = f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10 if number not in (11, 12, 13) else 0, 'th') }"
    return [
        f"{month} {word}", f"{month} {number}", f"{month} {th}", f"{month} the {word}", f"{month[:3]} {number}", f"{number} {month}",
        f"{word} of {month}", f"{th} of {month}", f"the {word}", f"the {th}", day.isoformat(),
        f"{day.month}/{number}", f"{day.month}/{number}/{day.year}",
    ]  # fmt: skip


def _money_forms(dollars: int, cents: int) -> list[str]:
    words = cardinal(dollars)
    wordings = [words, re.sub(r"hundred (?=\w)", "hundred and ", words)]
    if 100 < dollars < 1000 and dollars % 100:
        wordings.append(f"{_ONES[dollars // 100]} {cardinal(dollars % 100)}")
    if not cents:
        plain = [f"${dollars}", f"${dollars}.00", f"{dollars}.00", f"{dollars} dollars", str(dollars)]
        return [*plain, *(form for words in wordings for form in (f"{words} dollars", words))]
    small = cardinal(cents)
    return [
        f"${dollars}.{cents:02}", f"{dollars}.{cents:02}", f"{dollars} dollars and {cents} cents",
        *(form for words in wordings for form in (f"{words} dollars and {small} cents", f"{words} dollars {small}", f"{words} {small}",
                                                  f"{words} and {small} cents")),
    ]  # fmt: skip


def _spelled(code: str) -> str:
    """Letter by letter, without commas: a comma would part one identifier into two numbers for whoever listens."""
    return " ".join(_ONES[int(char)] if char.isdigit() else char.upper() for char in code if char.isalnum())


def _groups(code: str) -> list[str]:
    parts = re.findall(r"[A-Za-z]+|\d+", code)
    return [
        piece for part in parts for piece in (re.findall(r"...", part) if part.isdigit() and len(part) == 6 else [part])
    ]


def _code_forms(code: str) -> list[str]:
    bare = re.sub(r"[^A-Za-z0-9]", "", code)
    apart = " ".join(bare)
    words = " ".join(_ONES[int(char)] if char.isdigit() else char for char in bare)
    split = " ".join(re.findall(r"[A-Za-z]+|\d+", code))
    return list(dict.fromkeys((code, bare, split, apart, words, words.replace("zero", "oh"), " ".join(_groups(code)))))
