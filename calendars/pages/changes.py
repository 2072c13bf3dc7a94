"""Days on which clocks change, in words."""

from datetime import date, timedelta

from django.utils.dates import WEEKDAYS
from django.utils.formats import date_format
from django.utils.translation import gettext

from calendars.pages.axis import Change, changes_in
from calendars.pages.sight import Sight, hours_words, whole_hours_words
from calendars.pages.spoken import place_of
from calendars.pages.window import ONE_DAY, View, midnight

SECOND = timedelta(seconds=1)  # a day that does not exist has none
WHOLE_DAY = timedelta(hours=24)


def change_words(sight: Sight, change: Change) -> str:
    times = {"from": sight.time(change.shown), "to": sight.time(change.becomes)}
    if change.is_forward:
        return gettext("the clock goes forward from %(from)s to %(to)s") % times
    return gettext("the clock goes back from %(from)s to %(to)s") % times


def note_of(sight: Sight, day: date) -> str:
    """today; 25 hours: the clock goes back from 03:00 to 02:00."""
    near = {-1: gettext("yesterday"), 0: gettext("today"), 1: gettext("tomorrow")}
    said = [near.get((day - sight.today).days, "")]
    start, end = midnight(day, sight.zone), midnight(day + ONE_DAY, sight.zone)
    said += [
        f"{whole_hours_words(end - start)}: {change_words(sight, each)}" for each in changes_in(sight.zone, start, end)
    ]
    return ", ".join(part for part in said if part)


def notes_of(sight: Sight) -> dict[date, str]:
    """Days of the window that are not 24 hours long."""
    notes = {}
    for change in changes_in(sight.zone, sight.window.start, sight.window.end):
        for day in days_with(change):
            length = length_of(sight, day)
            if not length:
                notes[day] = gettext("does not exist")
            elif length != WHOLE_DAY:
                notes[day] = gettext("%s day") % hours_words(length)
    return notes


def banners(sight: Sight) -> list[dict]:
    """A sentence for each day of a week, or the day, of which clocks make more or less than 24 hours."""
    return [
        banner(sight, change, day, length)
        for change in changes_in(sight.zone, sight.window.start, max(sight.window.end, sight.window.start + SECOND))
        for day in days_with(change)
        if day in sight.window.days and (length := length_of(sight, day)) != WHOLE_DAY
    ]


def banner(sight: Sight, change: Change, day: date, length: timedelta) -> dict:
    said = {
        "day": WEEKDAYS[day.weekday()],
        "place": place_of(sight.zone),
        "from": sight.time(change.shown),
        "to": sight.time(change.becomes),
        "length": whole_hours_words(length),
        "until": date_format(change.becomes, "LONG_DATE_FORMAT"),
    }
    is_alone = sight.window.view is View.DAY
    if not length:
        strong = gettext("%(day)s does not exist.") % said
        return {"strong": strong, "rest": gettext("The clock in %(place)s goes on to %(until)s, %(to)s.") % said}
    strong = (gettext("This day has %(length)s.") if is_alone else gettext("%(day)s has %(length)s.")) % said
    if change.is_forward:
        rest = gettext("At %(from)s the clock in %(place)s goes forward to %(to)s. Hatched: what does not exist.")
    elif is_alone:
        rest = gettext("At %(from)s the clock in %(place)s goes back to %(to)s. What lies between comes twice.")
    else:
        rest = gettext(
            "At %(from)s the clock in %(place)s goes back to %(to)s. Hatched: what comes a second time then, which the "
            "other days do not have."
        )
    return {"strong": strong, "rest": rest % said}


def days_with(change: Change) -> list[date]:
    first, last = sorted((change.shown.date(), change.becomes.date()))
    return [first] if first == last else [first, last]


def length_of(sight: Sight, day: date) -> timedelta:
    return midnight(day + ONE_DAY, sight.zone) - midnight(day, sight.zone)
