"""Which days a view shows: from the view and a day to the days, their instants in a zone, and the neighbours."""

from calendar import monthrange
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, tzinfo
from enum import StrEnum

from recurrence.zones import instant_of

ONE_DAY = timedelta(days=1)
WEEK = 7  # days
THURSDAY = 3
SATURDAY = 5
FIRST_DAY, LAST_DAY = date(1900, 1, 1), date(2199, 12, 31)  # that a page shows
MONDAY_TO_FRIDAY, SUNDAY_TO_THURSDAY = (0, 1, 2, 3, 4), (6, 0, 1, 2, 3)


class View(StrEnum):
    MONTH = "month"
    WEEK = "week"
    WORK_WEEK = "workweek"
    DAY = "day"
    AGENDA = "agenda"


@dataclass(frozen=True, slots=True)
class Window:
    """The days of a view that holds `chosen`, and the instants [start, end) from their first midnight to their last."""

    view: View
    chosen: date
    days: tuple[date, ...]
    start: datetime
    end: datetime

    @property
    def before(self) -> date:
        """A day of the view before this one; of the first view, the chosen day."""
        return self._step(-1)

    @property
    def after(self) -> date:
        return self._step(1)

    def _step(self, sign: int) -> date:
        if self.view is View.MONTH:
            months = self.chosen.year * 12 + self.chosen.month - 1 + sign
            year, month = months // 12, months % 12 + 1
            found = date(year, month, min(self.chosen.day, monthrange(year, month)[1]))
        else:
            found = self.chosen + sign * (1 if self.view is View.DAY else WEEK) * ONE_DAY
        return found if FIRST_DAY <= found <= LAST_DAY else self.chosen


def window_of(view: View, chosen: date, zone: tzinfo, week_start: int) -> Window:
    """`week_start` is the weekday with which weeks begin; a month is shown in whole weeks."""
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
            # where weeks begin on Saturday, Friday is the day of rest
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
    """The first day of the week that holds `day`."""
    return day - (day.weekday() - week_start) % WEEK * ONE_DAY


def week_number(first: date) -> int:
    """The number of the week that begins with `first`: ISO's for the Thursday in it, whatever day weeks begin with."""
    return (first + (THURSDAY - first.weekday()) % WEEK * ONE_DAY).isocalendar().week


def midnight(day: date, zone: tzinfo) -> datetime:
    """When `day` begins in `zone`, in UTC; where clocks skip midnight, with what they show instead."""
    return instant_of(datetime.combine(day, time()), zone)
