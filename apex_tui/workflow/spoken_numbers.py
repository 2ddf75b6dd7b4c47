"""Numbers, dates and identifiers as people say and write them, brought to one form.

``canonical("the fourteenth of December")`` and ``canonical("December 14")`` hold the same ``december 14``; ``$555.23``, ``five hundred
fifty-five twenty-three`` and ``555 dollars and 23 cents`` are all ``55523``; ``E-1042`` and ``E one zero four two`` are ``e 1042``. Numbers that
follow each other are one number, because amounts and identifiers are said in parts; a comma, another word or a month keeps them apart. Light
on purpose: English, no arithmetic, no clock times. Pure.
"""

from __future__ import annotations

import re

_SMALL = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen", "fourteen",
    "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_ORDINALS = (
    "zeroth", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth",
    "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth", "nineteenth",
)  # fmt: skip
MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_SHORT_MONTHS = {name[:3]: name for name in MONTHS if name not in ("may", "march")} | {"sept": "september"}
_VALUES: dict[str, int] = {word: number for number, word in enumerate(_SMALL)}
_VALUES |= {word: 20 + 10 * step for step, word in enumerate(_TENS)}
_ORDINAL_VALUES: dict[str, int] = {word: number for number, word in enumerate(_ORDINALS)}
_ORDINAL_VALUES |= {word[:-1] + "ieth": 20 + 10 * step for step, word in enumerate(_TENS)}
_SCALES = {"hundred": 100, "thousand": 1000, "million": 1_000_000}
_CURRENCY = frozenset(
    {"dollar", "dollars", "cent", "cents", "buck", "bucks", "pound", "pounds", "euro", "euros", "usd"}
)
CONTINUES = frozenset({*_VALUES, *_ORDINAL_VALUES, *_SCALES, *_CURRENCY, "and", "point", "oh"})
"""Words after which, or before which, a number may still go on."""

_RANGE = frozenset({"to", "through", "thru", "until", "till"})
_ISO_DATE = re.compile(r"\b([0-9]{4})-([01]?[0-9])-([0-3]?[0-9])\b")
_US_DATE = re.compile(r"\b([01]?[0-9])/([0-3]?[0-9])/([0-9]{4})\b")
_US_DAY = re.compile(r"(?<![0-9/])(1[0-2]|0?[1-9])/(3[01]|[12][0-9]|0?[1-9])(?![0-9/])")
_TOKEN = re.compile(r"[0-9]+|[a-z]+(?:'[a-z]+)?|[,;:]")


def _month_first(month: str, day: str, year: str, original: str) -> str:
    number = int(month)
    return f"{MONTHS[number - 1]} {int(day)} {year}" if 1 <= number <= 12 else original


def _written(text: str) -> str:
    """Lower case, with written dates, thousands, decimals and ordinals brought into words and plain digits."""
    text = text.lower().replace("’", "'")
    text = _ISO_DATE.sub(lambda m: _month_first(m[2], m[3], m[1], m[0]), text)
    text = _US_DATE.sub(lambda m: _month_first(m[1], m[2], m[3], m[0]), text)
    text = _US_DAY.sub(lambda m: f"{MONTHS[int(m[1]) - 1]} {int(m[2])}", text)
    text = re.sub(r"(?<=[0-9a-z]) ?– ?(?=[0-9a-z])", " to ", text)
    text = re.sub(r"(?<=[0-9]),(?=[0-9]{3}\b)", "", text)
    text = re.sub(r"(?<=[0-9])\.0+\b", "", text)
    text = re.sub(r"(?<=[0-9])\.(?=[0-9])", " ", text)
    return re.sub(r"(?<=[0-9])(?:st|nd|rd|th)\b", "", text)


class _Number:
    """A number being put together from words. ``kind`` is what came last."""

    def __init__(self) -> None:
        self.total = 0
        self.part = 0
        self.kind = ""
        self.raw = ""

    def add(self, value: int) -> bool:
        """Take a small number or a ten; False when it begins a new number."""
        fits = self.kind in ("", "scale") or (self.kind == "tens" and 0 < value < 10)
        if fits:
            self.part += value
            self.kind = "tens" if value >= 20 else "small"
        return fits

    def scale(self, factor: int) -> None:
        """Multiply by hundred, thousand or million."""
        if self.raw:
            self.part, self.raw = int(self.raw[:9]), ""
        if factor == 100:
            self.part = (self.part or 1) * 100
        else:
            self.total, self.part = self.total + (self.part or 1) * factor, 0
        self.kind = "scale"

    def text(self) -> str:
        """The digits, leading zeros kept when they were written so."""
        return self.raw or str(self.total + self.part)


def _numbered(words: list[str]) -> list[str]:
    """Replace number words by digits; currency words go."""
    out: list[str] = []
    number = _Number()
    after_currency = False

    def flush() -> None:
        nonlocal number
        if number.kind:
            out.append(number.text())
        number = _Number()

    for place, word in enumerate(words):
        following = words[place + 1] if place + 1 < len(words) else ""
        more = _begins_number(following)
        if word in _CURRENCY and (number.kind or (out and out[-1].isdigit())):
            flush()
            after_currency = True
            continue
        if word == "and" and more and (number.kind == "scale" or after_currency):
            continue
        after_currency = False
        if word.isdigit():
            flush()
            number.raw, number.kind = word, "digits"
        elif word in ("oh", "o") and (number.kind or _after_digits(out)) and _goes_on(words[place + 1 : place + 3]):
            flush()
            out.append("0")
        elif word in _VALUES or word in _ORDINAL_VALUES:
            value = _VALUES.get(word, _ORDINAL_VALUES.get(word, 0))
            if not number.add(value):
                flush()
                number.add(value)
        elif word == "a" and following in _SCALES:
            flush()
            number.add(1)  # a hundred and five
        elif word in _SCALES and number.kind:
            number.scale(_SCALES[word])
        else:
            flush()
            out.append(word)
    flush()
    return out


def _begins_number(word: str) -> bool:
    return word in _VALUES or word in _ORDINAL_VALUES or word.isdigit()


def _goes_on(following: list[str]) -> bool:
    """Whether a number follows, at once or after a comma."""
    return any(_begins_number(word) for word in (following[1:] if following[:1] == [","] else following[:1]))


def _after_digits(out: list[str]) -> bool:
    """Whether a number came last; a code is said in groups, so a comma may have followed it."""
    return bool(out) and (out[-1].isdigit() or (out[-1] == "," and len(out) > 1 and out[-2].isdigit()))


def _joined(words: list[str]) -> list[str]:
    """Join numbers that follow each other (not the day and year after a month) and letters that were spelt one by one."""
    out: list[str] = []
    open_day = False
    for word in words:
        last = out[-1] if out else ""
        if word.isdigit() and last.isdigit() and not open_day:
            out[-1] = last + word
            continue
        if len(word) == 1 and word.isalpha() and word not in ("a", "i") and last.isalpha() and _spelt(last, word):
            out[-1] = last + word
            continue
        open_day = word.isdigit() and last in MONTHS and len(word) <= 2
        out.append(word)
    return out


def _spelt(last: str, letter: str) -> bool:
    return len(last) == 1 and last not in ("a", "i") and letter not in ("a", "i")


def _dated(words: list[str]) -> list[str]:
    """``14 of december`` and ``december the 14`` become ``december 14``."""
    out: list[str] = []
    for word in words:
        month = _SHORT_MONTHS.get(word, word)
        if month in MONTHS:
            back = out[:-1] if out and out[-1] == "of" else out
            dated = len(back) > 1 and back[-2] in MONTHS
            if back and not dated and back[-1].isdigit() and len(back[-1]) <= 2:
                out = [*back[:-1], month, back[-1]]
                continue
            word = month
        if word.isdigit() and len(out) > 1 and out[-1] == "the" and out[-2] in MONTHS:
            out.pop()
        out.append(word)
    return out


def _ranged(words: list[str]) -> list[str]:
    """Give both ends of a range their month: ``december 17 through 23``, ``14 to december 18``."""
    out = list(words)
    at = 1
    while at < len(out) - 1:
        if out[at] in _RANGE:
            if _is_day(out[at - 1]) and at > 1 and out[at - 2] in MONTHS and _is_day(out[at + 1]):
                out.insert(at + 1, out[at - 2])
            elif _is_day(out[at - 1]) and not (at > 1 and out[at - 2] in MONTHS) and out[at + 1] in MONTHS:
                if at > 1 and out[at - 2] == "the":
                    out[at - 2] = out[at + 1]
                else:
                    out.insert(at - 1, out[at + 1])
                    at += 1
        at += 1
    return out


def _is_day(word: str) -> bool:
    return word.isdigit() and len(word) <= 2 and 1 <= int(word) <= 31


def tokens(text: str, *, commas: bool = True) -> list[str]:
    """The canonical words of a text; commas are dropped after they have kept numbers apart, or before if they shall not (``commas``)."""
    words = _dated(_numbered(_TOKEN.findall(_written(text))))
    if not commas:
        words = [word for word in words if word not in ",;:"]
    return _ranged([word for word in _joined(words) if word not in ",;:"])


def canonical(text: str, *, commas: bool = True) -> str:
    """Canonical words in one string with a space on both sides, so that looking one up in another respects word borders."""
    return f" {' '.join(tokens(text, commas=commas))} "


def spoken_value(value: object) -> tuple[str, ...]:
    """Canonical forms of a typed value (number, ISO date, text); none for booleans, empty values and structures."""
    if isinstance(value, bool) or value is None or not isinstance(value, str | int | float):
        return ()
    texts = [str(value)]
    if isinstance(value, float):
        texts = [f"{value:.2f}", repr(value)]
    forms = [canonical(text) for text in texts]
    words = forms[0].split()
    if len(words) == 3 and words[0] in MONTHS:
        forms.append(f" {words[0]} {words[1]} ")
    return tuple(dict.fromkeys(form for form in forms if form.strip()))


def signature(form: str) -> frozenset[str]:
    """Numbers and months of a canonical form: what tells two values of one field apart."""
    return frozenset(word for word in form.split() if word.isdigit() or word in MONTHS)


def has_number(form: str) -> bool:
    """Whether canonical words hold a number."""
    return any(word[0].isdigit() for word in form.split())


def is_day_alone(form: str) -> bool:
    """Whether a canonical form is a day without its month: ``the 14``."""
    words = form.split()
    return len(words) == 2 and words[0] == "the" and words[1].isdigit()
