"""Describe calendar series and their date rules, in any language.

The phrases are English texts, which a `Language` translates by gettext.  A phrase is complete where the form of an
ordinal or a preposition depends on the next word.
"""

from calendar import monthrange
from datetime import date

from recurrence.dateutil_rule import DateutilDays
from recurrence.days import DateRule, EveryNDays, MonthDay, NthOfWeekdays, Weekly
from recurrence.language import ENGLISH, Language
from recurrence.language import gettext_noop as _
from recurrence.rules import ONE_DAY, ONE_SECOND
from recurrence.series import Series
from recurrence.zones import DAY, missing_days

MONTHS_A_YEAR = 12
FEBRUARY, A_LEAP_YEAR = 2, 2000
SHORTEST_MONTH, LONGEST_MONTH = 28, 31  # days
MONDAY_TO_FRIDAY, WEEKEND, WHOLE_WEEK = frozenset(range(5)), frozenset({5, 6}), frozenset(range(7))

KINDS_OF_DAYS = (*(frozenset({day}) for day in range(7)), MONDAY_TO_FRIDAY, WEEKEND, WHOLE_WEEK)
NTH_DAYS = {  # in the order of KINDS_OF_DAYS
    1: (
        *(_("on the first Monday"), _("on the first Tuesday"), _("on the first Wednesday")),
        *(_("on the first Thursday"), _("on the first Friday"), _("on the first Saturday"), _("on the first Sunday")),
        *(_("on the first weekday"), _("on the first weekend day"), _("on the first day")),
    ),
    2: (
        *(_("on the second Monday"), _("on the second Tuesday"), _("on the second Wednesday")),
        *(_("on the second Thursday"), _("on the second Friday"), _("on the second Saturday")),
        *(_("on the second Sunday"), _("on the second weekday"), _("on the second weekend day")),
        _("on the second day"),
    ),
    3: (
        *(_("on the third Monday"), _("on the third Tuesday"), _("on the third Wednesday")),
        *(_("on the third Thursday"), _("on the third Friday"), _("on the third Saturday"), _("on the third Sunday")),
        *(_("on the third weekday"), _("on the third weekend day"), _("on the third day")),
    ),
    4: (
        *(_("on the fourth Monday"), _("on the fourth Tuesday"), _("on the fourth Wednesday")),
        *(_("on the fourth Thursday"), _("on the fourth Friday"), _("on the fourth Saturday")),
        *(_("on the fourth Sunday"), _("on the fourth weekday"), _("on the fourth weekend day")),
        _("on the fourth day"),
    ),
    -1: (
        *(_("on the last Monday"), _("on the last Tuesday"), _("on the last Wednesday")),
        *(_("on the last Thursday"), _("on the last Friday"), _("on the last Saturday"), _("on the last Sunday")),
        *(_("on the last weekday"), _("on the last weekend day"), _("on the last day")),
    ),
}
SETS_OF_DAYS = {MONDAY_TO_FRIDAY: _("weekday"), WEEKEND: _("weekend day"), WHOLE_WEEK: _("day")}
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
    *(_("on the 1st"), _("on the 2nd"), _("on the 3rd"), _("on the 4th"), _("on the 5th"), _("on the 6th")),
    *(_("on the 7th"), _("on the 8th"), _("on the 9th"), _("on the 10th"), _("on the 11th"), _("on the 12th")),
    *(_("on the 13th"), _("on the 14th"), _("on the 15th"), _("on the 16th"), _("on the 17th"), _("on the 18th")),
    *(_("on the 19th"), _("on the 20th"), _("on the 21st"), _("on the 22nd"), _("on the 23rd"), _("on the 24th")),
    *(_("on the 25th"), _("on the 26th"), _("on the 27th"), _("on the 28th"), _("on the 29th"), _("on the 30th")),
)


def describe_series(series: Series, language: Language = ENGLISH, count: int | None = None) -> str:
    """Return the series as in: every week on Monday from 10:00 to 11:00 Europe/Berlin, until 9 March 2026, 10 times.

    `count` is the number of occurrences of a numbered series; else None.
    """
    words = _with_times(describe_date_rule(series.days, language), series, language)
    return with_count(_with_exceptions_and_end(words, series, language), count, language)


def describe_days(series: Series, language: Language = ENGLISH) -> str:
    """Return the days of a series and its end, without times, as in: every week on Monday, until 9 March 2026."""
    return _with_exceptions_and_end(describe_date_rule(series.days, language), series, language)


def describe_date_rule(rule: DateRule, language: Language = ENGLISH) -> str:
    match rule:
        case EveryNDays(interval=n):
            return _every_days(n, language)
        case Weekly():
            return _weekly(rule, language)
        case MonthDay(start, day, n) if n % MONTHS_A_YEAR == 0:
            return _every_years(_day_of_year(start.month, day, language), n // MONTHS_A_YEAR, language)
        case MonthDay(_, day, n):
            return _every_months(_day_of_month(day, language), n, language)
        case NthOfWeekdays(start, weekdays, number, n) if n % MONTHS_A_YEAR == 0:
            values = {"which": _nth_of(weekdays, number, language), "month": language.format_month(start.month)}
            return _every_years(language.gettext("%(which)s of %(month)s") % values, n // MONTHS_A_YEAR, language)
        case NthOfWeekdays(_, weekdays, number, n):
            return _every_months(_nth_of(weekdays, number, language), n, language)
        case DateutilDays():
            return language.gettext("by the rule %(rule)s") % {"rule": rule.rule}
    raise TypeError(f"no words for {rule!r}")


def with_count(words: str, count: int | None, language: Language = ENGLISH) -> str:
    if count is None:
        return words
    return language.ngettext("%(words)s, once", "%(words)s, %(n)d times", count) % {"words": words, "n": count}


def _every_days(n: int, language: Language) -> str:
    return language.ngettext("every day", "every %(n)d days", n) % {"n": n}


def _weekly(rule: Weekly, language: Language) -> str:
    """Return the words of a weekly rule.

    With an interval, the days are listed from the start of the week, because it decides which days share a week.
    """
    n = rule.interval
    if rule.weekdays == WHOLE_WEEK:
        return language.gettext("every day of every %(n)d weeks") % {"n": n} if n > 1 else _every_days(n, language)
    if rule.weekdays == MONDAY_TO_FRIDAY:
        words = language.ngettext("every week from Monday to Friday", "every %(n)d weeks from Monday to Friday", n)
        return words % {"n": n}
    begin = rule.week_start if n > 1 else 0
    in_order = sorted(rule.weekdays, key=lambda day: (day - begin) % 7)
    values = {"n": n, "days": _listed(in_order, language.gettext("%s and %s"), language)}
    return language.ngettext("every week on %(days)s", "every %(n)d weeks on %(days)s", n) % values


def _every_months(which: str, n: int, language: Language) -> str:
    words = language.ngettext("every month %(which)s", "every %(n)d months %(which)s", n)
    return words % {"which": which, "n": n}


def _every_years(which: str, n: int, language: Language) -> str:
    return language.ngettext("every year %(which)s", "every %(n)d years %(which)s", n) % {"which": which, "n": n}


def _day_of_month(day: int, language: Language) -> str:
    if day == LONGEST_MONTH:
        return language.gettext("on the last day")
    which = language.gettext(DAYS_OF_MONTH[day - 1])
    if day <= SHORTEST_MONTH:
        return which
    return language.gettext("%(which)s or, if there is none, the last day") % {"which": which}


def _day_of_year(month: int, day: int, language: Language) -> str:
    length = monthrange(A_LEAP_YEAR, month)[1]
    if month == FEBRUARY and day > length:
        return language.gettext("on the last day of February")
    nearest = date(A_LEAP_YEAR, month, min(day, length))
    words = language.gettext("on %(day)s") % {"day": language.format_day_of_year(nearest)}
    if month != FEBRUARY or day < length:
        return words
    values = {"which": words, "day": language.format_day_of_year(nearest - ONE_DAY)}
    return language.gettext("%(which)s or, if there is none, %(day)s") % values


def _nth_of(weekdays: frozenset[int], number: int, language: Language) -> str:
    if number in NTH_DAYS and weekdays in KINDS_OF_DAYS:
        return language.gettext(NTH_DAYS[number][KINDS_OF_DAYS.index(weekdays)])
    if weekdays in SETS_OF_DAYS:
        days = language.gettext(SETS_OF_DAYS[weekdays])
    else:
        days = _listed(sorted(weekdays), language.gettext("%s or %s"), language)
    return language.gettext(NTHS[number]) % {"days": days}


def _listed(weekdays: list[int], pair: str, language: Language) -> str:
    """Return the names of weekdays as in: Monday, Wednesday and Friday.  `pair` is the pattern of the last two."""
    *others, last = map(language.format_weekday, weekdays)
    return pair % (", ".join(others), last) if others else last


def _with_times(days: str, series: Series, language: Language) -> str:
    if series.start == 0 and series.length and not series.length % ONE_DAY:
        n = series.length // ONE_DAY
        return language.ngettext("%(days)s, all day", "%(days)s for %(n)d days", n) % {"days": days, "n": n}
    later, end = divmod(series.start + series.length // ONE_SECOND, DAY)
    values = {
        "days": days,
        "start": language.format_time(series.start),
        "end": language.format_time(end),
        "n": later,
        "zone": series.zone,
    }
    if not series.length:
        return language.gettext("%(days)s at %(start)s %(zone)s") % values
    if not later:
        return language.gettext("%(days)s from %(start)s to %(end)s %(zone)s") % values
    words = language.ngettext(
        "%(days)s from %(start)s to %(end)s the next day %(zone)s",
        "%(days)s from %(start)s to %(end)s %(n)d days later %(zone)s",
        later,
    )
    return words % values


def _with_exceptions_and_end(words: str, series: Series, language: Language) -> str:
    left_out, added = _exceptions(series)
    if left_out:
        values = {"words": words, "n": left_out}
        words = language.ngettext("%(words)s, except %(n)d day", "%(words)s, except %(n)d days", left_out) % values
    if added:
        values = {"words": words, "n": added}
        words = language.ngettext("%(words)s, plus %(n)d extra day", "%(words)s, plus %(n)d extra days", added) % values
    if series.last is None:
        return words
    values = {"words": words, "day": language.format_date(series.last)}
    return language.gettext("%(words)s, until %(day)s") % values


def _exceptions(series: Series) -> tuple[int, int]:
    """Return the number of days removed from the rule of a series, and the number of days added to it.

    Days that the zone skipped at the date line do not count.
    """
    days = series.days
    if not isinstance(days, DateutilDays):
        return 0, 0
    missing = missing_days(series.zone)
    return sum(day.toordinal() not in missing for day in days.exdates), len(days.rdates)
