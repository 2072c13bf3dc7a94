"""The days of a view: from the view and a day to its days, their instants in a zone, and its neighbours."""

from calendar import monthrange
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, tzinfo
from enum import StrEnum

from recurrence.zones import instant_of

ONE_DAY = timedelta(days=1)
WEEK = 7  # days
THURSDAY = 3
SATURDAY = 5
FIRST_DAY, LAST_DAY = date(1900, 1, 1), date(2199, 12, 31)  # that a page can show
MONDAY_TO_FRIDAY, SUNDAY_TO_THURSDAY = (0, 1, 2, 3, 4), (6, 0, 1, 2, 3)


class View(StrEnum):
    MONTH = "month"
    WEEK = "week"
    WORK_WEEK = "workweek"
    DAY = "day"
    AGENDA = "agenda"


@dataclass(frozen=True, slots=True)
class Window:
    """The days of the view that contains `chosen_day`.

    The instants [start, end) reach from the midnight before the first day to the one after the last day.
    """

    view: View
    chosen_day: date
    days: tuple[date, ...]
    start: datetime
    end: datetime

    @property
    def previous_date(self) -> date:
        """A day of the previous view; the chosen day if the calendar has no earlier one."""
        return self._step(-1)

    @property
    def next_date(self) -> date:
        """A day of the next view; the chosen day if the calendar has no later one."""
        return self._step(1)

    def _step(self, sign: int) -> date:
        if self.view is View.MONTH:
            months = self.chosen_day.year * 12 + self.chosen_day.month - 1 + sign
            year, month = months // 12, months % 12 + 1
            day = date(year, month, min(self.chosen_day.day, monthrange(year, month)[1]))
        else:
            day = self.chosen_day + sign * (1 if self.view is View.DAY else WEEK) * ONE_DAY
        return day if FIRST_DAY <= day <= LAST_DAY else self.chosen_day


def window_of(view: View, chosen: date, zone: tzinfo, week_start: int) -> Window:
    """Return the window of a view.

    `week_start` is the weekday with which weeks begin, 0 is Monday. A month is shown in whole weeks.
    """
    days = days_of(view, chosen, week_start)
    return Window(view, chosen, days, midnight(days[0], zone), midnight(days[-1] + ONE_DAY, zone))


def days_of(view: View, chosen: date, week_start: int) -> tuple[date, ...]:
    match view:
        case View.MONTH:
            first = week_of(chosen.replace(day=1), week_start)
            last_of_month = chosen.replace(day=monthrange(chosen.year, chosen.month)[1])
            return run_of_days(first, (week_of(last_of_month, week_start) - first).days + WEEK)
        case View.WEEK:
            return run_of_days(week_of(chosen, week_start), WEEK)
        case View.WORK_WEEK:
            # where weeks begin on Saturday, people work from Sunday to Thursday
            working = SUNDAY_TO_THURSDAY if week_start == SATURDAY else MONDAY_TO_FRIDAY
            week = run_of_days(week_of(chosen, week_start), WEEK)
            return tuple(day for day in week if day.weekday() in working)
        case View.DAY:
            return (chosen,)
        case View.AGENDA:
            return run_of_days(chosen, WEEK)


def run_of_days(first: date, count: int) -> tuple[date, ...]:
    return tuple(first + number * ONE_DAY for number in range(count))


def week_of(day: date, week_start: int) -> date:
    """Return the first day of the week that contains `day`."""
    return day - (day.weekday() - week_start) % WEEK * ONE_DAY


def week_number(first: date) -> int:
    """Return the number of the week that begins with `first`.

    It is the ISO number of the week's Thursday, whatever the first weekday is.
    """
    return (first + (THURSDAY - first.weekday()) % WEEK * ONE_DAY).isocalendar().week


def midnight(day: date, zone: tzinfo) -> datetime:
    """Return the start of `day` in `zone`, in UTC.

    Where clocks skip midnight, the day begins with the wall time that they show instead.
    """
    return instant_of(datetime.combine(day, time()), zone)
