"""Series in the viewer's language and hour cycle; `recurrence.describe` returns the same in English.

Translatable phrases are complete where the form of an ordinal or a preposition depends on the next word.
"""

from calendar import monthrange
from datetime import date, datetime, timedelta

from django.utils.dates import MONTHS_ALT
from django.utils.formats import date_format
from django.utils.translation import gettext, ngettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from accounts.time_format import time_words
from calendars.models import ONE_DAY
from recurrence.dateutil_rule import DateutilDays
from recurrence.days import DateRule, EveryNDays, MonthDay, NthOfWeekdays, Weekly
from recurrence.describe import exceptions
from recurrence.series import Series

MIDNIGHT = datetime(1, 1, 1)  # noqa: DTZ001  # a wall time
MONTHS_A_YEAR = 12
FEBRUARY, A_LEAP_YEAR = 2, 2000
SHORTEST_MONTH, LONGEST_MONTH = 28, 31  # days
MONDAY_TO_FRIDAY, WEEKEND, WHOLE_WEEK = frozenset(range(5)), frozenset({5, 6}), frozenset(range(7))

WEEKDAYS = (
    pgettext_lazy("every week on", "Monday"),
    pgettext_lazy("every week on", "Tuesday"),
    pgettext_lazy("every week on", "Wednesday"),
    pgettext_lazy("every week on", "Thursday"),
    pgettext_lazy("every week on", "Friday"),
    pgettext_lazy("every week on", "Saturday"),
    pgettext_lazy("every week on", "Sunday"),
)
KINDS_OF_DAYS = (*(frozenset({day}) for day in range(7)), MONDAY_TO_FRIDAY, WEEKEND, WHOLE_WEEK)
NTH_DAYS = {  # in the order of KINDS_OF_DAYS
    1: (
        _("on the first Monday"),
        _("on the first Tuesday"),
        _("on the first Wednesday"),
        _("on the first Thursday"),
        _("on the first Friday"),
        _("on the first Saturday"),
        _("on the first Sunday"),
        _("on the first weekday"),
        _("on the first weekend day"),
        _("on the first day"),
    ),
    2: (
        _("on the second Monday"),
        _("on the second Tuesday"),
        _("on the second Wednesday"),
        _("on the second Thursday"),
        _("on the second Friday"),
        _("on the second Saturday"),
        _("on the second Sunday"),
        _("on the second weekday"),
        _("on the second weekend day"),
        _("on the second day"),
    ),
    3: (
        _("on the third Monday"),
        _("on the third Tuesday"),
        _("on the third Wednesday"),
        _("on the third Thursday"),
        _("on the third Friday"),
        _("on the third Saturday"),
        _("on the third Sunday"),
        _("on the third weekday"),
        _("on the third weekend day"),
        _("on the third day"),
    ),
    4: (
        _("on the fourth Monday"),
        _("on the fourth Tuesday"),
        _("on the fourth Wednesday"),
        _("on the fourth Thursday"),
        _("on the fourth Friday"),
        _("on the fourth Saturday"),
        _("on the fourth Sunday"),
        _("on the fourth weekday"),
        _("on the fourth weekend day"),
        _("on the fourth day"),
    ),
    -1: (
        _("on the last Monday"),
        _("on the last Tuesday"),
        _("on the last Wednesday"),
        _("on the last Thursday"),
        _("on the last Friday"),
        _("on the last Saturday"),
        _("on the last Sunday"),
        _("on the last weekday"),
        _("on the last weekend day"),
        _("on the last day"),
    ),
}
SETS = {MONDAY_TO_FRIDAY: _("weekday"), WEEKEND: _("weekend day"), WHOLE_WEEK: _("day")}
NTHS = {  # for several weekdays, which other clients can choose
    1: _("on the first %(days)s"),
    2: _("on the second %(days)s"),
    3: _("on the third %(days)s"),
    4: _("on the fourth %(days)s"),
    -1: _("on the last %(days)s"),
    -2: _("on the second to last %(days)s"),
    -3: _("on the third to last %(days)s"),
    -4: _("on the fourth to last %(days)s"),
}
DAYS_OF_MONTH = (
    _("on the 1st"),
    _("on the 2nd"),
    _("on the 3rd"),
    _("on the 4th"),
    _("on the 5th"),
    _("on the 6th"),
    _("on the 7th"),
    _("on the 8th"),
    _("on the 9th"),
    _("on the 10th"),
    _("on the 11th"),
    _("on the 12th"),
    _("on the 13th"),
    _("on the 14th"),
    _("on the 15th"),
    _("on the 16th"),
    _("on the 17th"),
    _("on the 18th"),
    _("on the 19th"),
    _("on the 20th"),
    _("on the 21st"),
    _("on the 22nd"),
    _("on the 23rd"),
    _("on the 24th"),
    _("on the 25th"),
    _("on the 26th"),
    _("on the 27th"),
    _("on the 28th"),
    _("on the 29th"),
    _("on the 30th"),
)


def series_words(series: Series, count: int | None, hour_cycle: int) -> str:
    """Return the series as in: every week on Monday from 10:00 to 11:00 Europe/Berlin, until 9 March 2026, 10 times.

    `count` is the number of occurrences of a numbered series; else None.
    """
    words = _until(_with_exceptions(_timed(_days(series.days), series, hour_cycle), series), series.last)
    if count is None:
        return words
    return ngettext("%(words)s, once", "%(words)s, %(n)d times", count) % {"words": words, "n": count}


def rule_words(series: Series) -> str:
    """Return the rule as in: every week on Monday, until 9 March 2026."""
    return _until(_with_exceptions(_days(series.days), series), series.last)


def _until(words: str, last: date | None) -> str:
    if last is None:
        return words
    return gettext("%(words)s, until %(day)s") % {"words": words, "day": date_format(last, "SHORT_DATE_FORMAT")}


def _with_exceptions(words: str, series: Series) -> str:
    left_out, added = exceptions(series)
    if left_out:
        values = {"words": words, "n": left_out}
        words = ngettext("%(words)s, except %(n)d day", "%(words)s, except %(n)d days", left_out) % values
    if added:
        values = {"words": words, "n": added}
        words = ngettext("%(words)s, plus %(n)d extra day", "%(words)s, plus %(n)d extra days", added) % values
    return words


def _timed(days: str, series: Series, hour_cycle: int) -> str:
    start, length = MIDNIGHT + timedelta(seconds=series.start), series.length
    if start == MIDNIGHT and length and not length % ONE_DAY:
        n = length // ONE_DAY
        return ngettext("%(days)s, all day", "%(days)s for %(n)d days", n) % {"days": days, "n": n}
    end = start + length
    later = (end - MIDNIGHT).days
    clocks = {name: _clock(wall_time, hour_cycle) for name, wall_time in (("start", start), ("end", end))}
    values = {"days": days, "zone": series.zone, "n": later, **clocks}
    if not length:
        return gettext("%(days)s at %(start)s %(zone)s") % values
    if not later:
        return gettext("%(days)s from %(start)s to %(end)s %(zone)s") % values
    words = ngettext(
        "%(days)s from %(start)s to %(end)s the next day %(zone)s",
        "%(days)s from %(start)s to %(end)s %(n)d days later %(zone)s",
        later,
    )
    return words % values


def _clock(wall_time: datetime, hour_cycle: int) -> str:
    return time_words(wall_time, hour_cycle, with_seconds=wall_time.second > 0)


def _days(rule: DateRule) -> str:
    match rule:
        case EveryNDays(interval=n):
            return ngettext("every day", "every %(n)d days", n) % {"n": n}
        case Weekly():
            return _weekly(rule)
        case MonthDay(start=start, day=day, interval=n) if n % MONTHS_A_YEAR:
            return _every_months(_day_of_month(day), n)
        case MonthDay(start=start, day=day, interval=n):
            return _every_years(_day_of_year(start.month, day), n // MONTHS_A_YEAR)
        case NthOfWeekdays(start=start, weekdays=weekdays, number=number, interval=n):
            which = _nth_of(weekdays, number)
            if n % MONTHS_A_YEAR:
                return _every_months(which, n)
            values = {"which": which, "month": MONTHS_ALT[start.month]}
            return _every_years(gettext("%(which)s of %(month)s") % values, n // MONTHS_A_YEAR)
        case DateutilDays():
            return gettext("by the rule %(rule)s") % {"rule": rule.rule}
    raise TypeError(f"no words for {rule!r}")


def _weekly(rule: Weekly) -> str:
    """Return the words of a weekly rule.

    With an interval, the days are listed from the start of the week, because it decides which days share a week.
    """
    values: dict[str, object] = {"n": rule.interval}
    if rule.weekdays == WHOLE_WEEK and rule.interval == 1:
        return _days(EveryNDays(rule.start, 1))
    if rule.weekdays == WHOLE_WEEK:
        return gettext("every day of every %(n)d weeks") % values
    if rule.weekdays == MONDAY_TO_FRIDAY:
        words = ngettext("every week from Monday to Friday", "every %(n)d weeks from Monday to Friday", rule.interval)
        return words % values
    begin = rule.week_start if rule.interval > 1 else 0
    in_order = sorted(rule.weekdays, key=lambda day: (day - begin) % 7)
    values["days"] = _listed([str(WEEKDAYS[day]) for day in in_order])
    return ngettext("every week on %(days)s", "every %(n)d weeks on %(days)s", rule.interval) % values


def _every_months(which: str, n: int) -> str:
    return ngettext("every month %(which)s", "every %(n)d months %(which)s", n) % {"which": which, "n": n}


def _every_years(which: str, n: int) -> str:
    return ngettext("every year %(which)s", "every %(n)d years %(which)s", n) % {"which": which, "n": n}


def _day_of_month(day: int) -> str:
    if day == LONGEST_MONTH:
        return gettext("on the last day")
    which = str(DAYS_OF_MONTH[day - 1])
    return gettext("%(which)s or, if there is none, the last day") % {"which": which} if day > SHORTEST_MONTH else which


def _day_of_year(month: int, day: int) -> str:
    length = monthrange(A_LEAP_YEAR, month)[1]
    if month == FEBRUARY and day > length:
        return gettext("on the last day of February")
    words = gettext("on %(day)s") % {"day": _month_and_day(month, min(day, length))}
    if month == FEBRUARY and day == length:
        return gettext("%(which)s or, if there is none, %(day)s") % {"which": words, "day": _month_and_day(2, 28)}
    return words


def _month_and_day(month: int, day: int) -> str:
    return date_format(date(A_LEAP_YEAR, month, day), "MONTH_DAY_FORMAT")


def _nth_of(weekdays: frozenset[int], number: int) -> str:
    if number in NTH_DAYS and weekdays in KINDS_OF_DAYS:
        return str(NTH_DAYS[number][KINDS_OF_DAYS.index(weekdays)])
    days = SETS.get(weekdays) or _listed([str(WEEKDAYS[day]) for day in sorted(weekdays)], gettext("%s or %s"))
    return NTHS[number] % {"days": days}


def _listed(words: list[str], pair: str = "") -> str:
    """Return a list as in Monday, Wednesday and Friday. `pair` is the pattern for the last two words."""
    *others, last = words
    return (pair or gettext("%s and %s")) % (", ".join(others), last) if others else last
