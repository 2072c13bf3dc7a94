"""The scopes of a change or deletion that starts from one occurrence, and their numbers of occurrences."""

from datetime import date

from django.utils.translation import gettext, ngettext

from calendars.event_times import count_before
from calendars.models import ONE_DAY, Event
from calendars.pages.event_form import Scope


def scopes_of(event: Event, day: date) -> dict[Scope, str]:
    """Return the scopes that an occurrence can stand for. For the first one, FOLLOWING would equal SERIES."""
    scopes = {
        Scope.OCCURRENCE: gettext("This occurrence"),
        Scope.FOLLOWING: gettext("This and following"),
        Scope.SERIES: gettext("The series"),
    }
    if day == event.series.first.day:
        del scopes[Scope.FOLLOWING]
    return scopes


def occurrences_words(event: Event, since: date | None = None) -> str:
    """Return the number of occurrences from the day `since` on, as in 248 occurrences; without end, all of them."""
    series = event.series
    if series.last is None:
        return gettext("All occurrences")
    count = count_before(series, series.last + ONE_DAY) - (count_before(series, since) if since else 0)
    return ngettext("%(count)d occurrence", "%(count)d occurrences", count) % {"count": count}
