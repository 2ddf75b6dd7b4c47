"""Fields that follow from others: the named pure functions that a recipe may use.

In here: working days, business days, arrival of a transfer, differences. Deliberately not in here: where the arguments come from (a field or a
path of the world; the compiler resolves them). Dates come and go as ``YYYY-MM-DD``. Every function raises ``ValueError`` in a few words.
"""

from __future__ import annotations

import datetime
import inspect
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

LONGEST_DAYS = 3660
"""No range or wait is longer than ten years; a mistyped year is an error, not a long loop."""
DAY_MINUTES = 24 * 60


def working_days(start: object, end: object, holidays: object) -> int:
    """Number of days from ``start`` to ``end``, both included, without weekends and ``holidays`` (a list of dates)."""
    first, last, closed = _date(start, "start"), _date(end, "end"), _dates(holidays, "holidays")
    if not 0 <= (last - first).days <= LONGEST_DAYS:
        raise ValueError(f"from {first} to {last} is no range of days")
    days = (first + datetime.timedelta(days=offset) for offset in range((last - first).days + 1))
    return sum(1 for day in days if _open(day, closed))


def business_day_on_or_after(day: object, closed: object) -> str:
    """``day`` itself, or the next day that is neither a weekend nor ``closed``."""
    return _on_or_after(_date(day, "day"), _dates(closed, "closed")).isoformat()


def business_days_after(day: object, days: object, closed: object) -> str:
    """The business day that is ``days`` business days after ``day`` (0: on or after it)."""
    return _after(_date(day, "day"), _whole(days, "days"), _dates(closed, "closed")).isoformat()


def transfer_arrival(
    day: object, amount: object, limit: object, days: object, days_above: object, closed: object
) -> str:
    """When a transfer arrives: ``days`` business days after ``day`` up to ``limit``, ``days_above`` for a larger ``amount``."""
    wait = days if _number(amount, "amount") <= _number(limit, "limit") else days_above
    return _after(_date(day, "day"), _whole(wait, "days"), _dates(closed, "closed")).isoformat()


def difference(whole: object, less: object) -> int | float:
    """``whole`` minus ``less``, rounded to cents."""
    return _cents(_number(whole, "whole") - _number(less, "less"))


def nights(arrival: object, departure: object) -> int:
    """Number of nights between two days."""
    count = (_date(departure, "departure") - _date(arrival, "arrival")).days
    if not 0 < count <= LONGEST_DAYS:
        raise ValueError(f"from {arrival} to {departure} is no stay")
    return count


def plus(first: object, second: object) -> int | float:
    """The sum of two numbers, rounded to cents."""
    return _cents(_number(first, "first") + _number(second, "second"))


def times(number: object, by: object) -> int | float:
    """The product of two numbers, rounded to cents."""
    return _cents(_number(number, "number") * _number(by, "by"))


def each(amount: object, parts: object) -> int | float:
    """An amount in so many equal parts, rounded to cents."""
    if not _whole(parts, "parts"):
        raise ValueError("parts: an amount cannot be split into none")
    return _cents(_number(amount, "amount") / _whole(parts, "parts"))


def share(amount: object, percent: object) -> int | float:
    """So many percent of an amount, rounded to cents."""
    return _cents(_number(amount, "amount") * _number(percent, "percent") / 100)


def percent_up(part: object, whole: object) -> int:
    """``part`` as a share of ``whole`` in percent, rounded up to whole percents: a limit is not passed by rounding."""
    of = _number(whole, "whole")
    if of <= 0:
        raise ValueError(f"whole: {whole!r} is nothing to have a share of")
    return math.ceil(round(100 * _number(part, "part") / of, 6))


def entry(table: object, key: object) -> Any:
    """What stands in a table of the world under a value."""
    if not isinstance(table, Mapping) or str(key) not in table:
        raise ValueError(f"there is no entry {key!r}")
    return table[str(key)]


def above(number: object, limit: object, then: object, otherwise: object) -> Any:
    """``then`` for a number above the limit, ``otherwise`` up to it."""
    return then if _number(number, "number") > _number(limit, "limit") else otherwise


def tier(number: object, steps: object) -> int | float:
    """The value of the highest step (a table of least numbers) that a number reaches; 0 below all of them."""
    if not isinstance(steps, Mapping):
        raise ValueError("steps: expected a table")
    reached = [least for least in steps if float(least) <= _number(number, "number")]
    return _cents(_number(steps[max(reached, key=float)], "steps")) if reached else 0


def capped(first: object, second: object, third: object, limit: object) -> int | float:
    """The sum of three numbers, at most ``limit``."""
    whole = _number(first, "first") + _number(second, "second") + _number(third, "third")
    return _cents(min(whole, _number(limit, "limit")))


def less_percent(amount: object, percent: object) -> int | float:
    """An amount without so many percent of it, rounded to cents."""
    return _cents(_number(amount, "amount") * (100 - _number(percent, "percent")) / 100)


def among(value: object, values: object, then: object, otherwise: object) -> Any:
    """``then`` for a value that is in a list, ``otherwise`` for any other."""
    if not isinstance(values, list | tuple):
        raise ValueError("values: expected a list")
    return then if str(value) in {str(item) for item in values} else otherwise


def days_after(day: object, days: object) -> str:
    """The day that is so many days after ``day``; weekends count."""
    return (_date(day, "day") + datetime.timedelta(days=_whole(days, "days"))).isoformat()


def days_before(day: object, days: object) -> str:
    """The day that is so many days before ``day``; weekends count."""
    return (_date(day, "day") - datetime.timedelta(days=_whole(days, "days"))).isoformat()


def minutes_between(start: object, end: object) -> int:
    """Minutes from one time of day (``HH:MM``) to the next time that the clock shows the other; past midnight as well."""
    return (_clock(end, "end") - _clock(start, "start")) % DAY_MINUTES


def copied(value: object) -> Any:
    """The value itself: a field that is looked up."""
    return value


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        working_days,
        business_day_on_or_after,
        business_days_after,
        transfer_arrival,
        difference,
        nights,
        plus,
        times,
        each,
        share,
        percent_up,
        entry,
        days_after,
        tier,
        among,
        capped,
        less_percent,
        above,
        days_before,
        minutes_between,
        copied,
    )
}


def parameters(function: str) -> tuple[str, ...]:
    """Names of the arguments of a function in ``FUNCTIONS``."""
    return tuple(inspect.signature(FUNCTIONS[function]).parameters)


def _date(value: object, name: str) -> datetime.date:
    try:
        return datetime.date.fromisoformat(str(value))
    except ValueError:
        raise ValueError(f"{name}: {value!r} is no date (YYYY-MM-DD)") from None


def _dates(value: object, name: str) -> frozenset[datetime.date]:
    if not isinstance(value, list | tuple):
        raise ValueError(f"{name}: expected a list of dates")
    return frozenset(_date(item, name) for item in value)


def _clock(value: object, name: str) -> int:
    """Minutes since midnight."""
    found = re.fullmatch(r"([01]\d|2[0-3]):([0-5]\d)", str(value))
    if found is None:
        raise ValueError(f"{name}: {value!r} is no time of day (HH:MM)")
    return int(found[1]) * 60 + int(found[2])


def _number(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{name}: {value!r} is no number")
    return value


def _cents(value: float) -> int | float:
    result = round(value, 2)
    return int(result) if float(result).is_integer() else result


def _whole(value: object, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= LONGEST_DAYS:
        raise ValueError(f"{name}: {value!r} is no number of days")
    return value


def _open(day: datetime.date, closed: frozenset[datetime.date]) -> bool:
    return day.weekday() < 5 and day not in closed


def _on_or_after(day: datetime.date, closed: frozenset[datetime.date]) -> datetime.date:
    for _ in range(LONGEST_DAYS):
        if _open(day, closed):
            return day
        day += datetime.timedelta(days=1)
    raise ValueError("every day is closed")


def _after(day: datetime.date, days: int, closed: frozenset[datetime.date]) -> datetime.date:
    day = _on_or_after(day, closed)
    for _ in range(days):
        day = _on_or_after(day + datetime.timedelta(days=1), closed)
    return day
